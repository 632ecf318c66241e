//! All leases of connections, and when each is to be renewed.

use super::lease::SessionLease;
use crate::keyspace::Context;
use std::collections::{BTreeMap, BTreeSet};

/// All leases of connections, by id. Ids come from the sequence of grants, so that no two leases share one.
#[derive(Debug, Default)]
pub(in crate::locks) struct SessionLeases {
    leases: BTreeMap<u64, Timed>,
    /// The leases of each connection: when they are to be renewed, on the monotonic clock in milliseconds, and ids.
    by_session: BTreeMap<u64, BTreeSet<(i64, u64)>>,
    name_bytes: usize,
    /// The connections whose first renewal has changed, and whose timers are to be set anew.
    changed: Vec<u64>,
}

/// A lease, when it was renewed, and when its client is known to have said something, on the monotonic clock.
#[derive(Debug)]
struct Timed {
    renewed_at_ms: i64,
    heard_at_ms: i64,
    lease: SessionLease,
}

impl Timed {
    /// When it is to be renewed, or its client to have said something.
    fn due_ms(&self) -> i64 {
        let renewal_ms = self.renewed_at_ms.saturating_add(self.lease.renewal_ms());
        self.silent_at_ms().map_or(renewal_ms, |silent_ms| silent_ms.min(renewal_ms))
    }

    /// When its client has been silent for too long.
    fn silent_at_ms(&self) -> Option<i64> {
        self.lease.ping_ms.map(|ping_ms| self.heard_at_ms.saturating_add(ping_ms))
    }
}

impl SessionLeases {
    /// A connection leases something from now on, in place of what it, or another, has leased by this id. O(log n).
    pub(super) fn begin(&mut self, id: u64, lease: SessionLease, now_ms: i64) {
        self.end(id);
        let session = lease.session;
        self.name_bytes += name_bytes(&lease);
        let timed = Timed { renewed_at_ms: now_ms, heard_at_ms: now_ms, lease };
        let of_session = self.by_session.entry(session).or_default();
        of_session.insert((timed.due_ms(), id));
        if of_session.first().is_some_and(|(_, first)| *first == id) {
            self.changed.push(session);
        }
        self.leases.insert(id, timed);
    }

    /// Something is no longer leased, if it was. O(log n).
    pub(in crate::locks) fn end(&mut self, id: u64) {
        let Some(timed) = self.leases.remove(&id) else { return };
        let session = timed.lease.session;
        self.name_bytes -= name_bytes(&timed.lease);
        let Some(of_session) = self.by_session.get_mut(&session) else { return };
        let was_first = of_session.first().is_some_and(|(_, first)| *first == id);
        of_session.remove(&(timed.due_ms(), id));
        if of_session.is_empty() {
            self.by_session.remove(&session);
        }
        if was_first {
            self.changed.push(session);
        }
    }

    /// Lets the engine set the timers of connections whose first renewal has changed. To be called after each change.
    #[inline]
    pub(in crate::locks) fn tell(&mut self, context: &mut Context<'_>) {
        if !self.changed.is_empty() {
            self.changed.drain(..).for_each(|session| context.leases_changed(session));
        }
    }

    /// A lease has been renewed. O(log n).
    pub(super) fn renewed(&mut self, id: u64, now_ms: i64) {
        self.change(id, |timed| timed.renewed_at_ms = now_ms);
    }

    /// The client of a lease has said something. O(log n).
    pub(super) fn heard(&mut self, id: u64, at_ms: i64) {
        self.change(id, |timed| timed.heard_at_ms = at_ms);
    }

    fn change(&mut self, id: u64, change: impl FnOnce(&mut Timed)) {
        let Some(timed) = self.leases.get_mut(&id) else { return };
        let Some(of_session) = self.by_session.get_mut(&timed.lease.session) else { return };
        of_session.remove(&(timed.due_ms(), id));
        change(timed);
        of_session.insert((timed.due_ms(), id));
    }

    /// When the client of a lease has been silent for too long, as far as it is known; `None`: it may say nothing.
    pub(super) fn silent_at_ms(&self, id: u64) -> Option<i64> {
        self.leases.get(&id)?.silent_at_ms()
    }

    #[inline]
    pub(in crate::locks) fn is_empty(&self) -> bool {
        self.leases.is_empty()
    }

    /// The lease of this id.
    pub(in crate::locks) fn get(&self, id: u64) -> Option<&SessionLease> {
        self.leases.get(&id).map(|timed| &timed.lease)
    }

    /// Whether a connection has leases.
    pub(super) fn has(&self, session: u64) -> bool {
        self.by_session.contains_key(&session)
    }

    /// The first lease of a connection to be renewed, and when.
    pub(super) fn first_of(&self, session: u64) -> Option<(i64, u64)> {
        self.by_session.get(&session)?.first().copied()
    }

    /// All leases, in the order in which they were taken.
    pub(super) fn ids(&self) -> Vec<u64> {
        self.leases.keys().copied().collect()
    }

    /// The connections that have leases.
    pub(super) fn sessions(&self) -> Vec<u64> {
        self.by_session.keys().copied().collect()
    }

    /// The leases of a connection, in the order in which they were taken. O(n log n).
    pub(super) fn of(&self, session: u64) -> Vec<u64> {
        let mut ids: Vec<u64> =
            self.by_session.get(&session).into_iter().flatten().map(|(_, id)| *id).collect();
        ids.sort_unstable();
        ids
    }

    /// All keys of a database are gone. O(n), n all leases.
    pub(in crate::locks) fn flushed(&mut self, db: usize) {
        let of_db = self.leases.iter().filter(|(_, timed)| timed.lease.db == db);
        let gone: Vec<u64> = of_db.map(|(id, _)| *id).collect();
        gone.into_iter().for_each(|id| self.end(id));
    }

    /// Bytes of all of it, before an allocator rounds them up. O(1).
    pub(in crate::locks) fn bytes(&self) -> usize {
        let of_lease = size_of::<(u64, Timed)>() + size_of::<(i64, u64)>();
        let of_session = size_of::<(u64, BTreeSet<(i64, u64)>)>();
        self.leases.len() * of_lease + self.by_session.len() * of_session + self.name_bytes
    }

    /// The keys of two databases have been exchanged. O(n), n all leases.
    pub(in crate::locks) fn swapped(&mut self, one: usize, other: usize) {
        for timed in self.leases.values_mut() {
            match timed.lease.db {
                db if db == one => timed.lease.db = other,
                db if db == other => timed.lease.db = one,
                _ => {}
            }
        }
    }
}

fn name_bytes(lease: &SessionLease) -> usize {
    lease.key.len() + lease.holder.len()
}
