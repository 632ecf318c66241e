//! Passwords, kept as SHA-256 hashes.

use sha2::{Digest, Sha256};
use std::fmt;

/// The number of hexadecimal digits of a hash.
const DIGITS: usize = 64;

/// The SHA-256 hash of a password, in lower-case hexadecimal digits.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct PasswordHash([u8; DIGITS]);

impl PasswordHash {
    /// The hash of a password. O(length).
    pub(super) fn of(password: &[u8]) -> Self {
        let mut digits = [0; DIGITS];
        for (byte, pair) in Sha256::digest(password).iter().zip(digits.chunks_exact_mut(2)) {
            let digit = |half: u8| b"0123456789abcdef"[usize::from(half)];
            pair.copy_from_slice(&[digit(byte >> 4), digit(byte & 15)]);
        }
        PasswordHash(digits)
    }

    /// The hash with these digits. `None` if they are malformed.
    pub(super) fn from_digits(digits: &[u8]) -> Option<Self> {
        let digits: [u8; DIGITS] = digits.try_into().ok()?;
        digits.iter().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f')).then_some(PasswordHash(digits))
    }

    pub(crate) fn digits(&self) -> &[u8] {
        &self.0
    }

    /// Whether two hashes are equal. The comparison takes the same time wherever they differ.
    pub(super) fn is(&self, other: &PasswordHash) -> bool {
        self.0.iter().zip(&other.0).fold(0, |differing, (a, b)| differing | (a ^ b)) == 0
    }
}

impl fmt::Debug for PasswordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PasswordHash")
    }
}
