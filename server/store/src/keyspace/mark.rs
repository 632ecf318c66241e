//! Marks that a subscriber keeps beside entries.

/// Six bytes beside an entry. Only the subscriber that sets them knows their meaning, except for threads' marks.
pub type Mark = [u8; 6];

/// Set in marks that are no numbers. A number that is odd is not a thread's mark.
const NO_NUMBER: u64 = 1 << 47;

/// The mark of a hash that a thread has come to hold: twice `number`, which has 46 bits.
#[inline(always)]
pub fn mark_of_thread(number: u64) -> Mark {
    let [a, b, c, d, e, f, ..] = (number << 1).to_le_bytes();
    [a, b, c, d, e, f]
}

#[inline(always)]
pub(super) fn is_of_thread(mark: Mark) -> bool {
    let [a, b, c, d, e, f] = mark;
    u64::from_le_bytes([a, b, c, d, e, f, 0, 0]) & (NO_NUMBER | 1) == 0
}

/// Whether a field is a thread name in the form that clients use: a UUID and a number, `<uuid>:<number>`.
#[inline(always)]
pub fn is_thread(field: &[u8]) -> bool {
    /// The length of the UUID, a colon, and one digit.
    const SHORTEST: usize = 38;
    let Some((name, digits)) = field.split_first_chunk::<SHORTEST>() else { return false };
    let is_uuid =
        name[36] == b':' && name[8] == b'-' && name[13] == b'-' && name[18] == b'-' && name[23] == b'-';
    is_uuid && name[37].is_ascii_digit() && digits.iter().all(u8::is_ascii_digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thread_marks_are_distinguished_from_other_marks() {
        for number in [1, 2, 300, (1 << 46) - 1] {
            assert!(is_of_thread(mark_of_thread(number)), "{number}");
        }
        for other in [[1, 0, 0, 0, 0, 0], [255; 6], [2, 0, 0, 0, 0, 128]] {
            assert!(!is_of_thread(other), "{other:?}");
        }
    }
}
