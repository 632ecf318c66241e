//! The digest that Redis 8.4 compares strings by: XXH3 with 64 bits, as 16 hexadecimal digits.

use twox_hash::XxHash3_64;

/// The length of a digest, in bytes.
pub const DIGEST_BYTES: usize = 16;

/// The digest of a string, in lower case. O(bytes).
pub fn digest(text: &[u8]) -> [u8; DIGEST_BYTES] {
    let hash = XxHash3_64::oneshot(text);
    std::array::from_fn(|at| b"0123456789abcdef"[(hash >> (60 - 4 * at) & 0xf) as usize])
}

/// Whether `word` is the digest of a string, in upper or lower case. O(bytes).
pub fn has_digest(text: &[u8], word: &[u8]) -> bool {
    word.len() == DIGEST_BYTES && digest(text).eq_ignore_ascii_case(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_those_of_redis() {
        // `Hello world` is the example of Redis' page on DIGEST.
        for (text, expected) in
            [("Hello world", "b6acb9d84a38ff74"), ("", "2d06800538d394c2"), ("v8", "0cc76dbb41381419")]
        {
            assert_eq!(digest(text.as_bytes()), expected.as_bytes(), "{text}");
            assert!(has_digest(text.as_bytes(), expected.to_uppercase().as_bytes()));
        }
        assert!(!has_digest(b"v8", b"cc76dbb41381419"));
    }
}
