//! Output to clients beyond the replies to their own requests, and the limits of unread output.

use super::engine::Engine;
use crate::clients::{Closing, Delivery, Message, OpenReply, Slot, Verdict};
use crate::config::{Config, OutputLimit};
use crate::replication::Replication;
use lockwheel_resp::{Reply, allocation};

/// The size in bytes from which output is counted as it grows. Smaller output is counted when it is taken.
const COUNTED: usize = 16 * 1024;
/// The bytes that a replica may leave unread besides the whole backlog: the reply line before the backlog, and the
/// stream written meanwhile.
const BESIDE_BACKLOG: usize = 64 * 1024;

impl Engine {
    /// Whether a waiting client can still be served. A client that has closed its connection is disconnected, even
    /// before its connection reads EOF, since the reply would be lost.
    pub(super) fn is_still_there(&mut self, waiter: u64) -> bool {
        let id = self.keyspace.waiters.tickets.client_of(waiter);
        // A partition keeps everything that a client does from the server, including its close.
        if self.sessions.find(id).is_some_and(|slot| self.link(slot).holds_input) {
            return true;
        }
        let gone = self.environment.host.as_ref().is_some_and(|host| host.is_gone(id));
        if gone && let Some(slot) = self.sessions.find(id) {
            self.cut_off(slot);
        }
        !gone
    }

    /// Answers the request with which a session has been waiting, unless the client wants no reply.
    pub(crate) fn answer(&mut self, slot: Slot, write: impl FnOnce(&mut dyn Reply)) {
        let is_lost = self.faults.is_lost(self.sessions.get(slot));
        let session = self.sessions.get_mut(slot);
        if session.closing == Some(Closing::Now) || is_lost {
            return;
        }
        let protocol = session.protocol;
        match allocation::contain(|| session.delivery.answer(protocol, write)) {
            Ok(Verdict::Send) => self.check_output_limit(slot),
            Ok(Verdict::Drop) => {}
            Ok(Verdict::Refuse) => self.refuse_reply(slot),
            // A part of the reply may be lost, and the client that is running a command is a different one.
            Err(_) => return self.cut_off(slot),
        }
        self.sessions.wake(slot);
    }

    /// Queues a message and wakes the connection. A session that is being disconnected gets none. So the output of a
    /// command is bounded by the limits of its receivers.
    pub(crate) fn send_message(&mut self, slot: Slot, message: &mut Message<'_>) {
        let is_lost = self.faults.is_lost(self.sessions.get(slot));
        let session = self.sessions.get_mut(slot);
        if session.closing == Some(Closing::Now) || is_lost {
            return;
        }
        let protocol = session.protocol;
        if allocation::contain(|| session.delivery.push_message(message, protocol)).is_err() {
            // The reader is too slow; it loses its connection rather than a message.
            return self.cut_off(slot);
        }
        self.check_output_limit(slot);
        self.sessions.wake(slot);
    }

    /// Disconnects a client over its output limit, for example a subscriber or an unauthenticated client.
    pub(crate) fn check_output_limit(&mut self, slot: Slot) {
        if !self.sessions.get_mut(slot).keeps_up() {
            self.check_much_output(slot);
        }
    }

    /// Disconnects a slow client over its output limit, unless it is being closed already.
    #[inline(never)]
    pub(crate) fn check_much_output(&mut self, slot: Slot) {
        let session = self.sessions.get(slot);
        let is_authenticated = session.is_authenticated(&self.users);
        let is_little = session.delivery.pending() < COUNTED;
        if is_authenticated && is_little && session.is_ordinary() && self.config.output_limit(false).is_none()
        {
            return;
        }
        let now_ms = self.clock.system().monotonic_ms();
        let pending = self.replication.unsent(session);
        let session = self.sessions.get_mut(slot);
        if pending >= COUNTED {
            session.delivery.count();
        }
        if session.closing == Some(Closing::Now) {
            session.over_soft_since = None;
            return;
        }
        let limit = match self.config.output_limit(session.is_subscribed()) {
            _ if session.is_replica => replica_limit(&self.replication, &self.config, session.id, pending),
            // In Redis, a monitor is a normal client without a limit, and could fill the memory.
            OutputLimit { hard: 0, soft: 0, .. } if session.is_monitor => self.config.output_limit(true),
            limit => limit,
        };
        let over_hard = (limit.hard > 0 && pending >= limit.hard) || !is_authenticated;
        let over_soft = limit.soft > 0 && pending >= limit.soft;
        let since = if over_soft { Some(session.over_soft_since.unwrap_or(now_ms)) } else { None };
        session.over_soft_since = since;
        let over_soft_long = since.is_some_and(|since| now_ms - since > limit.soft_seconds * 1000);
        if over_hard || over_soft_long {
            self.close_over_limit(slot);
        } else if let Some(since) = since {
            self.client_timers().watch_output(slot, since + limit.soft_seconds * 1000);
        }
    }
}

impl Engine {
    /// Logs and disconnects a client with too much unread output, and wakes its connection. The output is dropped. A
    /// replica gets no more of the stream, which would have a gap.
    #[cold]
    pub(super) fn close_over_limit(&mut self, slot: Slot) {
        let mut line = Vec::new();
        self.client_list().describe(self.sessions.get(slot), &mut line);
        let client = String::from_utf8_lossy(line.trim_ascii_end());
        tracing::warn!("Client {client} scheduled to be closed ASAP for overcoming of output buffer limits.");
        let session = self.sessions.get_mut(slot);
        session.delivery.cut();
        session.close(Closing::Now);
        self.replication.forget_lacked(session.id);
        self.observers.stats.output_limit_disconnections += 1;
        self.sessions.wake(slot);
    }

    /// Ends a reply to a client, possibly not the one that is running a command. If there is no memory for the output
    /// after the reply, that client is disconnected.
    pub(super) fn end_contained(&mut self, slot: Slot, reply: OpenReply, is_left_open: bool) {
        if reply.is_refused() {
            return self.refuse_reply(slot);
        }
        self.push_contained(slot, |delivery| delivery.end(reply, is_left_open));
    }

    /// Disconnects a replica whose request has caused a reply, as Redis does. A reply would corrupt its stream.
    #[cold]
    #[inline(never)]
    pub(super) fn refuse_reply(&mut self, slot: Slot) {
        let session = self.sessions.get(slot);
        let command = session.last_command.map_or("<unknown>", |command| &self.commands.get(command).name);
        let mut line = Vec::new();
        self.client_list().describe(session, &mut line);
        let client = String::from_utf8_lossy(line.trim_ascii_end());
        tracing::warn!("Replica generated a reply to command '{command}', disconnecting it: {client}");
        self.sessions.get_mut(slot).delivery.cut_reply();
        self.cut_off(slot);
    }

    /// Changes the output of a client, possibly not the one that is running a command. If there is no memory,
    /// disconnects the client and returns false.
    pub(super) fn push_contained(&mut self, slot: Slot, push: impl FnOnce(&mut Delivery)) -> bool {
        let delivery = &mut self.sessions.get_mut(slot).delivery;
        let is_pushed = allocation::contain(|| push(delivery)).is_ok();
        if !is_pushed {
            self.cut_off(slot);
        }
        is_pushed
    }
}

/// Returns the limits of unread output for a replica, not counting the snapshot. As in Redis, a hard limit below the
/// size of the backlog is raised to that, with room for [`BESIDE_BACKLOG`].
fn replica_limit(replication: &Replication, config: &Config, session: u64, pending: usize) -> OutputLimit {
    let snapshot = replication.unread_snapshot(session, pending);
    let limit = config.client_output_buffer_limit.replica;
    let backlog = usize::try_from(config.replication.backlog_size).unwrap_or(usize::MAX);
    // A partial resynchronization may send the whole backlog at once.
    let resync = backlog.saturating_add(BESIDE_BACKLOG);
    let hard = if limit.hard == 0 { 0 } else { limit.hard.max(resync) };
    let beside = |bytes: usize| if bytes == 0 { 0 } else { bytes.saturating_add(snapshot) };
    OutputLimit { hard: beside(hard), soft: beside(limit.soft), ..limit }
}

#[cfg(test)]
mod tests {
    use crate::config::Config;
    use crate::core::Simulation;

    #[test]
    fn the_answer_after_a_wait_is_held_against_the_limits_too() {
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
