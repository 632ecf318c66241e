//! The locks of a history: their holders and waiters, as the entries record them.

use super::super::history::{Cause, Entry, Event, Mode, Name, Ring};
use super::holds::{Hold, Holds};
use super::line::{Line, Waiting};
use super::owners::Owners;
use super::sections::OpenSections;
use lockwheel_store::memory::{map_heap_bytes, set_heap_bytes, vec_heap_bytes};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Default)]
pub(super) struct Lock {
    pub(super) holds: Holds,
    pub(super) waiting: Line,
    /// All grants so far.
    grants: Vec<(u64, Name)>,
    /// The entry and event that ended each owner's last hold, until its next one, by the owner's first field.
    ends: BTreeMap<Name, (u64, Event)>,
    pub(super) last_end: Option<u64>,
    /// When the lock can be granted, on the monotonic clock: after a `DELAY` in the future.
    pub(super) free_since_ms: Option<i64>,
    /// The time at which the last waiter for several locks left without this lock.
    pub(super) several_left_ms: Option<i64>,
}

impl Lock {
    /// Returns the owned memory in bytes. O(1).
    fn memory(&self) -> usize {
        self.holds.memory()
            + self.waiting.memory()
            + vec_heap_bytes(&self.grants)
            + map_heap_bytes(&self.ends)
    }

    /// Returns the first grant to another owner after an entry.
    pub(super) fn taken_by_another(&self, owners: &Owners, seq: u64, owner: Name) -> Option<(u64, Name)> {
        let after = self.grants.partition_point(|(grant, _)| *grant <= seq);
        self.grants[after..].iter().copied().find(|(_, other)| !owners.is_same(*other, owner))
    }

    /// Returns the entry and event that ended the last hold of an owner, if the owner has no hold since.
    pub(super) fn end_of(&self, owners: &Owners, owner: Name) -> Option<(u64, Event)> {
        self.ends.get(&owners.first_field(owner)).copied()
    }
}

/// All locks, and the sections that clients have declared.
#[derive(Debug, Default)]
pub(super) struct Locks {
    pub(super) owners: Owners,
    pub(super) by_key: BTreeMap<Name, Lock>,
    /// The first fields of owners with the locks that they hold.
    held: BTreeSet<(Name, Name)>,
    pub(super) sections: BTreeMap<Name, OpenSections>,
    /// The holds that move to another database or server, by their grants, until they have arrived.
    moving: BTreeMap<u64, Hold>,
    owned_bytes: usize,
}

/// The state of the locks at an entry.
#[derive(Clone, Copy, Debug)]
pub(super) struct View<'a> {
    pub(super) ring: &'a Ring,
    pub(super) locks: &'a Locks,
}

impl View<'_> {
    pub(super) fn lock(&self, key: Name) -> Option<&Lock> {
        self.locks.by_key.get(&key)
    }

    /// Whether two fields of a lock belong to one owner. The field of a writer has a suffix.
    pub(super) fn is_same_owner(&self, one: Name, other: Name) -> bool {
        self.locks.owners.is_same(one, other)
    }
}

impl Locks {
    /// Returns the approximate memory in bytes. O(1).
    pub(super) fn memory(&self) -> usize {
        let maps =
            map_heap_bytes(&self.by_key) + map_heap_bytes(&self.sections) + map_heap_bytes(&self.moving);
        self.owners.memory() + maps + set_heap_bytes(&self.held) + self.owned_bytes
    }

    /// Updates the state of the locks by an entry.
    pub(super) fn take_in(&mut self, ring: &Ring, seq: u64, entry: &Entry) {
        match entry.event {
            Event::Left if !self.sections.contains_key(&entry.key) => {}
            Event::Entered | Event::Left => {
                let open = self.sections.entry(entry.key).or_default();
                let before = open.memory();
                match entry.event {
                    Event::Entered => open.enter(entry.owner, seq),
                    _ => open.leave(entry.owner),
                }
                self.owned_bytes = self.owned_bytes + open.memory() - before;
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
                let leaving = lock.holds.get(entry.owner).copied();
                let before = lock.memory();
                lock.take_in(ring, &self.owners, seq, entry);
                self.owned_bytes = self.owned_bytes + lock.memory() - before;
                let held = (self.owners.first_field(entry.owner), entry.key);
                match self.owners.fields_of(entry.owner).any(|field| lock.holds.contains(field)) {
                    true => self.held.insert(held),
                    false => self.held.remove(&held),
                };
                if matches!(entry.cause, Cause::Swapped | Cause::Migrated) {
                    self.moved(entry, leaving);
                }
            }
            _ => {}
        }
    }

    /// Returns the locks that an owner holds. O(log n) for the first.
    pub(super) fn held_by(&self, owner: Name) -> impl Iterator<Item = Name> {
        let owner = self.owners.first_field(owner);
        self.held.range((owner, Name::NONE)..).take_while(move |(of, _)| *of == owner).map(|(_, key)| *key)
    }

    /// Keeps the client of a hold that moves: the client that took the lock.
    fn moved(&mut self, entry: &Entry, leaving: Option<Hold>) {
        if let (Event::Lost, Some(hold)) = (entry.event, leaving) {
            self.moving.insert(entry.grant, hold);
        } else if entry.event == Event::Acquired
            && let Some(before) = self.moving.remove(&entry.grant)
            && let Some(lock) = self.by_key.get_mut(&entry.key)
        {
            lock.holds.change(entry.owner, |hold| {
                (hold.client, hold.client_name) = (before.client, before.client_name);
            });
        }
    }
}

pub(super) fn wants_several(ring: &Ring, entry: &Entry) -> bool {
    ring.text(entry.by) == b"lock.macquire"
}

impl Lock {
    fn take_in(&mut self, ring: &Ring, owners: &Owners, seq: u64, entry: &Entry) {
        let owner = entry.owner;
        match entry.event {
            Event::Acquired => {
                self.grants.push((seq, owner));
                self.ends.remove(&owners.first_field(owner));
                self.served(ring, owners, entry);
                self.free_since_ms = None;
                self.granted(ring, seq, entry);
                self.lease(ring, seq, entry);
            }
            Event::Permits if entry.cause == Cause::Acquire => self.served(ring, owners, entry),
            Event::Reentered => {
                // One owner may wait with several requests: the first takes the lock, the others re-enter it.
                self.served(ring, owners, entry);
                self.lease(ring, seq, entry);
            }
            Event::Renewed => self.lease(ring, seq, entry),
            Event::Released if entry.holds > 0 => self.lease(ring, seq, entry),
            Event::Converted => {
                self.served(ring, owners, entry);
                // The grant stays, but its field changes.
                if let Some(hold) =
                    self.holds.of_grant(entry.grant).and_then(|field| self.holds.remove(field))
                {
                    self.holds.insert(owner, Hold { mode: entry.mode, ..hold });
                }
            }
            // The hold has arrived elsewhere, with another grant, before it left here.
            Event::Lost
                if entry.cause == Cause::Migrated
                    && self.holds.get(owner).is_some_and(|hold| hold.grant != entry.grant) => {}
            Event::Lost if self.holds.get(owner).is_some_and(|hold| hold.outlives(ring, seq, entry)) => {}
            Event::Released | Event::Lost | Event::Transferred => {
                self.holds.remove(owner);
                self.ends.insert(owners.first_field(owner), (seq, entry.event));
                self.last_end = Some(seq);
                if self.holds.is_empty() {
                    let delay_ms = entry.ttl().filter(|_| entry.event == Event::Lost).unwrap_or(0);
                    self.free_since_ms = Some(ring.when(seq, entry).monotonic_ms.saturating_add(delay_ms));
                }
            }
            Event::Queued => self.queued(ring, seq, entry),
            Event::LeftQueue => self.left(ring, seq, entry),
            _ => {}
        }
    }

    fn granted(&mut self, ring: &Ring, seq: u64, entry: &Entry) {
        let place = ring.place_number(seq);
        let hold = Hold {
            seq,
            grant: entry.grant,
            mode: entry.mode,
            granted_at: place,
            client: entry.client,
            client_name: entry.client_name,
            ttl_ms: None,
            deadline_ms: None,
            session: false,
            place,
        };
        self.holds.insert(entry.owner, hold);
    }

    fn queued(&mut self, ring: &Ring, seq: u64, entry: &Entry) {
        self.waiting.push(Waiting {
            seq,
            owner: entry.owner,
            client: entry.client,
            is_fair: entry.mode == Mode::Fair,
            is_native: entry.native() == Some(true),
            wants_several: wants_several(ring, entry),
            shares_several: entry.mode == Mode::Shared && wants_several(ring, entry),
            since_ms: ring.when(seq, entry).monotonic_ms,
        });
    }

    fn left(&mut self, ring: &Ring, seq: u64, entry: &Entry) {
        let (owner, is_fair) = (entry.owner, entry.mode == Mode::Fair);
        // If a connection waits with two requests, the request for this lock alone is assumed to leave first.
        let left = self.waiting.remove_first(is_fair, owner, entry.client);
        if left.is_some_and(|left| left.wants_several) {
            self.several_left_ms = Some(ring.when(seq, entry).monotonic_ms);
        }
        // A waiter whose place in the queue is older than its native wait leaves both at once.
        if is_fair && entry.native() == Some(true) {
            self.waiting.remove_all(true, owner, entry.client, false);
        }
    }

    /// Removes the waits of an owner that was served. Other entries record the end of its place in a fair queue.
    fn served(&mut self, ring: &Ring, owners: &Owners, entry: &Entry) {
        let wants_several = wants_several(ring, entry);
        // A writer waits under another field than the one that holds the lock.
        for field in owners.fields_of(entry.owner) {
            for is_native in [false, true] {
                self.waiting.remove_all(is_native, field, entry.client, wants_several);
            }
        }
    }

    fn lease(&mut self, ring: &Ring, seq: u64, entry: &Entry) {
        let has_lease = entry.ttl().is_some() || entry.event != Event::Released;
        let has_session = entry.event != Event::Released || entry.cause == Cause::Disconnected;
        self.holds.change(entry.owner, |hold| {
            if has_lease {
                (hold.ttl_ms, hold.place) = (entry.ttl(), ring.place_number(seq));
                let wall_ms = ring.when(seq, entry).wall_ms;
                hold.deadline_ms = entry.ttl().map(|ttl_ms| wall_ms.saturating_add(ttl_ms));
            }
            if has_session {
                hold.session = entry.is_of_session();
            }
        });
    }
}
