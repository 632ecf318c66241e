//! All leases of connections, with the times of their renewals.

use super::lease::SessionLease;
use lockwheel_store::keyspace::Context;
use std::collections::{BTreeMap, BTreeSet};

/// The leases of connections by id, a grant's number, and connection. Those that share an owner's hold share the id.
#[derive(Debug, Default)]
pub(in crate::locks) struct SessionLeases {
    leases: BTreeMap<(u64, u64), Timed>,
    /// The leases of each connection by id, with their due times in milliseconds of the monotonic clock.
    by_session: BTreeMap<u64, BTreeSet<(i64, u64)>>,
    name_bytes: usize,
    /// The connections whose first renewal has changed, so that their timers must be reset.
    changed: Vec<u64>,
}

/// A lease, the time of its last renewal, and the time at which its client was last heard, on the monotonic clock.
#[derive(Debug)]
struct Timed {
    renewed_at_ms: i64,
    heard_at_ms: i64,
    lease: SessionLease,
}

impl Timed {
    /// Returns when the lease is due: for renewal, or because its client has been silent for too long.
    fn due_ms(&self) -> i64 {
        let renewal_ms = self.renewed_at_ms.saturating_add(self.lease.renewal_ms());
        self.silent_at_ms().map_or(renewal_ms, |silent_ms| silent_ms.min(renewal_ms))
    }

    /// Returns when the client will have been silent for too long. `None` without a limit.
    fn silent_at_ms(&self) -> Option<i64> {
        self.lease.ping_ms.map(|ping_ms| self.heard_at_ms.saturating_add(ping_ms))
    }
}

impl SessionLeases {
    /// Begins a lease of a connection. An older one by this id is replaced, and its holds kept. O(log n).
    pub(in crate::locks) fn begin(&mut self, id: u64, mut lease: SessionLease, now_ms: i64) {
        let session = lease.session;
        if let Some(before) = self.end_one(id, session) {
            lease.holds = lease.holds.saturating_add(before.holds);
        }
        self.name_bytes += name_bytes(&lease);
        let timed = Timed { renewed_at_ms: now_ms, heard_at_ms: now_ms, lease };
        let of_session = self.by_session.entry(session).or_default();
        of_session.insert((timed.due_ms(), id));
        if of_session.first().is_some_and(|(_, first)| *first == id) {
            self.changed.push(session);
        }
        self.leases.insert((id, session), timed);
    }

    /// Ends the leases of all connections by an id. O(log n).
    pub(in crate::locks) fn end(&mut self, id: u64) {
        let sessions: Vec<u64> = self.all_of(id).map(|((_, session), _)| *session).collect();
        sessions.into_iter().for_each(|session| drop(self.end_one(id, session)));
    }

    /// Ends the lease of one connection by an id. Returns the lease, if there was one. O(log n).
    pub(in crate::locks) fn end_one(&mut self, id: u64, session: u64) -> Option<SessionLease> {
        let timed = self.leases.remove(&(id, session))?;
        self.name_bytes -= name_bytes(&timed.lease);
        if let Some(of_session) = self.by_session.get_mut(&session) {
            let was_first = of_session.first().is_some_and(|(_, first)| *first == id);
            of_session.remove(&(timed.due_ms(), id));
            if of_session.is_empty() {
                self.by_session.remove(&session);
            }
            if was_first {
                self.changed.push(session);
            }
        }
        Some(timed.lease)
    }

    fn all_of(&self, id: u64) -> impl Iterator<Item = (&(u64, u64), &Timed)> {
        self.leases.range((id, 0)..=(id, u64::MAX))
    }

    /// Returns the leases by an id, one for each connection that has one. O(log n).
    pub(in crate::locks) fn by_id(&self, id: u64) -> Vec<SessionLease> {
        self.all_of(id).map(|(_, timed)| timed.lease.clone()).collect()
    }

    /// Returns the total number of holds that connections lease by an id. O(log n).
    pub(in crate::locks) fn holds_of(&self, id: u64) -> i64 {
        self.all_of(id).fold(0, |holds, (_, timed)| holds.saturating_add(timed.lease.holds))
    }

    /// Adds to the holds that a connection leases, or subtracts. The lease ends with the last. O(log n).
    pub(in crate::locks) fn add_holds(&mut self, id: u64, session: u64, more: i64) {
        let Some(timed) = self.leases.get_mut(&(id, session)) else { return };
        timed.lease.holds = timed.lease.holds.saturating_add(more);
        if timed.lease.holds <= 0 {
            self.end_one(id, session);
        }
    }

    /// Lets the engine set the timers of connections whose first renewal has changed. To be called after each change.
    #[inline]
    pub(in crate::locks) fn tell(&mut self, context: &mut Context<'_>) {
        if !self.changed.is_empty() {
            self.changed.drain(..).for_each(|session| context.leases_changed(session));
        }
    }

    /// Records the renewal of a lease. O(log n).
    pub(in crate::locks) fn renewed(&mut self, (id, session): (u64, u64), now_ms: i64) {
        self.change((id, session), |timed| timed.renewed_at_ms = now_ms);
    }

    /// Records that the client of a lease was heard. O(log n).
    pub(in crate::locks) fn heard(&mut self, (id, session): (u64, u64), at_ms: i64) {
        self.change((id, session), |timed| timed.heard_at_ms = at_ms);
    }

    fn change(&mut self, (id, session): (u64, u64), change: impl FnOnce(&mut Timed)) {
        let Some(timed) = self.leases.get_mut(&(id, session)) else { return };
        let Some(of_session) = self.by_session.get_mut(&session) else { return };
        of_session.remove(&(timed.due_ms(), id));
        change(timed);
        of_session.insert((timed.due_ms(), id));
    }

    /// Returns when a lease's client will have been silent for too long, as far as known. `None`: no limit.
    pub(in crate::locks) fn silent_at_ms(&self, (id, session): (u64, u64)) -> Option<i64> {
        self.leases.get(&(id, session))?.silent_at_ms()
    }

    #[inline]
    pub(in crate::locks) fn is_empty(&self) -> bool {
        self.leases.is_empty()
    }

    /// Returns the lease of this id. If several connections have one, returns that of the oldest connection. O(log n).
    pub(in crate::locks) fn get(&self, id: u64) -> Option<&SessionLease> {
        self.all_of(id).next().map(|(_, timed)| &timed.lease)
    }

    /// Returns the lease of this id and connection. O(log n).
    pub(in crate::locks) fn of_session(&self, (id, session): (u64, u64)) -> Option<&SessionLease> {
        self.leases.get(&(id, session)).map(|timed| &timed.lease)
    }

    pub(in crate::locks) fn has(&self, session: u64) -> bool {
        self.by_session.contains_key(&session)
    }

    /// Returns the first lease of a connection to be renewed, and its due time.
    pub(in crate::locks) fn first_of(&self, session: u64) -> Option<(i64, u64)> {
        self.by_session.get(&session)?.first().copied()
    }

    /// Returns all leases, by id and connection, in the order in which they were taken.
    pub(in crate::locks) fn all(&self) -> Vec<(u64, u64)> {
        self.leases.keys().copied().collect()
    }

    pub(in crate::locks) fn sessions(&self) -> Vec<u64> {
        self.by_session.keys().copied().collect()
    }

    /// Returns the leases of a connection, in the order in which they were taken. O(n log n).
    pub(in crate::locks) fn of(&self, session: u64) -> Vec<u64> {
        let mut ids: Vec<u64> =
            self.by_session.get(&session).into_iter().flatten().map(|(_, id)| *id).collect();
        ids.sort_unstable();
        ids
    }

    /// Ends all leases. O(n log n), n all leases.
    pub(in crate::locks) fn clear(&mut self) {
        self.all().into_iter().for_each(|(id, session)| drop(self.end_one(id, session)));
    }

    /// Ends the leases of a database whose keys are all gone. O(n), n all leases.
    pub(in crate::locks) fn flushed(&mut self, db: usize) {
        let of_db = self.leases.iter().filter(|(_, timed)| timed.lease.db == db);
        let gone: Vec<u64> = of_db.map(|((id, _), _)| *id).collect();
        gone.into_iter().for_each(|id| self.end(id));
    }

    /// Returns the bytes of all leases, before an allocator rounds them up. O(1).
    pub(in crate::locks) fn bytes(&self) -> usize {
        let of_lease = size_of::<((u64, u64), Timed)>() + size_of::<(i64, u64)>();
        let of_session = size_of::<(u64, BTreeSet<(i64, u64)>)>();
        self.leases.len() * of_lease + self.by_session.len() * of_session + self.name_bytes
    }

    /// Exchanges the leases of two databases, as their keys have been exchanged. O(n), n all leases.
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
