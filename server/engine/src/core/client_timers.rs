//! The timers of clients, carried out: clients that are idle are closed, output is checked, leases are renewed.

use super::engine::Engine;
use crate::clients::{ClientTimers, Closing, IdleEnd, Slot};
use crate::locks::sessions;

impl Engine {
    /// Returns the capability to set the timers of clients.
    pub(super) fn client_timers(&mut self) -> ClientTimers<'_> {
        ClientTimers {
            sessions: &mut self.sessions,
            timers: self.clock.timers_mut(),
            keyspace: &mut self.keyspace,
            timeout_s: self.config.timeout,
        }
    }

    /// Gives a client a timer exactly while it can be closed for being idle. Called when it starts or stops being
    /// blocked, subscribed or a monitor.
    #[inline]
    pub(crate) fn watch_idle(&mut self, slot: Slot) {
        if self.config.timeout > 0 {
            self.client_timers().watch_idle(slot);
        }
    }

    /// Does something during which a client counts as active, however far the clock is advanced.
    pub(crate) fn keep_active<T>(&mut self, slot: Slot, act: impl FnOnce(&mut Self) -> T) -> T {
        self.client_timers().cancel_idle(slot);
        let result = act(self);
        self.sessions.get_mut(slot).last_active = self.clock.now();
        self.watch_idle(slot);
        result
    }

    /// Closes a client that has been idle for too long: its timer has fired.
    pub(super) fn close_idle(&mut self, client: u64) {
        let now = self.clock.now();
        match self.client_timers().end_idle(client, now) {
            IdleEnd::Stays => {}
            IdleEnd::ClosesAfterOutput(slot) => {
                self.sessions.get_mut(slot).close(Closing::AfterOutput);
                self.wake(slot);
            }
            IdleEnd::IsCutOff(slot) => self.cut_off(slot),
        }
    }

    /// Checks the output of clients against its limits.
    pub(super) fn check_outputs(&mut self, slots: impl IntoIterator<Item = Slot>) {
        slots.into_iter().for_each(|slot| self.check_output_limit(slot));
    }

    /// Sets the timer of a client anew: the first of its leases to be renewed has changed.
    pub(super) fn set_lease_timer(&mut self, client: u64) {
        if let Some(slot) = self.sessions.find(client) {
            let due_ms = sessions::next_renewal(&mut self.keyspace, client, self.clock.now());
            self.client_timers().set_lease(slot, due_ms);
        }
    }

    /// Renews the leases of a client that are due: its timer has fired.
    pub(super) fn renew_leases(&mut self, client: u64) {
        if let Some(slot) = self.sessions.find(client) {
            let session = self.sessions.get_mut(slot);
            session.lease_timer = None;
            // A client that waits cannot say anything.
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

    /// A client is gone. What it has leased is given back when no command or script runs.
    pub(super) fn leave_leases(&mut self, slot: Slot) {
        let client = self.sessions.get(slot).id;
        if sessions::has_leases(&mut self.keyspace, client, self.clock.now()) {
            self.sessions.leave(client);
        }
    }
}

#[cfg(test)]
mod tests;
