//! What replication does once a second, in real time: for links between processes. Servers that share a process need
//! none of it.

use super::super::engine::Engine;
use crate::replication::{LinkClocks, LinkState};

impl Engine {
    /// Has replication looked at within a second, unless there is nothing to look at.
    pub(super) fn set_replication_timer(&mut self) {
        let now_ms = self.clock.system().monotonic_ms();
        let order = || self.keyspace.next_order();
        self.replication_timer.set(now_ms, self.clock.timers_mut(), order);
    }

    /// Looks at replication: its timer has fired.
    pub(in crate::core) fn replication_due(&mut self) {
        self.replication_timer.expire();
        let now = LinkClocks::of(&self.clock);
        if self.following.is_some() {
            self.look_at_master();
        } else {
            let due = (now.real_ms, self.config.replication.ping_period);
            let effects = self.replication.ping_replicas(due, &mut self.sessions, &self.memory.stream);
            self.follow_feeding(effects);
            self.look_at_backlog();
        }
        let timeout_ms = self.config.replication.timeout.saturating_mul(1000);
        let effects = self.replication.check_replicas(&self.sessions, now, timeout_ms);
        self.follow_feeding(effects);
        if self.following.is_some() || self.replication.has_stream() {
            self.set_replication_timer();
        }
        self.commit();
    }

    /// Ends the stream without replicas when its time is over.
    pub(super) fn look_at_backlog(&mut self) {
        let now_ms = LinkClocks::of(&self.clock).alone_ms(self.member.is_joined());
        let ttl_s = self.config.replication.backlog_ttl;
        if self.replication.expire_backlog(now_ms, ttl_s, self.keyspace.rng()) {
            self.stream_changed();
        }
    }

    fn look_at_master(&mut self) {
        let now = LinkClocks::of(&self.clock);
        let timeout_ms = self.config.replication.timeout.saturating_mul(1000);
        let offset = self.replication.offset();
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
