//! Reading of values, in every form from Redis 1 to 7.2. Hashes whose fields have deadlines are also read in newer
//! forms.
//!
//! Every byte is checked, regardless of `sanitize-dump-payload`: blocks of memory are not trusted, but their elements
//! are put into values of our own. A value without elements, or with one twice, is refused.

mod collections;
mod fields;
mod lists;
mod sorted_sets;
mod streams;

use super::{Corrupt, Reader, types};
use crate::values::{Encodings, Str, Value};

/// The bytes of elements from which on a value does not get a small form.
const MAX_SMALL_BYTES: usize = 1 << 28;

/// Reads a value, which begins with the number of its form, and gives it the encoding that Redis 7.2 would choose.
/// O(bytes); O(bytes log members) for sorted sets. Allocates in proportion to the bytes that exist, not to announced
/// counts.
///
/// # Errors
/// Returns [`Corrupt`] if the form is unknown, or the parts contradict each other.
pub fn read_value(reader: &mut Reader<'_>, enc: &Encodings) -> Result<Value, Corrupt> {
    let form = reader.byte()?;
    read_form(form, reader, enc)
}

/// Whether there are values of this form.
pub(super) fn is_known(form: u8) -> bool {
    let is_timed_hash = matches!(form, types::HASH_2 | types::HASH_METADATA | types::HASH_LISTPACK_EX);
    is_timed_hash || matches!(form, types::STRING..=types::ZSET_2 | types::HASH_ZIPMAP..=types::STREAM_3)
}

pub(super) fn read_form(form: u8, reader: &mut Reader<'_>, enc: &Encodings) -> Result<Value, Corrupt> {
    Ok(match form {
        types::STRING => Value::Str(Str::from(reader.string()?)),
        form @ (types::LIST | types::LIST_ZIPLIST | types::LIST_QUICKLIST | types::LIST_QUICKLIST_2) => {
            Value::List(lists::read(form, reader, enc)?)
        }
        types::SET => Value::Set(collections::read_set(reader, enc)?),
        types::SET_INTSET => Value::Set(collections::read_intset(&reader.string()?, enc)?),
        types::SET_LISTPACK => Value::Set(collections::read_set_listpack(&reader.string()?, enc)?),
        types::HASH => Value::Hash(collections::read_hash(reader, enc)?),
        form @ (types::HASH_2 | types::HASH_METADATA | types::HASH_LISTPACK_EX) => {
            Value::Hash(fields::read(form, reader, enc)?)
        }
        form @ (types::HASH_ZIPMAP | types::HASH_ZIPLIST | types::HASH_LISTPACK) => {
            Value::Hash(collections::read_small_hash(form, &reader.string()?, enc)?)
        }
        form @ (types::ZSET | types::ZSET_2) => Value::ZSet(sorted_sets::read(form, reader, enc)?),
        form @ (types::ZSET_ZIPLIST | types::ZSET_LISTPACK) => {
            Value::ZSet(sorted_sets::read_small(form, &reader.string()?, enc)?)
        }
        form @ (types::STREAM | types::STREAM_2 | types::STREAM_3) => {
            Value::Stream(streams::read(form, reader)?.into())
        }
        _ => return Err(Corrupt),
    })
}

/// The number of elements. A value has at least one, and each takes at least a byte.
fn read_count(reader: &mut Reader<'_>) -> Result<usize, Corrupt> {
    let count = reader.length()?;
    match count {
        0 => Err(Corrupt),
        count if count > reader.left() => Err(reader.short()),
        count => Ok(count),
    }
}
