//! The locks of a history: who holds and who waits, as far as the entries tell.

use super::super::history::{Cause, Entry, Event, Mode, Name, Ring};
use super::super::redisson::owner_of;
use std::collections::BTreeMap;

/// A hold.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hold {
    /// The entry of its grant, and its number.
    pub(super) seq: u64,
    grant: u64,
    pub(super) mode: Mode,
    /// The client that took it.
    pub(super) client: u64,
    /// What that calls itself.
    pub(super) client_name: Name,
    /// The lease, and when that runs out by the wall clock.
    pub(super) ttl_ms: Option<i64>,
    pub(super) deadline_ms: Option<i64>,
    /// It lasts as long as a connection, which renews the lease.
    pub(super) session: bool,
    /// The server that has set the lease last.
    place: usize,
}

impl Hold {
    /// Whether an end is that of a copy alone: its server had not heard of the lease that another one has set since.
    fn outlives(&self, ring: &Ring, seq: u64, entry: &Entry) -> bool {
        let is_later = self.deadline_ms.is_none_or(|deadline_ms| deadline_ms > ring.when(seq, entry).wall_ms);
        entry.cause == Cause::Expired && self.place != ring.place_number(seq) && is_later
    }
}

/// One who waits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub(super) seq: u64,
    pub(super) owner: Name,
    pub(super) client: u64,
    /// Whether it stands in a fair lock's queue.
    pub(super) is_fair: bool,
    pub(super) is_native: bool,
    /// Whether it may wait for other locks, too: it is served when all are free.
    pub(super) wants_several: bool,
    pub(super) since_ms: i64,
}

/// A lock.
#[derive(Debug, Default)]
pub(super) struct Lock {
    pub(super) holds: BTreeMap<Name, Hold>,
    pub(super) waiting: Vec<Waiting>,
    /// All grants so far.
    pub(super) grants: Vec<(u64, Name)>,
    /// How the last hold of an owner ended, until its next: the entry. By bare names: a writer's field has a suffix.
    pub(super) ends: BTreeMap<Box<[u8]>, (u64, Event)>,
    /// Since when it can be had, on the monotonic clock: after a `DELAY`, in the future.
    pub(super) free_since_ms: Option<i64>,
    /// When the last that wanted other locks, too, went away without it.
    pub(super) several_left_ms: Option<i64>,
}

impl Lock {
    /// The first grant to somebody else after an entry.
    pub(super) fn taken_by_another(&self, ring: &Ring, seq: u64, owner: Name) -> Option<(u64, Name)> {
        let after = self.grants.partition_point(|(grant, _)| *grant <= seq);
        self.grants[after..].iter().copied().find(|(_, other)| !is_same_owner(ring, *other, owner))
    }

    /// How the last hold of an owner ended, if it has none since: the entry.
    pub(super) fn end_of(&self, ring: &Ring, owner: Name) -> Option<(u64, Event)> {
        self.ends.get(owner_of(ring.text(owner))).copied()
    }
}

/// All locks, and the sections that clients have declared.
#[derive(Debug, Default)]
pub(super) struct Locks {
    pub(super) by_key: BTreeMap<Name, Lock>,
    /// The open sections of a key: the owner, and the entry.
    pub(super) sections: BTreeMap<Name, Vec<(Name, u64)>>,
    /// The holds that an exchange of databases takes along, by their grants, until they have arrived.
    moving: BTreeMap<u64, Hold>,
}

/// The locks at an entry.
#[derive(Clone, Copy, Debug)]
pub(super) struct View<'a> {
    pub(super) ring: &'a Ring,
    pub(super) locks: &'a Locks,
}

impl View<'_> {
    /// The lock of a key, if it has been seen.
    pub(super) fn lock(&self, key: Name) -> Option<&Lock> {
        self.locks.by_key.get(&key)
    }

    /// Whether two fields of a lock are one owner's: a writer's has a suffix.
    pub(super) fn is_same_owner(&self, one: Name, other: Name) -> bool {
        is_same_owner(self.ring, one, other)
    }
}

/// As [`View::is_same_owner`].
fn is_same_owner(ring: &Ring, one: Name, other: Name) -> bool {
    one == other || owner_of(ring.text(one)) == owner_of(ring.text(other))
}

impl Locks {
    /// Takes an entry in.
    pub(super) fn take_in(&mut self, ring: &Ring, seq: u64, entry: &Entry) {
        match entry.event {
            Event::Entered => self.sections.entry(entry.key).or_default().push((entry.owner, seq)),
            Event::Left => {
                let open = self.sections.entry(entry.key).or_default();
                if let Some(at) = open.iter().rposition(|(owner, _)| *owner == entry.owner) {
                    open.remove(at);
                }
            }
            Event::Acquired
            | Event::Reentered
            | Event::Renewed
            | Event::Released
            | Event::Lost
            | Event::Converted
            | Event::Transferred
            | Event::Permits
            | Event::Queued
            | Event::LeftQueue => {
                let lock = self.by_key.entry(entry.key).or_default();
                let leaving = lock.holds.get(&entry.owner).copied();
                lock.take_in(ring, seq, entry);
                if matches!(entry.cause, Cause::Swapped | Cause::Migrated) {
                    self.moved(entry, leaving);
                }
            }
            _ => {}
        }
    }

    /// A hold that goes along when databases are exchanged is of the client that took it.
    fn moved(&mut self, entry: &Entry, leaving: Option<Hold>) {
        if let (Event::Lost, Some(hold)) = (entry.event, leaving) {
            self.moving.insert(entry.grant, hold);
        } else if entry.event == Event::Acquired
            && let Some(before) = self.moving.remove(&entry.grant)
            && let Some(hold) =
                self.by_key.get_mut(&entry.key).and_then(|lock| lock.holds.get_mut(&entry.owner))
        {
            (hold.client, hold.client_name) = (before.client, before.client_name);
        }
    }
}

/// Whether an entry is of a request for several locks at once.
fn wants_several(ring: &Ring, entry: &Entry) -> bool {
    ring.text(entry.by) == b"lock.macquire"
}

impl Lock {
    fn take_in(&mut self, ring: &Ring, seq: u64, entry: &Entry) {
        let owner = entry.owner;
        match entry.event {
            Event::Acquired => {
                self.grants.push((seq, owner));
                self.ends.remove(owner_of(ring.text(owner)));
                self.served(ring, entry);
                self.free_since_ms = None;
                let (grant, mode, client) = (entry.grant, entry.mode, entry.client);
                let client_name = entry.client_name;
                let (ttl_ms, deadline_ms, session) = (None, None, false);
                let place = ring.place_number(seq);
                let hold =
                    Hold { seq, grant, mode, client, client_name, ttl_ms, deadline_ms, session, place };
                self.holds.insert(owner, hold);
                self.lease(ring, seq, entry);
            }
            Event::Permits if entry.cause == Cause::Acquire => self.served(ring, entry),
            Event::Reentered => {
                // One owner may wait by several requests: the first takes it, the others re-enter.
                self.served(ring, entry);
                self.lease(ring, seq, entry);
            }
            Event::Renewed => self.lease(ring, seq, entry),
            Event::Released if entry.holds > 0 => self.lease(ring, seq, entry),
            Event::Converted => {
                self.served(ring, entry);
                // The same grant, in another field.
                let before = self.holds.iter().find(|(_, hold)| hold.grant == entry.grant);
                if let Some((&field, &hold)) = before {
                    self.holds.remove(&field);
                    self.holds.insert(owner, Hold { mode: entry.mode, ..hold });
                }
            }
            // It has arrived before it left, by another grant there.
            Event::Lost
                if entry.cause == Cause::Migrated
                    && self.holds.get(&owner).is_some_and(|hold| hold.grant != entry.grant) => {}
            Event::Lost if self.holds.get(&owner).is_some_and(|hold| hold.outlives(ring, seq, entry)) => {}
            Event::Released | Event::Lost | Event::Transferred => {
                self.holds.remove(&owner);
                self.ends.insert(owner_of(ring.text(owner)).into(), (seq, entry.event));
                if self.holds.is_empty() {
                    let delay_ms = entry.ttl().filter(|_| entry.event == Event::Lost).unwrap_or(0);
                    self.free_since_ms = Some(ring.when(seq, entry).monotonic_ms.saturating_add(delay_ms));
                }
            }
            Event::Queued => {
                let (client, since_ms, is_fair) =
                    (entry.client, ring.when(seq, entry).monotonic_ms, entry.mode == Mode::Fair);
                let is_native = entry.native() == Some(true);
                let wants_several = wants_several(ring, entry);
                self.waiting.push(Waiting {
                    seq,
                    owner,
                    client,
                    is_fair,
                    is_native,
                    wants_several,
                    since_ms,
                });
            }
            Event::LeftQueue => self.left(ring, seq, entry),
            _ => {}
        }
    }

    /// Somebody waits no longer.
    fn left(&mut self, ring: &Ring, seq: u64, entry: &Entry) {
        let (owner, is_fair) = (entry.owner, entry.mode == Mode::Fair);
        let is = |waiting: &Waiting| {
            waiting.is_fair == is_fair
                && waiting.owner == owner
                && (is_fair || waiting.client == entry.client)
        };
        // Of a connection that waits by two requests the one for this lock alone is taken to leave first.
        let place =
            |wants_several| self.waiting.iter().position(|one| is(one) && one.wants_several == wants_several);
        if let Some(at) = place(false).or_else(|| place(true))
            && self.waiting.remove(at).wants_several
        {
            self.several_left_ms = Some(ring.when(seq, entry).monotonic_ms);
        }
        // One whose place in the queue was there before it waited has left both at once.
        if is_fair && entry.native() == Some(true) {
            let is_wait = |one: &Waiting| {
                let is_its = (one.owner, one.client) == (owner, entry.client);
                is_its && one.is_native && !one.is_fair && !one.wants_several
            };
            self.waiting.retain(|waiting| !is_wait(waiting));
        }
    }

    /// Who has got what it waited for waits no longer; in a fair queue others see to that.
    fn served(&mut self, ring: &Ring, entry: &Entry) {
        // Who waits to write has another field then.
        let is_same = |waiting: Name| is_same_owner(ring, waiting, entry.owner);
        let is_that = |one: &Waiting| one.wants_several == wants_several(ring, entry) && is_same(one.owner);
        let is_served = |one: &Waiting| !one.is_fair && one.client == entry.client && is_that(one);
        self.waiting.retain(|waiting| !is_served(waiting));
    }

    fn lease(&mut self, ring: &Ring, seq: u64, entry: &Entry) {
        if let Some(hold) = self.holds.get_mut(&entry.owner)
            && (entry.ttl().is_some() || entry.event != Event::Released)
        {
            (hold.ttl_ms, hold.place) = (entry.ttl(), ring.place_number(seq));
            hold.deadline_ms = entry.ttl().map(|ttl_ms| ring.when(seq, entry).wall_ms.saturating_add(ttl_ms));
        }
        let hold = self.holds.get_mut(&entry.owner);
        if let Some(hold) =
            hold.filter(|_| entry.event != Event::Released || entry.cause == Cause::Disconnected)
        {
            hold.session = entry.is_of_session();
        }
    }
}
