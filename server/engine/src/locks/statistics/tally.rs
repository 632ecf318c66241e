//! What a history says of how locks were used.

use super::super::history::{Cause, Entry, Event, Filter, Ring};
use super::super::redisson::owner_of;
use super::percentiles::Durations;
use std::collections::BTreeMap;

/// An owner of a lock, by the names of the lock's database and both.
type Owner<'r> = (Option<usize>, &'r [u8], &'r [u8]);

/// How locks were used.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// Holds that have begun.
    pub(super) holds: u64,
    /// Waits that have begun.
    pub(super) waits: u64,
    /// Waits that have ended with the lock.
    pub(super) hand_offs: u64,
    /// Waits that have ended with their time.
    pub(super) timeouts: u64,
    /// Requests that acted on locks, or were refused.
    pub(super) commands: u64,
    pub(super) wait_ms: Durations,
    pub(super) hold_ms: Durations,
}

/// A tally on its way through a history.
#[derive(Default)]
struct Count<'r> {
    tally: Tally,
    /// Since when owners wait, and whether their request is still to be answered.
    waiting: BTreeMap<Owner<'r>, (i64, bool)>,
    /// Since when grants are held.
    held: BTreeMap<u64, i64>,
}

impl Tally {
    /// Of the entries that a filter wants. O(n log n), n the entries.
    pub(super) fn of(ring: &Ring, filter: &Filter) -> Self {
        let mut count = Count::default();
        for (_, entry) in filter.of(ring).filter(|(_, entry)| !ring.text(entry.key).is_empty()) {
            count.entry(ring, entry);
        }
        count.tally
    }

    /// Requests for each wait that has ended with the lock.
    pub(super) fn commands_per_hand_off(&self) -> Option<f64> {
        (self.hand_offs > 0).then(|| self.commands as f64 / self.hand_offs as f64)
    }
}

impl<'r> Count<'r> {
    fn entry(&mut self, ring: &'r Ring, entry: &Entry) {
        let owner = (ring.db(entry.key), ring.text(entry.key), owner_of(ring.text(entry.owner)));
        let is_native = entry.native == Some(true);
        match entry.event {
            // A hold goes on in another database.
            Event::Acquired | Event::Lost if matches!(entry.cause, Cause::Swapped | Cause::Migrated) => {}
            Event::Acquired => self.acquired(owner, entry),
            Event::Queued if is_native => self.wait(owner, entry, true),
            // A foreign client that is refused comes back when it is told to, or when it likes.
            Event::Refused if !is_native => self.wait(owner, entry, false),
            Event::LeftQueue if is_native => self.left(owner, entry.cause),
            Event::Released if entry.holds > 0 => self.tally.commands += 1,
            Event::Released | Event::Lost | Event::Transferred => self.ended(entry),
            // The server has renewed a lease for a connection that lives.
            Event::Renewed if entry.client == 0 => {}
            Event::Reentered | Event::Renewed | Event::Converted | Event::Refused => self.tally.commands += 1,
            Event::ReleaseRefused | Event::RenewalRefused => self.tally.commands += 1,
            // To subscribe, and to stop that.
            Event::Queued | Event::LeftQueue => self.tally.commands += 1,
            _ => {}
        }
    }

    fn wait(&mut self, owner: Owner<'r>, entry: &Entry, is_open: bool) {
        self.tally.commands += 1;
        let since = (entry.monotonic_ms, is_open);
        if let std::collections::btree_map::Entry::Vacant(new) = self.waiting.entry(owner) {
            new.insert(since);
            self.tally.waits += 1;
        }
    }

    fn left(&mut self, owner: Owner<'r>, cause: Cause) {
        if self.waiting.remove(&owner).is_some() && cause == Cause::Timeout {
            self.tally.timeouts += 1;
        }
    }

    fn acquired(&mut self, owner: Owner<'r>, entry: &Entry) {
        self.tally.holds += 1;
        self.held.insert(entry.grant, entry.monotonic_ms);
        let waited = self.waiting.remove(&owner);
        if let Some((since_ms, _)) = waited {
            self.tally.hand_offs += 1;
            self.tally.wait_ms.add(entry.monotonic_ms - since_ms);
        }
        // One that has waited is answered now, and was counted when it came.
        let is_answer = waited.is_some_and(|(_, is_open)| is_open);
        self.tally.commands += u64::from(!is_answer);
    }

    fn ended(&mut self, entry: &Entry) {
        if let Some(since_ms) = self.held.remove(&entry.grant) {
            self.tally.hold_ms.add(entry.monotonic_ms - since_ms);
        }
        self.tally.commands += u64::from(entry.event == Event::Released);
    }
}
