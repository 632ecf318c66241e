//! The block sizes of an allocator.

use std::collections::{BTreeMap, BTreeSet};

/// The size above which a block is whole pages of the system.
const LARGE: usize = 14 * 1024;

/// The bytes that an allocation of `bytes` bytes takes, rounded up as in jemalloc. The step is 16 bytes up to 128
/// bytes, a quarter of a power of two up to 14 KiB, and a page above. Other allocators differ little. O(1).
#[must_use]
#[inline]
pub const fn block(bytes: usize) -> usize {
    let step = match bytes {
        9..=128 => 16,
        0..=8 => 8,
        129..=LARGE => 1 << ((bytes - 1).ilog2() - 2),
        _ => 4096,
    };
    (bytes + (step - 1)) & !(step - 1)
}

/// The bytes that the buffer of a vector takes. O(1).
#[must_use]
#[inline]
pub const fn vec_heap_bytes<T>(vec: &Vec<T>) -> usize {
    block(vec.capacity() * size_of::<T>())
}

/// The approximate bytes of `trees` B-trees with `entries` entries of `entry_bytes` bytes in all. A node has room for
/// eleven entries and is half full, as it is if keys come in order. A tree has at least one node. O(1).
#[must_use]
pub const fn tree_heap_bytes(trees: usize, entries: usize, entry_bytes: usize) -> usize {
    let more = entries.saturating_sub(trees * HALF_FULL).div_ceil(HALF_FULL);
    (trees + more) * block(16 + 11 * entry_bytes)
}

/// The approximate bytes of the nodes of a map, without the memory that its entries own. O(1).
#[must_use]
pub fn map_heap_bytes<K, V>(map: &BTreeMap<K, V>) -> usize {
    tree_heap_bytes(usize::from(!map.is_empty()), map.len(), size_of::<(K, V)>())
}

/// The approximate bytes of the nodes of a set, without the memory that its entries own. O(1).
#[must_use]
pub fn set_heap_bytes<T>(set: &BTreeSet<T>) -> usize {
    tree_heap_bytes(usize::from(!set.is_empty()), set.len(), size_of::<T>())
}

/// The entries of a half-full node of a B-tree.
const HALF_FULL: usize = 6;

#[cfg(test)]
mod tests {
    use super::*;

    /// The sizes that `malloc_usable_size` returns under jemalloc.
    #[test]
    fn sizes_equal_those_of_the_allocator() {
        let sizes = [0, 1, 8, 9, 17, 128, 129, 160, 161, 256, 257, 1025, 10_003].map(block);
        let classes = [0, 8, 8, 16, 32, 128, 160, 160, 192, 256, 320, 1280, 10_240];
        assert_eq!(sizes, classes);
        assert_eq!([14_336, 14_337, 16_385, 5_000_000].map(block), [14_336, 16_384, 20_480, 5_001_216]);
    }

    #[test]
    fn a_tree_takes_a_node_for_each_six_entries_and_one_at_least() {
        assert_eq!(
            (tree_heap_bytes(0, 0, 8), tree_heap_bytes(1, 1, 8), tree_heap_bytes(1, 6, 8)),
            (0, 112, 112)
        );
        assert_eq!(
            (tree_heap_bytes(1, 7, 8), tree_heap_bytes(5, 5, 8), tree_heap_bytes(1, 600, 8)),
            (224, 560, 11_200)
        );
    }

    #[test]
    fn a_vector_takes_the_bytes_of_its_capacity() {
        assert_eq!(vec_heap_bytes(&Vec::<u64>::new()), 0);
        assert_eq!(vec_heap_bytes(&Vec::<u64>::with_capacity(3)), 32);
    }
}
