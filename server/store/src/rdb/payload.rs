//! The footer of a payload: the version of the format and a checksum.

use super::crc64::crc64;

/// The version that Redis 7.0 writes, and the newest that it reads.
pub const VERSION_7_0: u16 = 10;
/// The version that Redis 7.2 writes.
pub const VERSION_7_2: u16 = 11;
/// The version that Redis 7.4 and 8.0 write: the newest of Redis' versions that can be read.
pub const VERSION_7_4: u16 = 12;
/// The version that Valkey 9 writes: the forms of Redis 7.2 and some of its own.
pub const VERSION_VALKEY: u16 = 80;

/// The error of a payload that is too short, of an unknown version, or with a wrong checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrongFooter;

/// Appends the footer to a payload: two bytes of the version, eight of the checksum. O(body).
pub fn seal(body: &mut Vec<u8>, version: u16) {
    body.extend(version.to_le_bytes());
    let crc = crc64(body);
    body.extend(crc.to_le_bytes());
}

/// Whether a version of the format can be read.
pub fn is_known(version: u16) -> bool {
    version <= VERSION_7_4 || version == VERSION_VALKEY
}

/// The version that the footer of a payload names. Returns `None` if there is no footer.
pub fn version(payload: &[u8]) -> Option<u16> {
    let (sealed, _) = payload.split_last_chunk::<8>()?;
    Some(u16::from_le_bytes(*sealed.last_chunk::<2>()?))
}

/// The payload without its footer, which is checked. O(payload).
///
/// # Errors
/// Returns [`WrongFooter`] if the footer is missing, the version is unknown, or the checksum is wrong.
pub fn open(payload: &[u8]) -> Result<&[u8], WrongFooter> {
    let (sealed, crc) = payload.split_last_chunk::<8>().ok_or(WrongFooter)?;
    let (body, version) = sealed.split_last_chunk::<2>().ok_or(WrongFooter)?;
    let version = u16::from_le_bytes(*version);
    if is_known(version) && crc64(sealed) == u64::from_le_bytes(*crc) { Ok(body) } else { Err(WrongFooter) }
}
