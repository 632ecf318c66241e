//! The times of a ring's entries. Wall and monotonic clocks mostly advance together. A stretch of entries stores both
//! times at its beginning, and an entry stores only its offset.

use lockwheel_store::memory::block;
use lockwheel_store::time::Now;
use std::collections::VecDeque;

/// The number of bits of an entry's offset in milliseconds from the beginning of its stretch: twelve days.
const SINCE_BITS: u32 = 30;
/// The bits of the change in distance between both clocks, which rounding to milliseconds seems to cause.
const APART_BITS: u32 = 2;

/// The inverse of the growth of a full list of stretches: it grows by an eighth.
const ROOM: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::locks) struct When {
    pub(in crate::locks) wall_ms: i64,
    pub(in crate::locks) monotonic_ms: i64,
}

impl From<Now> for When {
    fn from(now: Now) -> Self {
        When { wall_ms: now.wall_ms(), monotonic_ms: now.monotonic_ms() }
    }
}

/// The time of an event, relative to the beginning of a stretch.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::locks) struct Since(u32);

/// Entries whose times are relative to one beginning.
#[derive(Clone, Debug)]
struct Stretch {
    first: u64,
    monotonic_ms: i64,
    /// The least distance in milliseconds by which the wall clock is ahead of the monotonic clock.
    apart_ms: i64,
}

impl Stretch {
    fn new(first: u64, when: When) -> Self {
        let apart_ms = when.wall_ms.wrapping_sub(when.monotonic_ms).wrapping_sub(1);
        Stretch { first, monotonic_ms: when.monotonic_ms, apart_ms }
    }

    /// Returns a time relative to this stretch, if it fits.
    #[inline]
    fn since(&self, when: When) -> Option<Since> {
        let since = when.monotonic_ms.wrapping_sub(self.monotonic_ms).cast_unsigned();
        let apart_ms = when.wall_ms.wrapping_sub(when.monotonic_ms);
        let apart = apart_ms.wrapping_sub(self.apart_ms).cast_unsigned();
        let fits = since >> SINCE_BITS == 0 && apart >> APART_BITS == 0;
        fits.then_some(Since((since << APART_BITS | apart) as u32))
    }

    fn when(&self, since: Since) -> When {
        let apart_ms = self.apart_ms.wrapping_add(i64::from(since.0 & ((1 << APART_BITS) - 1)));
        let monotonic_ms = self.monotonic_ms.wrapping_add(i64::from(since.0 >> APART_BITS));
        When { wall_ms: monotonic_ms.wrapping_add(apart_ms), monotonic_ms }
    }
}

/// The stretches of a ring, in order.
#[derive(Clone, Debug, Default)]
pub(super) struct Times(VecDeque<Stretch>);

impl Times {
    /// Records the time of the entry of this number, which must be the last. O(1).
    #[inline]
    pub(super) fn note(&mut self, seq: u64, when: When) -> Since {
        match self.0.back().and_then(|last| last.since(when)) {
            Some(since) => since,
            None => self.begin(seq, when),
        }
    }

    #[cold]
    #[inline(never)]
    fn begin(&mut self, seq: u64, when: When) -> Since {
        // An entry whose time has changed was the only one in its stretch.
        if self.0.back().is_some_and(|last| last.first == seq) {
            self.0.pop_back();
        }
        let stretch = Stretch::new(seq, when);
        let since = stretch.since(when).unwrap_or_default();
        // The capacity does not double: if clocks are moved all the time, there is a stretch for each entry.
        if self.0.len() == self.0.capacity() {
            self.0.reserve_exact(self.0.len() / ROOM + 1);
        }
        self.0.push_back(stretch);
        since
    }

    /// Returns the time of an entry. O(log n), n the stretches.
    pub(super) fn when(&self, seq: u64, since: Since) -> Option<When> {
        let behind = self.0.partition_point(|stretch| stretch.first <= seq);
        Some(self.0.get(behind.checked_sub(1)?)?.when(since))
    }

    /// Removes the stretches of entries before this one. O(1) for each removed stretch.
    #[inline]
    pub(super) fn forget_before(&mut self, seq: u64) {
        while self.0.get(1).is_some_and(|next| next.first <= seq) {
            self.0.pop_front();
        }
    }

    /// Returns the memory in bytes. O(1).
    pub(super) fn memory(&self) -> usize {
        block(self.0.capacity() * size_of::<Stretch>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn time() -> impl Strategy<Value = i64> {
        prop_oneof![any::<i64>(), 0..5_i64, (1 << SINCE_BITS) - 2..=(1 << SINCE_BITS) + 2_i64, Just(i64::MIN)]
    }

    proptest! {
        #[test]
        fn times_are_decoded_as_recorded(
            steps in prop::collection::vec((time(), prop_oneof![-3..3_i64, time()]), 1..50),
            gone in 0..50_u64,
        ) {
            let (mut times, mut noted) = (Times::default(), Vec::new());
            let mut when = When { wall_ms: 1_700_000_000_000, monotonic_ms: 0 };
            for (seq, (passed, changed)) in (1..).zip(steps) {
                when.monotonic_ms = when.monotonic_ms.wrapping_add(passed);
                when.wall_ms = when.wall_ms.wrapping_add(passed).wrapping_add(changed);
                noted.push((seq, when, times.note(seq, when)));
            }
            times.forget_before(gone);
            for (seq, when, since) in noted.into_iter().filter(|(seq, ..)| *seq >= gone) {
                prop_assert_eq!(times.when(seq, since), Some(when));
            }
        }
    }

    #[test]
    fn repeated_times_of_an_entry_are_stored_once() {
        let mut times = Times::default();
        for turned in 0..1000 {
            times.note(1, When { wall_ms: turned * 10, monotonic_ms: 0 });
        }
        assert_eq!(times.0.len(), 1);
    }

    #[test]
    fn a_steadily_running_clock_takes_one_stretch() {
        let mut times = Times::default();
        for seq in 0..10_000_u64 {
            let us = seq as i64 * 777;
            let when = When { wall_ms: (us + 1_700_000_000_000_999) / 1000, monotonic_ms: us / 1000 };
            times.note(seq, when);
        }
        assert_eq!(times.0.len(), 1);
        // One of the clocks is moved, and time passes.
        times.note(10_000, When { wall_ms: 0, monotonic_ms: 7_770 });
        times.note(10_001, When { wall_ms: 5, monotonic_ms: 7_775 });
        assert_eq!(times.0.len(), 2);
        times.forget_before(10_000);
        assert_eq!(times.0.len(), 1);
    }
}
