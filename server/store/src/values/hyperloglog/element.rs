//! The effect of an element on the registers: its hash chooses a register and the least value of that.

use super::{COUNT_BITS, INDEX_BITS, REGISTERS};

const SEED: u64 = 0xadc8_3b19;

/// The register of an element, and the least value that the element leaves in it. O(length of the element).
pub(super) fn place(element: &[u8]) -> (usize, u8) {
    let hash = hash(element);
    let index = hash as usize & (REGISTERS - 1);
    let zeros = (hash >> INDEX_BITS | 1 << COUNT_BITS).trailing_zeros();
    (index, zeros as u8 + 1)
}

/// The `MurmurHash64A` of a little-endian machine.
fn hash(bytes: &[u8]) -> u64 {
    const FACTOR: u64 = 0xc6a4_a793_5bd1_e995;
    const SHIFT: u32 = 47;
    let mix = |word: u64| {
        let word = word.wrapping_mul(FACTOR);
        (word ^ word >> SHIFT).wrapping_mul(FACTOR)
    };
    let (words, rest) = bytes.as_chunks();
    let start = SEED ^ (bytes.len() as u64).wrapping_mul(FACTOR);
    let mut hash =
        words.iter().fold(start, |hash, word| (hash ^ mix(u64::from_le_bytes(*word))).wrapping_mul(FACTOR));
    if !rest.is_empty() {
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        hash = (hash ^ u64::from_le_bytes(last)).wrapping_mul(FACTOR);
    }
    hash = (hash ^ hash >> SHIFT).wrapping_mul(FACTOR);
    hash ^ hash >> SHIFT
}
