//! Bitwise combination of strings.

/// The operation that combines two strings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BitOperation {
    /// Bits that are set in all strings.
    And,
    /// Bits that are set in any string.
    Or,
    /// Bits that are set in an odd number of strings.
    Xor,
}

/// Combines strings; the result is as long as the longest, as if shorter ones had zero bytes behind. O(all bytes).
pub fn combine<B: AsRef<[u8]>>(operation: BitOperation, strings: &[B]) -> Vec<u8> {
    let longest = strings.iter().map(|string| string.as_ref().len()).max().unwrap_or(0);
    let Some((first, others)) = strings.split_first() else { return Vec::new() };
    let mut result = Vec::with_capacity(longest);
    result.extend_from_slice(first.as_ref());
    result.resize(longest, 0);
    for other in others {
        let other = other.as_ref();
        let (both, rest) = result.split_at_mut(other.len());
        match operation {
            BitOperation::And => {
                both.iter_mut().zip(other).for_each(|(byte, other)| *byte &= other);
                rest.fill(0);
            }
            BitOperation::Or => both.iter_mut().zip(other).for_each(|(byte, other)| *byte |= other),
            BitOperation::Xor => both.iter_mut().zip(other).for_each(|(byte, other)| *byte ^= other),
        }
    }
    result
}

/// The string with every bit inverted. O(bytes).
pub fn invert(string: &[u8]) -> Vec<u8> {
    string.iter().map(|byte| !byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_byte_is_combined(strings in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 1..5)) {
            let longest = strings.iter().map(Vec::len).max().unwrap();
            let by_hand = |of: fn(u8, u8) -> u8| -> Vec<u8> {
                let byte = |at: usize| strings.iter().map(move |string| string.get(at).copied().unwrap_or(0));
                (0..longest).map(|at| byte(at).reduce(of).unwrap()).collect()
            };
            prop_assert_eq!(combine(BitOperation::And, &strings), by_hand(|a, b| a & b));
            prop_assert_eq!(combine(BitOperation::Or, &strings), by_hand(|a, b| a | b));
            prop_assert_eq!(combine(BitOperation::Xor, &strings), by_hand(|a, b| a ^ b));
            let inverted = invert(&strings[0]);
            prop_assert!(inverted.iter().zip(&strings[0]).all(|(a, b)| a ^ b == 0xff));
        }
    }
}
