//! What is known of the limits of memory between requests.

/// What is known of limits of memory.
#[derive(Debug, Default)]
pub(crate) struct Limits {
    /// Whether there are more bytes than `maxmemory`, and no key may go: as the last request that was held against it
    /// has found. A script that it runs goes by that too.
    pub(super) out_of_memory: bool,
    /// Whether keys go before the next batches, because there are too many to evict at once.
    pub(super) evicts: bool,
    /// Clients that were disconnected for what they take, whose connections may not have given it back yet.
    pub(super) leaving: Vec<u64>,
    /// What clients were told of keys that were evicted.
    pub(super) told: Option<Told>,
}

/// Messages about evicted keys that clients have not taken. They make no other key go while they are on their way: a
/// key whose eviction takes more memory than it frees would else be followed by all others.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told {
    /// What clients took before.
    before: usize,
    /// What the messages took.
    bytes: usize,
    until_us: u64,
}

impl Told {
    /// How long messages are on their way at the longest, in real microseconds.
    const LONGEST_US: u64 = 100_000;

    /// Of these bytes that clients take now, those that do not count.
    fn on_the_way(self, taken: usize, now_us: u64) -> usize {
        if now_us < self.until_us { taken.saturating_sub(self.before).min(self.bytes) } else { 0 }
    }
}

impl Limits {
    /// Clients have been told of keys that went: they took `before` bytes, and take `after` now.
    pub(super) fn told(&mut self, before: usize, after: usize, now_us: u64) {
        let bytes = after.saturating_sub(before);
        match &mut self.told {
            Some(told) if now_us < told.until_us => told.bytes += bytes,
            _ if bytes == 0 => self.told = None,
            told => *told = Some(Told { before, bytes, until_us: now_us.saturating_add(Told::LONGEST_US) }),
        }
    }

    /// Of these bytes that clients take, those of messages about keys that went which they may be about to take.
    pub(super) fn on_the_way(&self, taken: usize, now_us: u64) -> usize {
        self.told.map_or(0, |told| told.on_the_way(taken, now_us))
    }

    /// Whether keys go before the next batches.
    #[inline]
    pub(super) fn evicts(&self) -> bool {
        self.evicts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_do_not_count_until_they_are_taken_or_old() {
        let mut limits = Limits::default();
        limits.told(1000, 1000, 0);
        assert_eq!(limits.on_the_way(5000, 0), 0);
        limits.told(1000, 1300, 5);
        assert_eq!([1300, 1100, 900, 9000].map(|taken| limits.on_the_way(taken, 6)), [300, 100, 0, 300]);
        limits.told(1300, 1400, 50);
        assert_eq!(limits.on_the_way(1400, 60), 400);
        assert_eq!(limits.on_the_way(1400, 5 + Told::LONGEST_US), 0);
        limits.told(1400, 1500, 6 + Told::LONGEST_US);
        assert_eq!(limits.on_the_way(1500, 7 + Told::LONGEST_US), 100);
    }
}
