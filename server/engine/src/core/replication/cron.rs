//! What replication does once a second, in real time: for links between processes. Servers that share a process need
//! none of it.

use super::super::engine::Engine;
use crate::replication::LinkClocks;

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

    /// Gives a silent link to the master up, connects if there is none, or tells the master how far this replica is.
    fn look_at_master(&mut self) {
        let timeout_ms = self.config.replication.timeout.saturating_mul(1000);
        let Some(following) = self.following.as_mut() else { return };
        if following.state().is_none() {
            return self.connect_to_master();
        }
        if let Some(why) = following.timed_out(LinkClocks::of(&self.clock), timeout_ms) {
            return self.link_down(why);
        }
        following.report();
        self.flush_link();
    }
}
