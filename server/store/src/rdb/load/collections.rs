//! Sets and hashes.

use super::{MAX_SMALL_BYTES, read_count};
use crate::rdb::listpack::Listpack;
use crate::rdb::ziplist::Ziplist;
use crate::rdb::zipmap::Zipmap;
use crate::rdb::{Corrupt, Reader, types};
use crate::values::{Encodings, Hash, Set, parse_integer};
use std::borrow::Cow;
use std::ops::Deref;

/// Reads `count` strings, bounded by the caller to a small value. Memory is in proportion to limits or existing bytes.
fn read_strings<'a>(reader: &mut Reader<'a>, count: usize) -> Result<Vec<Cow<'a, [u8]>>, Corrupt> {
    (0..count).map(|_| reader.string()).collect()
}

fn are_short<T: Deref<Target = [u8]>>(elements: &[T], longest: usize) -> bool {
    let bytes: usize = elements.iter().map(|element| element.len()).sum();
    bytes < MAX_SMALL_BYTES && elements.iter().all(|element| element.len() <= longest)
}

/// Reads a set, stored string by string: of a few integers, of a few short members in order, or large.
pub(super) fn read_set(reader: &mut Reader<'_>, enc: &Encodings) -> Result<Set, Corrupt> {
    let count = read_count(reader)?;
    if count > enc.set_max_intset_entries.max(enc.set_max_listpack_entries) {
        return large_set(count, (0..count).map(|_| reader.string()), enc);
    }
    let members = read_strings(reader, count)?;
    if count <= enc.set_max_intset_entries
        && let Some(integers) =
            members.iter().map(|member| parse_integer(member)).collect::<Option<Vec<i64>>>()
    {
        return set_of_integers(integers);
    }
    if count <= enc.set_max_listpack_entries && are_short(&members, enc.set_max_listpack_value) {
        return Set::small(members, enc).ok_or(Corrupt);
    }
    large_set(count, members.into_iter().map(Ok), enc)
}

fn set_of_integers(mut integers: Vec<i64>) -> Result<Set, Corrupt> {
    integers.sort_unstable();
    let (least, most) = (integers.first().copied().unwrap_or(0), integers.last().copied().unwrap_or(0));
    let fits = |width: u32| {
        [least, most].iter().all(|value| value << (64 - 8 * width) >> (64 - 8 * width) == *value)
    };
    let width = if fits(2) {
        2
    } else if fits(4) {
        4
    } else {
        8
    };
    let bytes = integers.iter().flat_map(|value| value.to_le_bytes().into_iter().take(width)).collect();
    Set::of_integers(width, bytes).ok_or(Corrupt)
}

fn large_set<T: Deref<Target = [u8]>>(
    count: usize,
    members: impl Iterator<Item = Result<T, Corrupt>>,
    enc: &Encodings,
) -> Result<Set, Corrupt> {
    let mut set = Set::large(count, enc);
    for member in members {
        if !set.add(&member?, enc) {
            return Err(Corrupt);
        }
    }
    Ok(set)
}

/// Reads a set of integers: four bytes of their width, four of their number, and the integers, ascending.
pub(super) fn read_intset(bytes: &[u8], enc: &Encodings) -> Result<Set, Corrupt> {
    let mut reader = Reader::new(bytes);
    let [width, count] = [reader.array()?, reader.array()?].map(|bytes| u32::from_le_bytes(bytes) as usize);
    let integers = reader.bytes(reader.left())?;
    if count == 0 || count.checked_mul(width) != Some(integers.len()) {
        return Err(Corrupt);
    }
    let set = Set::of_integers(width, integers.to_vec()).ok_or(Corrupt)?;
    if count <= enc.set_max_intset_entries {
        return Ok(set);
    }
    large_set(count, set.iter().map(Ok), enc)
}

pub(super) fn read_set_listpack(bytes: &[u8], enc: &Encodings) -> Result<Set, Corrupt> {
    let members = Listpack::parse(bytes)?;
    if members.len() == 0 {
        return Err(Corrupt);
    }
    if members.len() <= enc.set_max_listpack_entries && bytes.len() < MAX_SMALL_BYTES {
        return Set::small(members.iter(), enc).ok_or(Corrupt);
    }
    large_set(members.len(), members.iter().map(Ok), enc)
}

/// Reads a hash that is stored string by string.
pub(super) fn read_hash(reader: &mut Reader<'_>, enc: &Encodings) -> Result<Hash, Corrupt> {
    let count = read_count(reader)?;
    if count > enc.hash_max_listpack_entries {
        return large_hash(count, (0..count * 2).map(|_| reader.string()), enc);
    }
    let words = read_strings(reader, count * 2)?;
    if are_short(&words, enc.hash_max_listpack_value) {
        return Hash::small(words, enc).ok_or(Corrupt);
    }
    large_hash(count, words.into_iter().map(Ok), enc)
}

fn large_hash<T: Deref<Target = [u8]>>(
    count: usize,
    mut words: impl Iterator<Item = Result<T, Corrupt>>,
    enc: &Encodings,
) -> Result<Hash, Corrupt> {
    let mut hash = Hash::large(count, enc);
    while let Some(field) = words.next() {
        let (field, value) = (field?, words.next().ok_or(Corrupt)??);
        if !hash.set(&field, &value, enc) {
            return Err(Corrupt);
        }
    }
    Ok(hash)
}

pub(super) fn read_small_hash(form: u8, bytes: &[u8], enc: &Encodings) -> Result<Hash, Corrupt> {
    match form {
        types::HASH_ZIPMAP => {
            let pairs = Zipmap::parse(bytes)?;
            let is_short = pairs.iter().all(|word| word.len() <= enc.hash_max_listpack_value);
            hash_of(pairs.len() * 2, pairs.iter(), is_short && bytes.len() < MAX_SMALL_BYTES, enc)
        }
        types::HASH_ZIPLIST => {
            let words = Ziplist::parse(bytes)?;
            hash_of(words.len(), words.iter(), bytes.len() < MAX_SMALL_BYTES, enc)
        }
        _ => {
            let words = Listpack::parse(bytes)?;
            hash_of(words.len(), words.iter(), bytes.len() < MAX_SMALL_BYTES, enc)
        }
    }
}

/// A hash of `count` fields and values in turn, small if `may_be_small` and they are few, whatever their lengths.
fn hash_of<T: Deref<Target = [u8]>>(
    count: usize,
    words: impl Iterator<Item = T>,
    may_be_small: bool,
    enc: &Encodings,
) -> Result<Hash, Corrupt> {
    if count == 0 || count % 2 == 1 {
        return Err(Corrupt);
    }
    if may_be_small && count / 2 <= enc.hash_max_listpack_entries {
        return Hash::small(words, enc).ok_or(Corrupt);
    }
    large_hash(count / 2, words.map(Ok), enc)
}
