//! The timers of clients: idle clients are closed.

use super::engine::Engine;
use crate::clients::{ClientTimers, Closing, IdleEnd, Slot};

impl Engine {
    pub(super) fn client_timers(&mut self) -> ClientTimers<'_> {
        ClientTimers {
            now: self.clock.now(),
            sessions: &mut self.sessions,
            timers: self.clock.timers_mut(),
            keyspace: &mut self.keyspace,
            timeout_s: self.config.timeout,
        }
    }

    /// Sets or removes a client's idle timer, when it starts or stops being blocked, subscribed or a monitor.
    #[inline]
    pub(crate) fn watch_idle(&mut self, slot: Slot) {
        if self.config.timeout > 0 {
            self.client_timers().watch_idle(slot);
        }
    }

    /// Closes a client whose idle timer has fired.
    pub(super) fn close_idle(&mut self, client: u64) {
        match self.client_timers().end_idle(client) {
            IdleEnd::Stays => {}
            IdleEnd::ClosesAfterOutput(slot) => {
                self.sessions.get_mut(slot).close(Closing::AfterOutput);
                self.sessions.wake(slot);
            }
            IdleEnd::IsCutOff(slot) => self.cut_off(slot),
        }
    }
}

#[cfg(test)]
mod tests;
