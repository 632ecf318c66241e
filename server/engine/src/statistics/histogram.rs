//! The durations of the calls of a command: a histogram whose buckets are about a hundredth of their values wide.

use lockwheel_store::memory::block;

/// The number of buckets of each octave. The first octave has twice as many.
const HALF: usize = 128;
/// The greatest recorded duration, in nanoseconds. A longer call counts as this long.
const MAX_NS: u64 = 1_000_000_000;
const BUCKETS: usize = bucket_of(MAX_NS) + 1;

/// The numbers of calls of a command, by duration.
#[derive(Clone, Debug, Default)]
pub(crate) struct DurationHistogram {
    /// The counts of all buckets, allocated at the first call: the memory does not depend on durations.
    counts: Option<Box<[u64; BUCKETS]>>,
}

/// The bucket of `ns` nanoseconds. Each number up to 255 has its own bucket; each octave above has 128 buckets.
#[inline]
const fn bucket_of(ns: u64) -> usize {
    let octave = 56 - (ns | 255).leading_zeros() as usize;
    (octave << 7) + (ns >> octave) as usize
}

/// The lowest and the highest number of nanoseconds of a bucket.
fn bounds(bucket: usize) -> (u64, u64) {
    let octave = (bucket / HALF).saturating_sub(1);
    let low = ((bucket - octave * HALF) as u64) << octave;
    (low, low + (1 << octave) - 1)
}

impl DurationHistogram {
    /// Bytes of heap that a histogram takes from the first call on.
    pub(crate) const BYTES: usize = block(size_of::<[u64; BUCKETS]>());

    /// Records a call of `took_ns` nanoseconds. Returns false and records nothing at the first call and at a very long
    /// call, which [`DurationHistogram::record_any`] must record.
    #[inline]
    pub(crate) fn record(&mut self, took_ns: u64) -> bool {
        let count = self.counts.as_mut().and_then(|counts| counts.get_mut(bucket_of(took_ns)));
        count.map(|count| *count += 1).is_some()
    }

    /// Records any call. Returns the additional bytes of heap that the histogram takes from now on.
    pub(crate) fn record_any(&mut self, took_ns: u64) -> usize {
        let more = if self.counts.is_none() { Self::BYTES } else { 0 };
        let counts = self.counts.get_or_insert_with(|| Box::new([0; BUCKETS]));
        counts[bucket_of(took_ns.min(MAX_NS))] += 1;
        more
    }

    /// Removes a recorded call, which has not ended.
    pub(crate) fn take_back(&mut self, took_ns: u64) {
        if let Some(counts) = &mut self.counts {
            let count = &mut counts[bucket_of(took_ns.min(MAX_NS))];
            *count = count.saturating_sub(1);
        }
    }

    fn counts(&self) -> &[u64] {
        self.counts.as_ref().map_or(&[], |counts| &counts[..])
    }

    /// The number of recorded calls. O(buckets).
    pub(crate) fn calls(&self) -> u64 {
        self.counts().iter().sum()
    }

    /// The duration, in nanoseconds, that the given percentage of calls did not exceed: the upper end of a bucket, or 0
    /// without calls. O(buckets).
    pub(crate) fn percentile_ns(&self, percent: f64) -> u64 {
        let wanted = (percent.min(100.0) / 100.0 * self.calls() as f64 + 0.5) as u64;
        let mut below = 0;
        let found = self.counts().iter().position(|count| {
            below += count;
            below >= wanted.max(1)
        });
        let of_bucket = |bucket| if percent > 0.0 { bounds(bucket).1 } else { bounds(bucket).0 };
        found.map_or(0, |bucket| of_bucket(bucket).max(1))
    }

    /// The numbers of calls that took up to about 1.024, 2.048, 4.096 and so on microseconds, each behind its duration
    /// in whole microseconds. Of equal numbers only the first is returned. O(buckets).
    pub(crate) fn by_octave(&self) -> Vec<(u64, u64)> {
        const FIRST_NS: u64 = 1024;
        /// The end of the last octave that is recorded.
        const END_NS: u64 = 1 << 30;
        let mut octaves = Vec::new();
        let mut before = 0;
        let mut level_ns = FIRST_NS;
        while level_ns <= END_NS {
            let last = bucket_of(level_ns);
            let calls = self.counts().iter().take(last + 1).sum();
            if calls > before {
                octaves.push((bounds(last).1.min(END_NS - 1) / 1000, calls));
            }
            before = calls;
            level_ns *= 2;
        }
        octaves
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_duration_falls_within_the_bounds_of_its_bucket() {
        for power in 0..64 {
            for around in [-1, 0, 1] {
                let ns = (1_u64 << power).wrapping_add_signed(around);
                let (low, high) = bounds(bucket_of(ns));
                assert!((low..=high).contains(&ns), "{ns} is not in {low}..={high}");
                assert!(high - low <= ns / 128, "{ns} is in {low}..={high}");
            }
        }
        for bucket in 1..4000 {
            assert_eq!(bounds(bucket).0, bounds(bucket - 1).1 + 1);
        }
    }

    #[test]
    fn percentiles_are_upper_ends_of_buckets() {
        let mut histogram = DurationHistogram::default();
        assert_eq!((histogram.percentile_ns(50.0), histogram.calls()), (0, 0));
        for us in 1..=100 {
            histogram.record_any(us * 1000);
        }
        let at = |percent| histogram.percentile_ns(percent);
        assert_eq!([at(0.0), at(1.0), at(50.0), at(99.0)], [1000, 1003, 50_175, 99_327]);
        assert_eq!((at(100.0), at(1e9)), (100_351, 100_351));
    }

    #[test]
    fn octaves_count_all_up_to_them_and_none_twice() {
        let mut histogram = DurationHistogram::default();
        assert!(!histogram.record(0), "it takes no memory yet");
        let taken = [0, 1000, u64::MAX].map(|ns| histogram.record_any(ns));
        assert_eq!(taken, [DurationHistogram::BYTES, 0, 0]);
        assert!([2000, 20_000, 30_000, 600_000_000].into_iter().all(|ns| histogram.record(ns)));
        assert!(!histogram.record(1_200_000_000));
        histogram.record_any(1_200_000_000);
        assert_eq!(histogram.by_octave(), [(1, 2), (2, 3), (33, 5), (1_073_741, 8)]);
        histogram.take_back(2000);
        histogram.take_back(u64::MAX);
        assert_eq!((histogram.calls(), histogram.by_octave().len()), (6, 3));
    }
}
