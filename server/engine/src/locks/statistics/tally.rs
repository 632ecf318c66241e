//! The use of locks, as a history shows it.

use super::super::history::{Cause, Entry, Event, Mode, Name, Ring};
use super::super::verify::Owners;
use super::percentiles::Durations;
use lockwheel_store::memory::map_heap_bytes;
use std::collections::BTreeMap;

/// An owner of a lock: the lock, and the field by which the owner was seen first.
type Owner = (Name, Name);

/// A wait: the owner, and for a native wait the client with its ticket.
type Wait = (Owner, Option<(u64, Option<i64>)>);

/// The use of locks.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) holds: u64,
    pub(super) waits: u64,
    /// Waits that have ended with the lock or the permits.
    pub(super) hand_offs: u64,
    /// Waits that have ended by their timeout.
    pub(super) timeouts: u64,
    /// Requests that acted on locks, or were refused.
    pub(super) commands: u64,
    pub(super) wait_ms: Durations,
    pub(super) hold_ms: Durations,
}

/// A tally while it is counted from a history.
#[derive(Debug, Default)]
pub(super) struct Count {
    pub(super) tally: Tally,
    owners: Owners,
    /// The start of each wait, in milliseconds of the monotonic clock.
    waiting: BTreeMap<Wait, i64>,
    /// The start of the hold of each grant, in the same unit.
    held: BTreeMap<u64, i64>,
    /// The time of the entry that is being counted.
    now_ms: i64,
}

impl Tally {
    /// Returns the number of requests for each wait that has ended with the lock.
    pub(super) fn commands_per_hand_off(&self) -> Option<f64> {
        (self.hand_offs > 0).then(|| self.commands as f64 / self.hand_offs as f64)
    }
}

impl Count {
    /// Returns the bytes of the count. O(1).
    pub(super) fn memory(&self) -> usize {
        let durations = self.tally.wait_ms.memory() + self.tally.hold_ms.memory();
        self.owners.memory() + map_heap_bytes(&self.waiting) + map_heap_bytes(&self.held) + durations
    }

    /// Counts an entry. O(log n).
    pub(super) fn take_in(&mut self, ring: &Ring, seq: u64, entry: &Entry) {
        if ring.text(entry.key).is_empty() {
            return;
        }
        self.now_ms = ring.when(seq, entry).monotonic_ms;
        self.owners.note(ring, entry.owner);
        let owner = (entry.key, self.owners.first_field(entry.owner));
        let is_native = entry.native() == Some(true);
        match entry.event {
            // A hold continues in another database.
            Event::Acquired | Event::Lost if matches!(entry.cause, Cause::Swapped | Cause::Migrated) => {}
            Event::Acquired => self.acquired(owner, entry),
            Event::Queued if is_native => self.wait((owner, of_client(entry))),
            // A foreign client that is refused asks again when it is notified, or when it likes.
            Event::Refused if !is_native => self.wait((owner, None)),
            Event::LeftQueue if is_native => self.left((owner, of_client(entry)), entry),
            Event::Released if entry.holds > 0 => self.tally.commands += 1,
            Event::Released | Event::Lost | Event::Transferred => self.ended(entry),
            // The server has renewed a lease for a connection that lives.
            Event::Renewed if entry.client == 0 => {}
            Event::Reentered => self.answered((owner, of_client(entry))),
            Event::Permits if entry.client != 0 => self.permits(owner, entry),
            Event::Renewed | Event::Converted | Event::Refused => self.tally.commands += 1,
            Event::ReleaseRefused | Event::RenewalRefused => self.tally.commands += 1,
            // The client subscribes to a channel, or unsubscribes.
            Event::Queued | Event::LeftQueue => self.tally.commands += 1,
            _ => {}
        }
    }

    fn wait(&mut self, wait: Wait) {
        self.tally.commands += 1;
        if let std::collections::btree_map::Entry::Vacant(new) = self.waiting.entry(wait) {
            new.insert(self.now_ms);
            self.tally.waits += 1;
        }
    }

    /// Ends a native wait. If the wait has ended with the lock, the entry of the lock counts it, too.
    fn left(&mut self, wait: Wait, entry: &Entry) {
        match entry.cause {
            Cause::Served if entry.mode == Mode::Fair => {}
            Cause::Served => drop(self.served(wait)),
            cause => {
                let was_waiting = self.waiting.remove(&wait).is_some();
                self.tally.timeouts += u64::from(was_waiting && cause == Cause::Timeout);
            }
        }
    }

    /// Ends a wait with the lock or the permits. Returns whether there was a wait.
    fn served(&mut self, wait: Wait) -> bool {
        let Some(since_ms) = self.waiting.remove(&wait) else { return false };
        self.tally.hand_offs += 1;
        self.tally.wait_ms.add(self.now_ms - since_ms);
        true
    }

    /// Counts a request that has got what it asked for. A request that has waited natively was counted when it came.
    fn answered(&mut self, wait: Wait) {
        let has_waited = self.served(wait);
        self.tally.commands += u64::from(!has_waited);
    }

    fn acquired(&mut self, owner: Owner, entry: &Entry) {
        self.tally.holds += 1;
        self.held.insert(entry.grant, self.now_ms);
        let wait = (owner, of_client(entry));
        if !self.waiting.contains_key(&wait) {
            self.served((owner, None));
        }
        self.answered(wait);
    }

    fn permits(&mut self, owner: Owner, entry: &Entry) {
        match entry.cause {
            Cause::Acquire => self.answered((owner, of_client(entry))),
            Cause::Release | Cause::Init | Cause::Adjust | Cause::Drain => self.tally.commands += 1,
            // An entry for the end of a semaphore is no request for permits.
            _ => {}
        }
    }

    fn ended(&mut self, entry: &Entry) {
        if let Some(since_ms) = self.held.remove(&entry.grant) {
            self.tally.hold_ms.add(self.now_ms - since_ms);
        }
        self.tally.commands += u64::from(entry.event == Event::Released);
    }
}

/// Returns the client of a native wait, and its ticket.
fn of_client(entry: &Entry) -> Option<(u64, Option<i64>)> {
    Some((entry.client, entry.ticket()))
}
