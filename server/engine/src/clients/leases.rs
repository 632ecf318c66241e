//! The leases of connections: timers renew them while clients are active, and they are given back with the client.

use super::client_timers::ClientTimers;
use super::slot::Slot;
use crate::locks::sessions;

impl ClientTimers<'_> {
    pub(crate) fn leases_changed(&mut self, client: u64) {
        if let Some(slot) = self.sessions.find(client) {
            let due_ms = sessions::next_renewal(self.keyspace, client, self.now);
            self.set_lease(slot, due_ms);
        }
    }

    /// Renews the due leases of a client whose timer has fired. Returns the number of renewed leases.
    pub(crate) fn renew_leases(&mut self, client: u64) -> u64 {
        let Some(slot) = self.sessions.find(client) else { return 0 };
        let session = self.sessions.get_mut(slot);
        session.lease_timer = None;
        // A blocked client cannot send anything, so it counts as active.
        let heard = if session.blocked { self.now } else { session.last_active };
        let renewed = sessions::renew_due(self.keyspace, client, heard.monotonic_ms(), self.now);
        self.leases_changed(client);
        renewed
    }

    /// Renews the leases of all clients so that they need no renewal for `ms` milliseconds.
    #[cold]
    pub(crate) fn renew_leases_for(&mut self, ms: u64) {
        let ms = i64::try_from(ms).unwrap_or(i64::MAX);
        let all = &*self.sessions;
        let waits = |client| all.find(client).is_some_and(|slot| all.get(slot).blocked);
        for client in sessions::renew_all(self.keyspace, ms, waits, self.now) {
            self.leases_changed(client);
        }
    }

    /// Records that a client is gone. Its leases are given back once no command or script runs.
    pub(crate) fn leave_leases(&mut self, slot: Slot) {
        let client = self.sessions.get(slot).id;
        if sessions::has_leases(self.keyspace, client, self.now) {
            self.sessions.leave(client);
        }
    }
}
