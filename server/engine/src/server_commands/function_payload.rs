//! Libraries as FUNCTION DUMP gives them and FUNCTION RESTORE takes them: in Redis' format of stored values.

use crate::rdb::{Corrupt, Reader, Writer, payload};
use crate::scripts::{Libraries, Library};
use crate::spec::CommandError;
use std::borrow::Cow;

/// A library follows: its text.
const LIBRARY: u8 = 245;
/// A library of Redis 7.0's release candidates follows: name, engine, perhaps a description, and a text without a first
/// line.
const EARLY_LIBRARY: u8 = 246;

/// All libraries as a payload. O(texts).
pub(super) fn write(libraries: &Libraries) -> Vec<u8> {
    let mut writer = Writer::new();
    for Library { code, .. } in libraries.iter() {
        writer.byte(LIBRARY);
        writer.string(code);
    }
    writer.finish(payload::VERSION_7_0)
}

/// The texts in a payload, one after the other, each of which may be wrong.
///
/// # Errors
/// The payload's footer is.
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
        Ok(LIBRARY) => reader.string(),
        Ok(EARLY_LIBRARY) => read_early(reader),
        _ => return Err(CommandError::text("ERR given type is not a function")),
    };
    text.map_err(|Corrupt| CommandError::text("ERR Failed loading library payload"))
}

/// The text that an early library has become since.
fn read_early<'p>(reader: &mut Reader<'p>) -> Result<Cow<'p, [u8]>, Corrupt> {
    let (name, engine) = (reader.string()?, reader.string()?);
    if reader.length()? != 0 {
        reader.string()?;
    }
    let text = reader.string()?;
    Ok(Cow::Owned([b"#!", &*engine, b" name=", &name, b"\n", &text].concat()))
}
