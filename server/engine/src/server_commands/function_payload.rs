//! The payload of FUNCTION DUMP and FUNCTION RESTORE: libraries in Redis' format of stored values.

use crate::scripts::{Libraries, Library};
use crate::spec::CommandError;
use lockwheel_store::rdb::file::{early_library, marks};
use lockwheel_store::rdb::{Corrupt, Reader, Writer, payload};
use std::borrow::Cow;

/// Encodes all libraries as a payload. O(texts).
pub(super) fn write(libraries: &Libraries) -> Vec<u8> {
    write_texts(libraries.iter().map(|Library { code, .. }| code.as_ref()), payload::VERSION_7_2)
}

/// Encodes a payload's libraries again for Redis 7.0. Fails if it is invalid or holds anything else. O(payload).
pub(super) fn for_7_0(payload: &[u8]) -> Result<Vec<u8>, CommandError> {
    let texts = read(payload)?.collect::<Result<Vec<_>, _>>()?;
    Ok(write_texts(texts.iter().map(Cow::as_ref), payload::VERSION_7_0))
}

fn write_texts<'t>(texts: impl Iterator<Item = &'t [u8]>, version: u16) -> Vec<u8> {
    let mut writer = Writer::new();
    for text in texts {
        writer.byte(marks::LIBRARY);
        writer.string(text);
    }
    writer.finish(version)
}

/// Returns the texts of a payload in order, each perhaps an error. Fails if its footer is invalid.
pub(super) fn read(
    payload: &[u8],
) -> Result<impl Iterator<Item = Result<Cow<'_, [u8]>, CommandError>>, CommandError> {
    let body = payload::open(payload)
        .map_err(|_| CommandError::text("ERR DUMP payload version or checksum are wrong"))?;
    let mut reader = Reader::new(body);
    Ok(std::iter::from_fn(move || (!reader.is_at_end()).then(|| read_library(&mut reader))))
}

fn read_library<'p>(reader: &mut Reader<'p>) -> Result<Cow<'p, [u8]>, CommandError> {
    let text = match reader.byte() {
        Ok(marks::LIBRARY) => reader.string(),
        Ok(marks::EARLY_LIBRARY) => early_library(reader).map(Cow::Owned),
        _ => return Err(CommandError::text("ERR given type is not a function")),
    };
    text.map_err(|Corrupt| CommandError::text("ERR Failed loading library payload"))
}
