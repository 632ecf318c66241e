//! Deadlines that recur for ever on an advance's way. After many of them the advance leaps over those to come.

use super::fired::Fired;
use lockwheel_store::keyspace::KeyTimer;

/// The number of recurring deadlines that an advance fires one after the other: renewed leases of connections, places
/// in a fair queue that are kept, looks of a sentinel or of a cluster's node.
const MAX_RECURRENCES: u64 = 65_536;

/// A key of a database whose waiters were retried.
pub(super) type RetriedKey = (usize, Box<[u8]>);

/// The recurring deadlines of one advance.
#[derive(Debug, Default)]
pub(super) struct Recurrences {
    /// Number of them since the last leap.
    count: u64,
    /// Whether the advance has leapt.
    has_leapt: bool,
    /// The key whose waiters were retried last, until it is known whether one was served.
    retried: Option<RetriedKey>,
}

impl Recurrences {
    /// Something is firing.
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

    /// The deadline that was seen last has fired. Returns its key if no waiter of it was served, and it is to be
    /// retried only after the advance, which has leapt.
    pub(super) fn put_off(&mut self, has_served: bool) -> Option<RetriedKey> {
        let retried = self.retried.take().filter(|_| !has_served)?;
        self.count += 1;
        self.has_leapt.then_some(retried)
    }

    /// Whether there were so many that the advance leaps over those to come; then they are counted anew.
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
    fn a_key_is_put_off_once_the_advance_has_leapt_and_nobody_was_served() {
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
