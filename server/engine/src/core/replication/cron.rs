//! What replication does once a second, in real time: for links between processes. Servers that share a process need
//! none of it.

use super::super::engine::Engine;
use crate::clients::Closing;
use crate::clock::{Timer, TimerKind};
use crate::replication::{LinkClocks, LinkState, ReplicaState};
use lockwheel_resp::write_request;

/// Between two looks, in milliseconds.
const PERIOD_MS: i64 = 1000;

impl Engine {
    /// Replication is looked at within a second, unless there is nothing to look at.
    pub(super) fn set_replication_timer(&mut self) {
        self.set_replication_timer_in(PERIOD_MS);
    }

    /// The same, in so many milliseconds.
    pub(super) fn set_replication_timer_in(&mut self, in_ms: i64) {
        if let Some((timer, due_ms)) = self.replication_timer {
            if due_ms <= self.clock.system().monotonic_ms() + in_ms {
                return;
            }
            self.clock.timers_mut().cancel(timer);
        }
        let timer = Timer { kind: TimerKind::Replication, client: 0, order: self.keyspace.next_order() };
        let due_ms = self.clock.system().monotonic_ms() + in_ms;
        self.replication_timer = Some((self.clock.timers_mut().insert(timer, due_ms), due_ms));
    }

    /// There is nothing to look at any more.
    pub(super) fn cancel_replication_timer(&mut self) {
        if let Some((timer, _)) = self.replication_timer.take() {
            self.clock.timers_mut().cancel(timer);
        }
    }

    /// Its timer has fired.
    pub(in crate::core) fn replication_due(&mut self) {
        self.replication_timer = None;
        if self.following.is_some() {
            self.look_at_master();
        } else {
            self.ping_replicas();
            self.look_at_backlog();
        }
        self.look_at_replicas();
        if self.following.is_some() || self.replication.has_stream() {
            self.set_replication_timer();
        }
        self.commit();
    }

    fn look_at_master(&mut self) {
        let now = LinkClocks::of(&self.clock);
        let timeout_ms = self.config.replication.timeout.saturating_mul(1000);
        let offset = self.replication.offset;
        let Some(following) = self.following.as_mut() else { return };
        let Some((id, link)) = following.link.as_mut() else { return self.connect_to_master() };
        if following.heard.is_timed_out(now, timeout_ms) {
            let why = timed_out(link.state());
            return self.link_down(why);
        }
        if link.state() == LinkState::Connected && !following.heard.is_in_process() {
            link.acknowledge(offset);
            let output = link.take_output();
            self.outbound.send(*id, &output);
        }
    }

    fn ping_replicas(&mut self) {
        let now_ms = self.clock.system().monotonic_ms();
        let period_ms = self.config.replication.ping_period.saturating_mul(1000);
        // Who has everything when the master's part is handed over must not lack a PING.
        let fails_over = self.replication.failover.is_some();
        if fails_over
            || self.replication.replicas.values().all(|replica| replica.heard.is_in_process())
            || now_ms - self.replication.pinged_ms < period_ms
        {
            return;
        }
        self.replication.pinged_ms = now_ms;
        let mut ping = Vec::new();
        write_request(&[b"PING"], &mut ping);
        self.send_stream(&ping);
    }

    /// Without replicas the end of the stream is kept for a while only.
    pub(super) fn look_at_backlog(&mut self) {
        let now_ms = LinkClocks::of(&self.clock).alone_ms(self.member.is_joined());
        let ttl_ms = self.config.replication.backlog_ttl.saturating_mul(1000);
        let Some(since_ms) = self.replication.alone_since_ms else { return };
        if ttl_ms > 0 && now_ms - since_ms > ttl_ms && self.replication.replicas.is_empty() {
            tracing::info!(
                "Replication backlog freed after {} seconds without connected replicas.",
                ttl_ms / 1000
            );
            let (id, offset) = (self.another_history(), self.replication.offset);
            self.replication.begin_history(id, offset);
            self.replication.alone_since_ms = None;
            self.stream_changed();
        }
    }

    /// Replicas that say nothing, or do not read, are cut.
    fn look_at_replicas(&mut self) {
        let now = LinkClocks::of(&self.clock);
        let timeout_ms = self.config.replication.timeout.saturating_mul(1000);
        let (mut silent, stream) = (Vec::new(), self.replication.offset);
        for (&id, replica) in &mut self.replication.replicas {
            let Some(slot) = self.sessions.find(id) else { continue };
            let session = self.sessions.get(slot);
            let unsent = session.delivery.pending() + self.replication.behind.unsent(id);
            let lacks_snapshot = !replica.answers && replica.unread_snapshot(unsent, stream) > 0;
            let is_sent_snapshot = replica.state == ReplicaState::SendBulk || lacks_snapshot;
            let moves =
                is_sent_snapshot && (unsent == 0 || unsent < std::mem::replace(&mut replica.unsent, unsent));
            if moves {
                replica.heard.hear(now);
            }
            let is_silent =
                (replica.answers || lacks_snapshot) && replica.heard.is_timed_out(now, timeout_ms);
            if is_silent && session.closing != Some(Closing::Now) {
                let phase = if is_sent_snapshot { "full" } else { "streaming" };
                tracing::warn!("Disconnecting timedout replica ({phase} sync): {}", replica.name());
                silent.push(slot);
            }
        }
        silent.into_iter().for_each(|slot| self.cut_off(slot));
        self.check_those_behind(self.replication.behind.sessions());
    }
}

/// The line for a master that has not been heard for too long.
fn timed_out(state: LinkState) -> &'static str {
    match state {
        LinkState::Connecting | LinkState::Handshake => "Timeout connecting to the MASTER...",
        LinkState::Sync => {
            "Timeout receiving bulk data from MASTER... If the problem persists try to set the 'repl-timeout' \
             parameter in redis.conf to a larger value."
        }
        LinkState::Connected => "MASTER timeout: no data nor PING received...",
    }
}
