//! Numbers and texts in the bytes of a node, and their lengths in a listpack of Redis. A text is a number and bytes:
//! twice their length, or that plus one for an integer, lowest byte first, whose canonical form is the text.

use crate::values::integer::{self, IntText, Text};
use lockwheel_resp::allocation;

/// Appends a number, seven bits a byte, lowest bits first.
#[inline]
pub(super) fn push_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push((number as u8) | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Reads a number and moves `bytes` behind it. Returns 0 at the end of `bytes`.
#[inline]
pub(super) fn take_number(bytes: &mut &[u8]) -> u64 {
    let (mut number, mut shift) = (0, 0);
    while let Some((&byte, rest)) = bytes.split_first() {
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if byte < 0x80 || shift > 63 {
            break;
        }
    }
    number
}

/// Appends a number that can be read from its end.
#[inline]
pub(super) fn push_number_backward(out: &mut Vec<u8>, number: usize) {
    let groups = (usize::BITS - (number | 1).leading_zeros()).div_ceil(7);
    for group in (0..groups).rev() {
        let more = if group + 1 < groups { 0x80 } else { 0 };
        out.push((number >> (7 * group)) as u8 & 0x7f | more);
    }
}

/// The number that ends where `bytes` does, and the number of its bytes.
#[inline]
pub(super) fn last_number(bytes: &[u8]) -> (usize, usize) {
    let (mut number, mut taken) = (0, 0);
    for &byte in bytes.iter().rev().take(5) {
        number |= usize::from(byte & 0x7f) << (7 * taken);
        taken += 1;
        if byte < 0x80 {
            break;
        }
    }
    (number, taken)
}

/// Appends a text; returns the bytes that it would take in a listpack.
#[inline]
pub(super) fn push_text(out: &mut Vec<u8>, text: &[u8]) -> usize {
    match integer::parse(text) {
        Some(value) => {
            let folded = ((value << 1) ^ (value >> 63)) as u64;
            let len = (u64::BITS - folded.leading_zeros()).div_ceil(8) as usize;
            out.push((len << 1 | 1) as u8);
            out.extend_from_slice(&folded.to_le_bytes()[..len]);
            listpack_integer(value)
        }
        None => {
            push_number(out, (text.len() as u64) << 1);
            allocation::append(out, text);
            listpack_bytes(text.len())
        }
    }
}

/// Reads a text and moves `bytes` behind it.
#[inline]
pub(super) fn take_text<'a>(bytes: &mut &'a [u8]) -> Text<'a> {
    let header = take_number(bytes);
    let len = ((header >> 1) as usize).min(bytes.len());
    let (text, rest) = bytes.split_at(len);
    *bytes = rest;
    if header & 1 == 0 {
        return Text::Bytes(text);
    }
    let mut folded = [0; 8];
    let len = len.min(8);
    folded[..len].copy_from_slice(&text[..len]);
    let folded = u64::from_le_bytes(folded);
    Text::Int(IntText::new((folded >> 1) as i64 ^ -((folded & 1) as i64)))
}

/// The bytes of an integer in a listpack, with the length behind it.
#[inline]
pub(super) const fn listpack_integer(value: i64) -> usize {
    match value {
        0..=127 => 2,
        -4096..=4095 => 3,
        -32_768..=32_767 => 4,
        -8_388_608..=8_388_607 => 5,
        -2_147_483_648..=2_147_483_647 => 6,
        _ => 10,
    }
}

/// The bytes of a text of `len` bytes that is no integer, in a listpack, with the length behind it.
#[inline]
const fn listpack_bytes(len: usize) -> usize {
    let encoded = match len {
        0..64 => 1 + len,
        64..4096 => 2 + len,
        _ => 5 + len,
    };
    let behind = match encoded {
        0..=127 => 1,
        128..16_383 => 2,
        16_383..2_097_151 => 3,
        2_097_151..268_435_455 => 4,
        _ => 5,
    };
    encoded + behind
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sizes_are_those_of_a_listpack() {
        let integers = [0, 127, 128, -1, 4095, 4096, -4097, 32_768, 8_388_608, 1 << 31, i64::MIN];
        assert_eq!(integers.map(listpack_integer), [2, 2, 3, 3, 3, 4, 4, 5, 6, 10, 10]);
        let lens = [0, 1, 63, 64, 125, 126, 4095, 4096, 16_380, 1 << 22];
        let sizes = [2, 3, 65, 67, 128, 130, 4099, 4103, 16_388, (1 << 22) + 9];
        assert_eq!(lens.map(listpack_bytes), sizes);
    }

    proptest! {
        #[test]
        fn texts_are_read_back(texts in prop::collection::vec(prop_oneof![
            any::<i64>().prop_map(|value| value.to_string().into_bytes()),
            (-300_i64..300).prop_map(|value| value.to_string().into_bytes()),
            prop::collection::vec(any::<u8>(), 0..200),
        ], 0..8)) {
            let mut bytes = Vec::new();
            texts.iter().for_each(|text| { push_text(&mut bytes, text); });
            let mut taken = &bytes[..];
            for text in &texts {
                prop_assert_eq!(&*take_text(&mut taken), &text[..]);
            }
            prop_assert!(taken.is_empty());
        }

        #[test]
        fn numbers_are_read_back_from_both_ends(
            number in prop_oneof![any::<u64>(), 0_u64..40_000],
            len in 0_usize..(1 << 32),
        ) {
            let mut bytes = Vec::new();
            push_number(&mut bytes, number);
            let end = bytes.len();
            push_number_backward(&mut bytes, len);
            let mut rest = &bytes[..];
            prop_assert_eq!(take_number(&mut rest), number);
            prop_assert_eq!(last_number(&bytes), (len, bytes.len() - end));
        }
    }
}
