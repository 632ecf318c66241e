//! Ranges of indexes, as in LRANGE, LTRIM, ZRANGE and the like.

use std::ops::Range;

/// The places from index `start` to index `stop`, both included, among `len` elements. A negative index counts from the
/// end, -1 is the last element; parts beyond either end are ignored. Empty is `0..0`.
pub(super) fn index_range(start: i64, stop: i64, len: usize) -> Range<usize> {
    // Memory holds fewer than `i64::MAX` elements.
    let len = len as i64;
    let start = if start < 0 { (start + len).max(0) } else { start };
    let stop = if stop < 0 { stop + len } else { stop.min(len - 1) };
    if start > stop { 0..0 } else { start as usize..stop as usize + 1 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_range_contains_the_elements_between_its_ends(start in -8..8_i64, stop in -8..8_i64, len in 0..6_usize) {
            let from_front = |index: i64| if index < 0 { index + len as i64 } else { index };
            let (first, last) = (from_front(start), from_front(stop));
            let inside = (0..len).filter(|&place| (first..=last).contains(&(place as i64)));
            prop_assert!(index_range(start, stop, len).eq(inside));
        }

        #[test]
        fn no_index_is_too_large(start: i64, stop: i64, len in 0..6_usize) {
            let range = index_range(start, stop, len);
            prop_assert!(range.start <= range.end && range.end <= len);
        }
    }

    #[test]
    fn extreme_indexes_select_everything() {
        assert_eq!(index_range(i64::MIN, i64::MAX, 3), 0..3);
        assert_eq!(index_range(i64::MAX, i64::MIN, 3), 0..0);
        assert_eq!(index_range(0, -1, 0), 0..0);
    }
}
