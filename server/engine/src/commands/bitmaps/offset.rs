//! The offset of a bit among a command's arguments, and the string that it is in.

use crate::commands::string_ranges::check_room;
use crate::spec::{Args, CommandError};
use lockwheel_resp::number;
use lockwheel_store::keyspace::Tx;
use lockwheel_store::values::Str;
use lockwheel_store::values::bits::bytes_up_to;

/// Strings that become longer than this, in bytes, grow only if there is memory for them.
const CHECKED_MIN: usize = 1 << 20;

/// What is answered to an offset that is none.
pub(super) const BAD_OFFSET: &str = "ERR bit offset is not an integer or out of range";

/// Argument `index` as the offset of a bit: in a string of at most `max` bytes.
pub(super) fn parse_offset(args: Args<'_>, index: usize, max: usize) -> Result<u64, CommandError> {
    check_offset(args.get(index).and_then(number::parse_i64), max)
}

/// The same where `#n` is the n-th field of so many bits.
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

/// The bytes of a key's string up to the one that holds the bit `last`, to be changed in place, and whether there were
/// fewer before. The key is made when there is none. O(bytes added).
pub(super) fn bytes_of<'a>(
    tx: &'a mut Tx<'_>,
    key: &[u8],
    last: u64,
) -> Result<(&'a mut [u8], bool), CommandError> {
    let len = bytes_up_to(last) as usize;
    if len >= CHECKED_MIN {
        // Read first, as an error leaves no key behind.
        check_room(tx.write::<Str>(key)?.map(|edit| &*edit.value), len)?;
    }
    let edit = tx.write_or_new::<Str>(key)?;
    let grows = edit.value.len() < len;
    Ok((edit.value.bytes_mut(len), grows))
}
