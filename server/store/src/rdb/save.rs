//! Writing of values: as Redis 7.2 writes them, or for a server that may be older.

mod fields;
mod streams;

use super::listpack::listpack;
use super::{Writer, payload, types};
use crate::values::{Encoding, Hash, List, ListBlock, Set, Value, ZSet, parse_integer};
use lockwheel_resp::number;
use std::borrow::Cow;

/// The size of an element from which on Redis stores it in a node of its own.
const LARGE: usize = 1 << 30;

/// The largest whole score that is stored as an integer.
const INTEGER_SCORE: f64 = (1_u64 << 62) as f64;

/// The forms in which values are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Forms {
    /// The forms of Redis 7.2.
    Newest,
    /// The forms of Redis 7.0, wherever these lose nothing.
    Oldest,
    /// The forms of Redis 7.0, without deadlines of fields and the second time of a consumer.
    Redis70,
}

/// The payload of a value, as DUMP replies it. O(value).
pub fn dump(value: &Value) -> Vec<u8> {
    let mut writer = Writer::new();
    let version = write(value, Forms::Newest, &mut writer);
    writer.finish(version.max(payload::VERSION_7_2))
}

/// The payload of a value for another server, in the oldest version that the value allows. O(value).
pub fn dump_for_any(value: &Value) -> Vec<u8> {
    let mut writer = Writer::for_stream();
    let version = write(value, Forms::Oldest, &mut writer);
    writer.finish(version)
}

/// The payload of a value for Redis 7.0, without data that it does not support. O(value).
pub fn dump_for_7_0(value: &Value) -> Vec<u8> {
    let mut writer = Writer::for_stream();
    let version = write(value, Forms::Redis70, &mut writer);
    writer.finish(version)
}

/// The payload of a value for a file that Redis 7.0 can read, unless fields have deadlines. O(value).
pub fn dump_for_file(value: &Value) -> Vec<u8> {
    match value {
        Value::Hash(_) => dump_for_any(value),
        _ => dump_for_7_0(value),
    }
}

/// Writes a value, beginning with the number of its form, for a server as old as Redis 7.0. O(value).
pub fn write_value_for_7_0(value: &Value, writer: &mut Writer) {
    write(value, Forms::Redis70, writer);
}

/// Writes a value, beginning with the number of its form. O(value).
pub fn write_value(value: &Value, writer: &mut Writer) {
    write(value, Forms::Newest, writer);
}

/// Writes a value; returns the oldest version of the format that has its form.
fn write(value: &Value, forms: Forms, writer: &mut Writer) -> u16 {
    match value {
        Value::Str(text) => {
            writer.form(types::STRING);
            writer.string(&text.text());
        }
        Value::List(list) => write_list(list, writer),
        Value::Hash(hash) if hash.is_timed() && forms != Forms::Redis70 => {
            return fields::write(hash, writer);
        }
        Value::Hash(hash) => write_hash(hash, writer),
        Value::Set(set) => return write_set(set, forms, writer),
        Value::ZSet(set) => write_zset(set, writer),
        Value::Stream(stream) => return streams::write(stream, forms, writer),
    }
    payload::VERSION_7_0
}

fn write_list(list: &List, writer: &mut Writer) {
    let is_large = |block: &ListBlock<'_>| block.listpack_size() >= LARGE;
    let nodes = list.blocks().map(|block| if is_large(&block) { block.count() } else { 1 }).sum();
    writer.form(types::LIST_QUICKLIST_2);
    writer.length(nodes);
    for block in list.blocks() {
        if is_large(&block) {
            for element in block.iter() {
                writer.length(types::NODE_PLAIN);
                writer.string(element);
            }
        } else {
            writer.length(types::NODE_PACKED);
            writer.string(&listpack(block.iter()));
        }
    }
}

fn write_hash(hash: &Hash, writer: &mut Writer) {
    if hash.encoding() == Encoding::Listpack {
        writer.form(types::HASH_LISTPACK);
        let words = hash.iter().flat_map(|(field, value)| [field, value]);
        return writer.string(&listpack(words));
    }
    writer.form(types::HASH);
    writer.length(hash.len());
    for (field, value) in hash {
        writer.string(field);
        writer.string(value);
    }
}

/// Writes a set. For Redis 7.0, a small set with a member that is no integer is written as a table. If all members are
/// integers, that form would become a set of integers.
fn write_set(set: &Set, forms: Forms, writer: &mut Writer) -> u16 {
    if let Some((width, integers)) = set.integers() {
        writer.form(types::SET_INTSET);
        let header = [width as u32, (integers.len() / width) as u32].map(u32::to_le_bytes);
        writer.string(&[header.as_flattened(), integers].concat());
        return payload::VERSION_7_0;
    }
    let has_old_form =
        || forms == Forms::Redis70 || set.iter().any(|member| parse_integer(&member).is_none());
    if set.encoding() == Encoding::Listpack && (forms == Forms::Newest || !has_old_form()) {
        writer.form(types::SET_LISTPACK);
        writer.string(&listpack(set));
        return payload::VERSION_7_2;
    }
    writer.form(types::SET);
    writer.length(set.len());
    for member in set {
        writer.string(&member);
    }
    payload::VERSION_7_0
}

fn write_zset(set: &ZSet, writer: &mut Writer) {
    if set.encoding() == Encoding::Listpack {
        writer.form(types::ZSET_LISTPACK);
        let words = set.iter().flat_map(|(member, score)| [Cow::Borrowed(member), score_text(score).into()]);
        return writer.string(&listpack(words));
    }
    writer.form(types::ZSET_2);
    writer.length(set.len());
    // From the highest score on, so that a reader inserts each member before the others, without a search.
    for (member, score) in set.iter().rev() {
        writer.string(member);
        writer.bytes(&score.to_le_bytes());
    }
}

/// The text of a score in a listpack of Redis 7.0: whole numbers, unless huge, as such; others with 17 digits.
fn score_text(score: f64) -> Vec<u8> {
    let mut text = Vec::new();
    if score.trunc() == score && score.abs() <= INTEGER_SCORE {
        number::format_double(score, &mut text);
    } else {
        number::format_g(score, 17, &mut text);
    }
    text
}
