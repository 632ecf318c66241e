//! The place of a key: its small table, and its position in the order of SCAN.

/// The number of small tables, a power of two.
pub(super) const TABLES: usize = 1 << TABLE_BITS;
const TABLE_BITS: u32 = 10;
/// The bits of a scan position. JavaScript's clients read cursors as doubles, Java's as signed longs.
pub(super) const POSITION_BITS: u32 = 53;

/// The position of a hash in the order of SCAN. The top and the lowest bits of the hash are left to the tables.
pub(super) fn position(hash: u64) -> u64 {
    hash.rotate_right(42) >> (64 - POSITION_BITS)
}

/// The table of a position; tables follow the order of SCAN. The last table has 5/3 of the share of the first, and
/// shares grow in between. So tables do not all grow at once and stand half empty afterwards.
#[inline]
pub(super) fn table_at(position: u64) -> usize {
    // p (5 - p) / 4, for p from 0 to 1, which is a fraction of 31 bits here: at most 2^64 - 1.
    let p = position >> (POSITION_BITS - 31);
    ((p * ((5 << 31) - p)) >> (64 - TABLE_BITS)) as usize
}

#[inline]
pub(super) fn table_of(hash: u64) -> usize {
    table_at(position(hash))
}
