//! The names of scripts.

use std::fmt;

/// The SHA-1 of a script's text, as 40 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Sha([u8; 40]);

impl Sha {
    /// The digits.
    pub fn as_bytes(&self) -> &[u8; 40] {
        &self.0
    }

    /// The digest of `text`.
    pub(crate) fn of(text: &[u8]) -> Sha {
        Sha::from_digest(digest(text))
    }

    pub(crate) fn from_digest(digest: [u8; 20]) -> Sha {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut hex = [0; 40];
        for (pair, byte) in hex.chunks_exact_mut(2).zip(digest) {
            pair[0] = DIGITS[usize::from(byte >> 4)];
            pair[1] = DIGITS[usize::from(byte & 15)];
        }
        Sha(hex)
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

pub(crate) fn digest(text: &[u8]) -> [u8; 20] {
    sha1_smol::Sha1::from(text).digest().bytes()
}

/// The digest that 40 hexadecimal digits of either case spell.
pub(crate) fn parse(hex: &[u8]) -> Option<[u8; 20]> {
    let mut digest = [0; 20];
    if hex.len() != 40 {
        return None;
    }
    for (byte, pair) in digest.iter_mut().zip(hex.chunks_exact(2)) {
        *byte = nibble(pair[0])? << 4 | nibble(pair[1])?;
    }
    Some(digest)
}

fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spells_and_reads_digests() {
        let sha = Sha::of(b"abc");
        assert_eq!(sha.to_string(), "a9993e364706816aba3e25717850c26c9cd0d89d");
        assert_eq!(parse(sha.as_bytes()), Some(digest(b"abc")));
        assert_eq!(parse(b"A9993E364706816ABA3E25717850C26C9CD0D89D"), Some(digest(b"abc")));
        assert_eq!(parse(&sha.as_bytes()[1..]), None);
        assert_eq!(parse(&[b'g'; 40]), None);
    }
}
