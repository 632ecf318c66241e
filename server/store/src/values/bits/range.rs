//! Ranges of bits: the number of set bits, and the first bit of a value.

use std::ops::Range;

/// The bytes of a word. Whole bytes are processed a word at a time.
const WORD: usize = size_of::<u64>();

/// The number of set bits of a range, which must be within the bytes. O(bytes), a word at a time.
pub fn count_ones(bytes: &[u8], range: Range<u64>) -> u64 {
    let Parts { head, whole, tail } = parts(bytes, &range);
    let ends = u64::from(head.unwrap_or(0).count_ones() + tail.unwrap_or(0).count_ones());
    let (words, rest) = whole.as_chunks::<WORD>();
    let words: u64 = words.iter().map(|word| u64::from(u64::from_ne_bytes(*word).count_ones())).sum();
    let rest: u64 = rest.iter().map(|byte| u64::from(byte.count_ones())).sum();
    ends + words + rest
}

/// The first bit of a range that is `on`. The range must be within the bytes. O(bytes), a word at a time.
pub fn first_bit(bytes: &[u8], range: Range<u64>, on: bool) -> Option<u64> {
    // A search for a 0 is a search for a 1 among inverted bits.
    let flip = if on { 0 } else { u8::MAX };
    let in_byte = |byte: u64, at: u64| {
        let found = at * 8 + byte;
        (range.start..range.end).contains(&found).then_some(found)
    };
    let (mut at, end) = (range.start / 8, range.end.div_ceil(8));
    // The bits before the range are masked; those after it come last anyway.
    if at < end && !range.start.is_multiple_of(8) {
        let byte = (bytes[at as usize] ^ flip) & (u8::MAX >> (range.start % 8));
        if byte != 0 {
            return in_byte(byte.leading_zeros().into(), at);
        }
        at += 1;
    }
    let rest = bytes.get(at as usize..end as usize)?;
    let (words, last) = rest.as_chunks::<WORD>();
    let flip_word = u64::from_ne_bytes([flip; WORD]);
    if let Some(index) = words.iter().position(|word| u64::from_ne_bytes(*word) != flip_word) {
        let word = u64::from_be_bytes(words[index]) ^ flip_word;
        return in_byte(word.leading_zeros().into(), at + (index * WORD) as u64);
    }
    let index = last.iter().position(|byte| *byte != flip)?;
    in_byte((last[index] ^ flip).leading_zeros().into(), at + (words.len() * WORD + index) as u64)
}

/// The bytes of a range of bits: the partial bytes at both ends, masked, and the whole bytes between them.
struct Parts<'a> {
    head: Option<u8>,
    whole: &'a [u8],
    tail: Option<u8>,
}

fn parts<'a>(bytes: &'a [u8], range: &Range<u64>) -> Parts<'a> {
    if range.is_empty() {
        return Parts { head: None, whole: &[], tail: None };
    }
    let (first, end) = ((range.start / 8) as usize, (range.end / 8) as usize);
    let before = u8::MAX >> (range.start % 8);
    let after = !(u8::MAX >> (range.end % 8));
    if first == end {
        return Parts { head: Some(bytes[first] & before & after), whole: &[], tail: None };
    }
    let head = (!range.start.is_multiple_of(8)).then(|| bytes[first] & before);
    let tail = (!range.end.is_multiple_of(8)).then(|| bytes[end] & after);
    Parts { head, whole: &bytes[first + usize::from(head.is_some())..end], tail }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::bits::bit;
    use proptest::prelude::*;

    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        let runs = prop::collection::vec((prop_oneof![Just(0), Just(255), any::<u8>()], 1_usize..20), 0..5);
        runs.prop_map(|runs| runs.into_iter().flat_map(|(byte, times)| vec![byte; times]).collect())
    }

    proptest! {
        #[test]
        fn searches_by_words_equal_those_by_bits(bytes in bytes(), from: u64, to: u64, on: bool) {
            let bits = bytes.len() as u64 * 8;
            let (from, to) = (from % (bits + 1), to % (bits + 1));
            let range = from.min(to)..from.max(to);
            let count = range.clone().filter(|at| bit(&bytes, *at)).count() as u64;
            prop_assert_eq!(count_ones(&bytes, range.clone()), count);
            let first = range.clone().find(|at| bit(&bytes, *at) == on);
            prop_assert_eq!(first_bit(&bytes, range, on), first);
        }
    }
}
