//! What clients lease for as long as they are connected: it is renewed in time, and given back when they are gone.

use super::engine::Engine;
use crate::clients::Slot;
use crate::clock::{Timer, TimerKind};
use crate::locks::sessions;

impl Engine {
    /// Sets the timer of a client anew: the first of its leases to be renewed has changed.
    pub(super) fn set_lease_timer(&mut self, client: u64) {
        let Some(slot) = self.sessions.find(client) else { return };
        if let Some(timer) = self.sessions.get_mut(slot).lease_timer.take() {
            self.clock.timers_mut().cancel(timer);
        }
        if let Some(due_ms) = sessions::next_renewal(&mut self.keyspace, client, self.clock.now()) {
            let timer = Timer { kind: TimerKind::Lease, client, order: self.keyspace.next_order() };
            self.sessions.get_mut(slot).lease_timer = Some(self.clock.timers_mut().insert(timer, due_ms));
        }
    }

    /// Renews the leases of a client that are due; its timer has fired.
    pub(super) fn renew_leases(&mut self, client: u64) {
        if let Some(slot) = self.sessions.find(client) {
            let session = self.sessions.get_mut(slot);
            session.lease_timer = None;
            // Who waits cannot say anything.
            let heard = if session.blocked { self.clock.now() } else { session.last_active };
            let heard_ms = heard.monotonic_ms();
            let renewed = sessions::renew_due(&mut self.keyspace, client, heard_ms, self.clock.now());
            self.clock.note_renewed_leases(renewed);
            self.set_lease_timer(client);
        }
    }

    /// Renews the leases of all clients at once so that they need no renewal for so many milliseconds.
    #[cold]
    pub(super) fn renew_leases_for(&mut self, ms: u64) {
        let ms = i64::try_from(ms).unwrap_or(i64::MAX);
        let all = &self.sessions;
        let waits = |client| all.find(client).is_some_and(|slot| all.get(slot).blocked);
        for client in sessions::renew_all(&mut self.keyspace, ms, waits, self.clock.now()) {
            self.set_lease_timer(client);
        }
    }

    /// The leases of clients end where they are: a replica neither renews what they hold nor gives it back. That is
    /// the new master's, until its time is over.
    pub(super) fn drop_leases(&mut self) {
        self.sessions.take_leaving();
        sessions::drop_all(&mut self.keyspace, self.clock.now());
    }

    /// Nothing is leased any more.
    pub(super) fn forget_leases(&mut self) {
        self.sessions.take_leaving();
        for slot in self.sessions.slots().collect::<Vec<_>>() {
            self.set_lease_timer(self.sessions.get(slot).id);
        }
    }

    /// A client is gone. What it has leased is given back when no command or script runs.
    pub(super) fn leave_leases(&mut self, slot: Slot) {
        let client = self.sessions.get(slot).id;
        if sessions::has_leases(&mut self.keyspace, client, self.clock.now()) {
            self.sessions.leave(client);
        }
    }

    /// Gives back what clients have leased that are gone.
    pub(super) fn give_back_leases(&mut self) {
        for client in self.sessions.take_leaving() {
            sessions::give_back(&mut self.keyspace, client, self.clock.now());
        }
    }
}
