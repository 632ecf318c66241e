//! The offset of a bit among a command's arguments, and access to its string.

use crate::commands::string_ranges::check_room;
use crate::spec::{Args, CommandError};
use lockwheel_resp::number;
use lockwheel_store::keyspace::Tx;
use lockwheel_store::values::Str;
use lockwheel_store::values::bits::bytes_up_to;

/// The length, in bytes, above which memory is checked before a string grows.
const CHECKED_MIN: usize = 1 << 20;

/// The error for an invalid offset.
pub(super) const BAD_OFFSET: &str = "ERR bit offset is not an integer or out of range";

/// Reads argument `index` as the offset of a bit in a string of at most `max` bytes.
pub(super) fn parse_offset(args: Args<'_>, index: usize, max: usize) -> Result<u64, CommandError> {
    check_offset(args.get(index).and_then(number::parse_i64), max)
}

/// Reads an offset as [`parse_offset`] does, or `#n`, which means the n-th field of the field's width in bits.
pub(super) fn parse_field_offset(
    args: Args<'_>,
    index: usize,
    bits: u64,
    max: usize,
) -> Result<u64, CommandError> {
    let offset = match args.get(index).and_then(|arg| arg.strip_prefix(b"#")) {
        Some(number) => number::parse_i64(number).and_then(|number| number.checked_mul(bits as i64)),
        None => args.get(index).and_then(number::parse_i64),
    };
    check_offset(offset, max)
}

fn check_offset(offset: Option<i64>, max: usize) -> Result<u64, CommandError> {
    let offset = offset.and_then(|offset| u64::try_from(offset).ok());
    offset.filter(|offset| offset / 8 < max as u64).ok_or(CommandError::text(BAD_OFFSET))
}

/// The bytes of a key's string, at least up to the byte that holds the bit `last`, for changes in place. The second
/// value says whether there were fewer bytes before. The key is created if absent. O(bytes added).
pub(super) fn bytes_of<'a>(
    tx: &'a mut Tx<'_>,
    key: &[u8],
    last: u64,
) -> Result<(&'a mut [u8], bool), CommandError> {
    let len = bytes_up_to(last) as usize;
    if len >= CHECKED_MIN {
        // The key is read first, so that an error leaves no key behind.
        check_room(tx.write::<Str>(key)?.map(|edit| &*edit.value), len)?;
    }
    let edit = tx.write_or_new::<Str>(key)?;
    let grows = edit.value.len() < len;
    Ok((edit.value.bytes_mut(len), grows))
}
