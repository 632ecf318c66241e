//! Values read, in every form from Redis 1 to 7.2, and hashes whose fields have deadlines from those of newer ones.
//!
//! Every byte is checked, whatever `sanitize-dump-payload` says: what is read is no block of memory to be trusted, but
//! elements that are put into values of our own. A value without elements, or with one twice, is none.

mod collections;
mod fields;
mod lists;
mod sorted_sets;
mod streams;

use super::{Corrupt, Reader, types};
use crate::values::{Encodings, Str, Value};

/// Small forms are kept for values whose elements take less than this, in bytes.
const SMALL_MAX: usize = 1 << 28;

/// Reads a value, the number of its form first, and gives it the encoding that Redis 7.2 would. O(bytes), and for
/// sorted sets O(bytes log members). What it allocates is in proportion to what there is, not to what is announced.
///
/// # Errors
/// There is no value of a known form, or its parts contradict each other.
pub fn read_value(reader: &mut Reader<'_>, enc: &Encodings) -> Result<Value, Corrupt> {
    let form = reader.byte()?;
    read_form(form, reader, enc)
}

/// Whether values have this form.
pub(super) fn is_known(form: u8) -> bool {
    let is_timed_hash = matches!(form, types::HASH_2 | types::HASH_METADATA | types::HASH_LISTPACK_EX);
    is_timed_hash || matches!(form, types::STRING..=types::ZSET_2 | types::HASH_ZIPMAP..=types::STREAM_3)
}

/// Reads a value of this form.
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

/// How many elements there are: a value has at least one, and each takes at least a byte.
fn read_count(reader: &mut Reader<'_>) -> Result<usize, Corrupt> {
    let count = reader.length()?;
    match count {
        0 => Err(Corrupt),
        count if count > reader.left() => Err(reader.short()),
        count => Ok(count),
    }
}
