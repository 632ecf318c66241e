//! The ids of a stream's entries.

use std::fmt;
use std::ops::Deref;

/// The id of an entry: a time in milliseconds, and a sequence number for entries with the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId {
    /// Milliseconds since the Unix epoch if the server has made the id; otherwise the number that a client chose.
    pub ms: u64,
    /// The number within that millisecond.
    pub seq: u64,
}

impl StreamId {
    /// The least id, which no entry has.
    pub const MIN: Self = Self { ms: 0, seq: 0 };
    /// The greatest id.
    pub const MAX: Self = Self { ms: u64::MAX, seq: u64::MAX };

    /// The id with these two numbers.
    #[must_use]
    pub const fn new(ms: u64, seq: u64) -> Self {
        Self { ms, seq }
    }

    /// The next id. Returns `None` for the greatest.
    #[must_use]
    pub const fn next(self) -> Option<Self> {
        match (self.seq.checked_add(1), self.ms.checked_add(1)) {
            (Some(seq), _) => Some(Self { ms: self.ms, seq }),
            (None, Some(ms)) => Some(Self { ms, seq: 0 }),
            (None, None) => None,
        }
    }

    /// The previous id. Returns `None` for the least.
    #[must_use]
    pub const fn previous(self) -> Option<Self> {
        match (self.seq.checked_sub(1), self.ms.checked_sub(1)) {
            (Some(seq), _) => Some(Self { ms: self.ms, seq }),
            (None, Some(ms)) => Some(Self { ms, seq: u64::MAX }),
            (None, None) => None,
        }
    }

    /// The text of the id, `ms-seq`. No allocation.
    #[must_use]
    pub fn text(self) -> IdText {
        let mut text = IdText { bytes: [0; MAX_TEXT_BYTES], start: MAX_TEXT_BYTES as u8 };
        text.prepend(self.seq);
        text.start -= 1;
        text.bytes[usize::from(text.start)] = b'-';
        text.prepend(self.ms);
        text
    }
}

impl fmt::Display for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.ms, self.seq)
    }
}

/// The most bytes of the text: the digits of two `u64`, and a dash.
const MAX_TEXT_BYTES: usize = 41;

/// The text of an id, held in place.
#[derive(Clone, Copy, Debug)]
pub struct IdText {
    bytes: [u8; MAX_TEXT_BYTES],
    start: u8,
}

impl IdText {
    fn prepend(&mut self, mut rest: u64) {
        let mut at = usize::from(self.start);
        loop {
            at -= 1;
            // A remainder of ten fits a byte.
            self.bytes[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        self.start = at as u8;
    }
}

impl Deref for IdText {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[usize::from(self.start)..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn neighbours_carry_into_the_milliseconds() {
        let id = StreamId::new;
        assert_eq!(id(1, 2).next(), Some(id(1, 3)));
        assert_eq!(id(1, u64::MAX).next(), Some(id(2, 0)));
        assert_eq!(StreamId::MAX.next(), None);
        assert_eq!(id(1, 2).previous(), Some(id(1, 1)));
        assert_eq!(id(1, 0).previous(), Some(id(0, u64::MAX)));
        assert_eq!(StreamId::MIN.previous(), None);
    }

    proptest! {
        #[test]
        fn the_text_is_both_numbers(ms in prop_oneof![any::<u64>(), 0_u64..20], seq in any::<u64>()) {
            let id = StreamId::new(ms, seq);
            let (text, expected) = (id.text(), format!("{ms}-{seq}"));
            prop_assert_eq!(&*text, expected.as_bytes());
            prop_assert_eq!(id.to_string(), expected);
        }
    }
}
