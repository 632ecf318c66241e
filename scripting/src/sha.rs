//! The digests that identify scripts.

use std::borrow::Borrow;
use std::convert::Infallible;
use std::fmt;

/// The SHA-1 of a script's text, as 40 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Sha([u8; 40]);

impl Sha {
    /// The digits.
    pub fn as_bytes(&self) -> &[u8; 40] {
        &self.0
    }

    /// The digest of `text`. O(length).
    pub fn of(text: &[u8]) -> Sha {
        match Sha::of_long(text, || Ok::<(), Infallible>(())) {
            Ok(sha) => sha,
        }
    }

    /// The digest of `text`, unless `poll` aborts the computation. `poll` is called from time to time.
    pub(crate) fn of_long<E>(text: &[u8], poll: impl Fn() -> Result<(), E>) -> Result<Sha, E> {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        const PIECE: usize = 1 << 14;
        let mut sha1 = sha1_smol::Sha1::new();
        for piece in text.chunks(PIECE) {
            poll()?;
            sha1.update(piece);
        }
        let mut hex = [0; 40];
        for (pair, byte) in hex.chunks_exact_mut(2).zip(sha1.digest().bytes()) {
            pair[0] = DIGITS[usize::from(byte >> 4)];
            pair[1] = DIGITS[usize::from(byte & 15)];
        }
        Ok(Sha(hex))
    }
}

impl Borrow<[u8; 40]> for Sha {
    fn borrow(&self) -> &[u8; 40] {
        &self.0
    }
}

impl fmt::Display for Sha {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|digit| fmt::Write::write_char(f, char::from(*digit)))
    }
}

impl fmt::Debug for Sha {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spells_digests() {
        assert_eq!(Sha::of(b"abc").to_string(), "a9993e364706816aba3e25717850c26c9cd0d89d");
    }
}
