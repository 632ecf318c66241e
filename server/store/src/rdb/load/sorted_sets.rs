//! Sorted sets.

use super::{MAX_SMALL_BYTES, read_count};
use crate::rdb::listpack::Listpack;
use crate::rdb::ziplist::Ziplist;
use crate::rdb::{Corrupt, Reader, types};
use crate::values::{Encodings, Text, ZSet, parse_integer};
use lockwheel_resp::number;
use std::borrow::Cow;
use std::ops::Deref;

/// Codes in place of the length of a score's text, for scores that are not written with digits.
const NAN: u8 = 253;
const INFINITY: u8 = 254;
const MINUS_INFINITY: u8 = 255;

/// Reads a sorted set that is stored member by member, in any order.
pub(super) fn read(form: u8, reader: &mut Reader<'_>, enc: &Encodings) -> Result<ZSet, Corrupt> {
    let count = read_count(reader)?;
    let mut pair = || {
        let member = reader.string()?;
        let score =
            if form == types::ZSET { read_text(reader)? } else { f64::from_le_bytes(reader.array()?) };
        if score.is_nan() { Err(Corrupt) } else { Ok((member, score)) }
    };
    if count > enc.zset_max_listpack_entries {
        return large(count, (0..count).map(|_| pair()), enc);
    }
    let mut pairs: Vec<(Cow<'_, [u8]>, f64)> = (0..count).map(|_| pair()).collect::<Result<_, _>>()?;
    let bytes: usize = pairs.iter().map(|(member, _)| member.len()).sum();
    let are_short = pairs.iter().all(|(member, _)| member.len() <= enc.zset_max_listpack_value);
    if !are_short || bytes >= MAX_SMALL_BYTES {
        return large(count, pairs.into_iter().map(Ok), enc);
    }
    // No score is NaN, and plus and minus zero count as equal.
    pairs.sort_by(|a, b| (a.1 + 0.0).total_cmp(&(b.1 + 0.0)).then_with(|| a.0.cmp(&b.0)));
    ZSet::small(pairs, enc).ok_or(Corrupt)
}

/// Reads a score as text after its length, as Redis 1 stored it.
fn read_text(reader: &mut Reader<'_>) -> Result<f64, Corrupt> {
    match reader.byte()? {
        NAN => Err(Corrupt),
        INFINITY => Ok(f64::INFINITY),
        MINUS_INFINITY => Ok(f64::NEG_INFINITY),
        length => number::parse_f64(reader.bytes(usize::from(length))?).ok_or(Corrupt),
    }
}

fn large<T: Deref<Target = [u8]>>(
    count: usize,
    pairs: impl Iterator<Item = Result<(T, f64), Corrupt>>,
    enc: &Encodings,
) -> Result<ZSet, Corrupt> {
    let mut set = ZSet::large(count, enc);
    for pair in pairs {
        let (member, score) = pair?;
        if set.insert(&member, score, enc).is_some() {
            return Err(Corrupt);
        }
    }
    Ok(set)
}

/// Reads a sorted set that is stored in one block of memory, in this form: members with their scores, in order.
pub(super) fn read_small(form: u8, bytes: &[u8], enc: &Encodings) -> Result<ZSet, Corrupt> {
    if form == types::ZSET_ZIPLIST {
        let words = Ziplist::parse(bytes)?;
        of_words(words.len(), words.iter(), bytes, enc)
    } else {
        let words = Listpack::parse(bytes)?;
        of_words(words.len(), words.iter(), bytes, enc)
    }
}

/// A sorted set of members and scores in turn, from a block that has been checked.
fn of_words<'a>(
    count: usize,
    mut words: impl Iterator<Item = Text<'a>> + Clone,
    bytes: &[u8],
    enc: &Encodings,
) -> Result<ZSet, Corrupt> {
    let mut scores = words.clone().skip(1).step_by(2);
    if count == 0 || count % 2 == 1 || !scores.all(|text| score_of(&text).is_some()) {
        return Err(Corrupt);
    }
    let mut pairs = std::iter::from_fn(|| {
        let (member, score) = (words.next()?, words.next()?);
        Some((member, score_of(&score)?))
    });
    if count / 2 <= enc.zset_max_listpack_entries && bytes.len() < MAX_SMALL_BYTES {
        return ZSet::small(pairs, enc).ok_or(Corrupt);
    }
    large(count / 2, pairs.by_ref().map(Ok), enc)
}

/// The number in a score's text, or `None` if it is none.
fn score_of(text: &[u8]) -> Option<f64> {
    let integer = parse_integer(text).map(|value| value as f64);
    integer.or_else(|| number::parse_f64(text)).filter(|score| !score.is_nan())
}
