//! Hashes whose fields have deadlines.

use super::read_count;
use crate::rdb::listpack::Listpack;
use crate::rdb::{Corrupt, Reader, types};
use crate::values::{Encodings, Hash};
use lockwheel_resp::number;

/// Reads a hash in this form. A field without a deadline is an ordinary field.
pub(super) fn read(form: u8, reader: &mut Reader<'_>, enc: &Encodings) -> Result<Hash, Corrupt> {
    match form {
        types::HASH_2 => read_absolute(reader, enc),
        types::HASH_METADATA => read_relative(reader, enc),
        _ => {
            deadline(u64::from_le_bytes(reader.array()?))?;
            read_listpack(&reader.string()?, enc)
        }
    }
}

/// Converts a deadline in wall milliseconds.
fn deadline(number: u64) -> Result<i64, Corrupt> {
    i64::try_from(number).map_err(|_| Corrupt)
}

/// Adds a field, which must be new, with its deadline.
fn add(
    hash: &mut Hash,
    field: &[u8],
    value: &[u8],
    deadline_ms: Option<i64>,
    enc: &Encodings,
) -> Result<(), Corrupt> {
    if !hash.set(field, value, enc) {
        return Err(Corrupt);
    }
    if let Some(deadline_ms) = deadline_ms {
        hash.set_deadline(field, deadline_ms, 0, enc);
    }
    Ok(())
}

/// Reads fields, each followed by its value and eight bytes of the deadline; all ones for none.
fn read_absolute(reader: &mut Reader<'_>, enc: &Encodings) -> Result<Hash, Corrupt> {
    let count = read_count(reader)?;
    let mut hash = Hash::large(count, enc);
    for _ in 0..count {
        let (field, value) = (reader.string()?, reader.string()?);
        let deadline_ms = match i64::from_le_bytes(reader.array()?) {
            -1 => None,
            at_ms if at_ms >= 0 => Some(at_ms),
            _ => return Err(Corrupt),
        };
        add(&mut hash, &field, &value, deadline_ms, enc)?;
    }
    Ok(hash)
}

/// Reads the earliest deadline, then each field's difference to it plus 1 (0: none), name and value.
fn read_relative(reader: &mut Reader<'_>, enc: &Encodings) -> Result<Hash, Corrupt> {
    let first = u64::from_le_bytes(reader.array()?);
    let count = read_count(reader)?;
    let mut hash = Hash::large(count, enc);
    for _ in 0..count {
        let deadline_ms = match reader.number()? {
            0 => None,
            later => Some(deadline(first.checked_add(later - 1).ok_or(Corrupt)?)?),
        };
        let (field, value) = (reader.string()?, reader.string()?);
        add(&mut hash, &field, &value, deadline_ms, enc)?;
    }
    Ok(hash)
}

/// Reads fields, values and deadlines, 0 for none. The fields with the earliest deadlines come first.
fn read_listpack(bytes: &[u8], enc: &Encodings) -> Result<Hash, Corrupt> {
    let words = Listpack::parse(bytes)?;
    if words.len() == 0 || words.len() % 3 != 0 {
        return Err(Corrupt);
    }
    let mut hash = Hash::new();
    let mut words = words.iter();
    while let (Some(field), Some(value), Some(at_ms)) = (words.next(), words.next(), words.next()) {
        let deadline_ms = match number::parse_i64(&at_ms).ok_or(Corrupt)? {
            0 => None,
            at_ms if at_ms > 0 => Some(at_ms),
            _ => return Err(Corrupt),
        };
        add(&mut hash, &field, &value, deadline_ms, enc)?;
    }
    Ok(hash)
}
