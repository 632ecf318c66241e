//! Recurring deadlines on the way of an advance. After many of them, the advance leaps over those to come.

use super::fired::Fired;
use lockwheel_store::keyspace::KeyTimer;

/// The maximum number of recurring deadlines that an advance fires before it leaps. These are renewed leases of
/// connections, retried waiters of a fair queue, and the periodic work of sentinels and cluster nodes.
const MAX_RECURRENCES: u64 = 65_536;

/// A key of a database whose waiters were retried.
pub(super) type RetriedKey = (usize, Box<[u8]>);

/// The recurring deadlines of one advance.
#[derive(Debug, Default)]
pub(super) struct Recurrences {
    /// The number of recurrences since the last leap.
    count: u64,
    has_leapt: bool,
    /// The last key whose waiters were retried, until it is known whether one was served.
    retried: Option<RetriedKey>,
}

impl Recurrences {
    /// Records a deadline that is firing.
    pub(super) fn see(&mut self, fired: Fired<'_>) {
        match fired {
            Fired::Renewal(_) | Fired::Sentinel | Fired::Cluster => self.count += 1,
            Fired::KeyTimer { timer: KeyTimer::Retry, db, key, .. } => self.retried = Some((db, key.into())),
            _ => {}
        }
    }

    /// Counts more recurrences at one deadline.
    pub(super) fn add(&mut self, more: u64) {
        self.count += more;
    }

    /// Records that the last deadline has fired. Returns its key if no waiter of the key was served and the advance has
    /// leapt; the key is then retried only after the advance.
    pub(super) fn put_off(&mut self, has_served: bool) -> Option<RetriedKey> {
        let retried = self.retried.take().filter(|_| !has_served)?;
        self.count += 1;
        self.has_leapt.then_some(retried)
    }

    /// Whether there were enough recurrences for a leap. If so, the count starts again at zero.
    pub(super) fn take_leap(&mut self) -> bool {
        let leaps = self.count >= MAX_RECURRENCES;
        if leaps {
            self.count = 0;
            self.has_leapt = true;
        }
        leaps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RETRY: Fired<'_> = Fired::KeyTimer { timer: KeyTimer::Retry, db: 3, key: b"k", shown: b"k" };

    #[test]
    fn a_key_is_postponed_after_a_leap_that_served_nobody() {
        let mut recurrences = Recurrences::default();
        recurrences.see(RETRY);
        assert_eq!(recurrences.put_off(false), None);
        recurrences.add(MAX_RECURRENCES - 2);
        assert!(!recurrences.take_leap());
        recurrences.see(Fired::Renewal(1));
        assert!(recurrences.take_leap() && !recurrences.take_leap());
        recurrences.see(RETRY);
        assert_eq!(recurrences.put_off(true), None);
        recurrences.see(RETRY);
        assert_eq!(recurrences.put_off(false), Some((3, b"k"[..].into())));
        assert_eq!(recurrences.put_off(false), None);
    }
}
