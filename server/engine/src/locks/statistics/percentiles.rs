//! Percentiles of durations.

use lockwheel_store::memory::vec_heap_bytes;

/// Durations, in milliseconds.
#[derive(Debug, Default)]
pub(super) struct Durations {
    ms: Vec<i64>,
}

impl Durations {
    /// Returns the bytes of all durations. O(1).
    pub(super) fn memory(&self) -> usize {
        vec_heap_bytes(&self.ms)
    }

    pub(super) fn add(&mut self, ms: i64) {
        self.ms.push(ms);
    }

    /// Returns the smallest duration that `percent` percent of all do not exceed; `None` if there is none. O(n).
    pub(super) fn percentile(&mut self, percent: usize) -> Option<i64> {
        let rank = (self.ms.len() * percent).div_ceil(100);
        let at = rank.checked_sub(1)?;
        Some(*self.ms.select_nth_unstable(at).1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_the_least_value_that_covers_it() {
        let of = |ms: &[i64], percent| Durations { ms: ms.to_vec() }.percentile(percent);
        assert_eq!((of(&[], 50), of(&[7], 50), of(&[7], 99)), (None, Some(7), Some(7)));
        let hundred: Vec<i64> = (1..=100).rev().collect();
        assert_eq!((of(&hundred, 50), of(&hundred, 99), of(&hundred, 100)), (Some(50), Some(99), Some(100)));
        assert_eq!((of(&[1, 2, 3], 50), of(&[1, 2, 3], 99)), (Some(2), Some(3)));
    }
}
