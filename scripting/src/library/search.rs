//! Search of texts, eight bytes at a time.

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHEST: u64 = 0x80 * ONES;

/// Eight bytes of a text.
#[derive(Clone, Copy)]
pub(super) struct Word(u64);

impl Word {
    /// Whether one of the bytes is this one.
    #[inline(always)]
    pub(super) fn has(self, byte: u8) -> bool {
        Word(self.0 ^ (ONES * u64::from(byte))).has_below(1)
    }

    /// Whether one of the bytes is below `byte`, which must be at most 128.
    #[inline(always)]
    pub(super) fn has_below(self, byte: u8) -> bool {
        self.0.wrapping_sub(ONES * u64::from(byte)) & !self.0 & HIGHEST != 0
    }
}

/// The position of the first byte for which `is_sought`. `may_have` must be true for a word that contains such a byte.
/// O(length).
#[inline(always)]
pub(super) fn position(
    text: &[u8],
    may_have: impl Fn(Word) -> bool,
    is_sought: impl Fn(u8) -> bool,
) -> Option<usize> {
    let mut start = 0;
    while let Some(word) = text.get(start..).and_then(|rest| rest.first_chunk()) {
        if may_have(Word(u64::from_le_bytes(*word))) {
            break;
        }
        start += 8;
    }
    let at = text[start..].iter().position(|byte| is_sought(*byte))?;
    Some(start + at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_found_wherever_they_are() {
        for len in 0..40 {
            for sought in [0, 1, 31, b'"', b'\\', 127, 128, 255] {
                let find = |text: &[u8]| position(text, |word| word.has(sought), |byte| byte == sought);
                for other in [sought.wrapping_add(1), sought.wrapping_sub(1), sought ^ 0x80] {
                    let mut text = vec![other; len];
                    assert_eq!(find(&text), None);
                    for at in (0..len).rev() {
                        text[at] = sought;
                        assert_eq!(find(&text), Some(at));
                    }
                }
            }
        }
    }

    #[test]
    fn a_word_has_bytes_below_another() {
        for bound in 1..=128 {
            for byte in 0..=255_u8 {
                for place in 0..8 {
                    let mut bytes = [255; 8];
                    bytes[place] = byte;
                    assert_eq!(Word(u64::from_le_bytes(bytes)).has_below(bound), byte < bound);
                }
            }
        }
    }
}
