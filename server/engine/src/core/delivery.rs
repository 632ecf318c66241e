//! The output of clients, besides the replies to their own requests.

use super::engine::Engine;
use crate::clients::{ClientTimers, Closing, Slot};
use crate::limits::{ClientOutput, OutputEnd, has_little_output};

impl Engine {
    /// Whether a waiting client can still be served. One that has closed its connection is disconnected even before EOF
    /// is read, since the reply would be lost.
    pub(super) fn is_still_there(&mut self, waiter: u64) -> bool {
        let id = self.keyspace.waiters.tickets.client_of(waiter);
        // A partition hides all that a client does, including its close.
        if self.sessions.find(id).is_some_and(|slot| self.link(slot).holds_input) {
            return true;
        }
        let gone = self.environment.host.as_ref().is_some_and(|host| host.is_gone(id));
        if gone && let Some(slot) = self.sessions.find(id) {
            self.cut_off(slot);
        }
        !gone
    }

    /// Returns the output of clients, with the parts that limit it.
    pub(super) fn client_output(&mut self) -> ClientOutput<'_> {
        let system_ms = self.clock.system().monotonic_ms();
        let timers = ClientTimers {
            now: self.clock.now(),
            sessions: &mut self.sessions,
            timers: self.clock.timers_mut(),
            keyspace: &mut self.keyspace,
            timeout_s: self.config.timeout,
        };
        let (faults, users, config) = (&self.faults, &self.users, &self.config);
        ClientOutput { timers, faults, users, config, replication: &self.replication, system_ms }
    }

    /// Changes or inspects the output of a client, and follows.
    #[inline]
    pub(crate) fn change_output(
        &mut self,
        slot: Slot,
        change: impl FnOnce(&mut ClientOutput<'_>, Slot) -> OutputEnd,
    ) {
        match change(&mut self.client_output(), slot) {
            OutputEnd::Fine => {}
            end => self.end_output(slot, end),
        }
    }

    /// Inspects the output of a client that does not keep up.
    #[inline(never)]
    pub(crate) fn check_much_output(&mut self, slot: Slot) {
        if !has_little_output(self.sessions.get(slot), &self.users, &self.config) {
            self.change_output(slot, |output, slot| output.check_much(slot));
        }
    }

    /// Disconnects a client whose output has come to an end. Over a limit, the output is dropped; a replica's stream
    /// stops, since it would have a gap.
    #[cold]
    #[inline(never)]
    pub(super) fn end_output(&mut self, slot: Slot, end: OutputEnd) {
        if end == OutputEnd::CutOff {
            return self.cut_off(slot);
        }
        let mut line = Vec::new();
        self.client_list().describe(self.sessions.get(slot), &mut line);
        let client = String::from_utf8_lossy(line.trim_ascii_end());
        let session = self.sessions.get_mut(slot);
        match end {
            OutputEnd::Fine | OutputEnd::CutOff => {}
            OutputEnd::OverLimit => {
                tracing::warn!(
                    "Client {client} scheduled to be closed ASAP for overcoming of output buffer limits."
                );
                session.delivery.cut();
                session.close(Closing::Now);
                self.replication.forget_lacked(session.id);
                self.observers.stats.output_limit_disconnections += 1;
                self.sessions.wake(slot);
            }
            OutputEnd::Refused => {
                let command = session.last_command.map(|command| &*self.commands.get(command).name);
                let command = command.unwrap_or("<unknown>");
                tracing::warn!(
                    "Replica generated a reply to command '{command}', disconnecting it: {client}"
                );
                session.delivery.cut_reply();
                self.cut_off(slot);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::config::Config;
    use crate::core::Simulation;

    #[test]
    fn the_reply_after_a_wait_counts_against_the_output_limits() {
        let mut server = Simulation::new(Config::default(), 7);
        let [pusher, waiter] = [server.connect(), server.connect()];
        server.send(pusher, "CONFIG SET client-output-buffer-limit \"normal 1mb 0 0\"");
        server.send(waiter, "BLPOP list 0");
        server.send(pusher, &format!("RPUSH list {}", "x".repeat(2 << 20)));
        server.send(pusher, "PING");
        assert!(server.read(pusher).ends_with("+PONG\r\n"));
        assert!(!server.is_connected(waiter));
    }
}
