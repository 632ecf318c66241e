//! Changes of replication: the parts of the engine that they see, and the effects with which they end.

mod failover;
mod link;
mod replicas;
#[cfg(test)]
mod tests;

use super::effect::ReplicationEffect;
use super::feed::Feed;
use super::last_heard::LinkClocks;
use super::replica_link::ReplicaLink;
use super::state::Replication;
use super::timer::ReplicationTimer;
use super::view::ReplicationView;
use crate::clients::Sessions;
use crate::clock::EngineClock;
use crate::config::Config;
use crate::outbound::Outbound;
use lockwheel_store::keyspace::Keyspace;
use lockwheel_store::memory::BufferBytes;

/// The target of the events that say, by a field, whether the server is a replica from now on: they are no lines of a
/// log.
pub const ROLE_CHANGES: &str = "lockwheel::role";

/// Both parts of replication, with the parts of the engine that they see.
pub(crate) struct ReplicationControl<'e> {
    /// The history of the data, and the replicas.
    pub(crate) history: &'e mut Replication,
    /// The link to the master. `None`: the server is no replica.
    pub(crate) link: &'e mut Option<ReplicaLink>,
    /// The timer by which both are looked at.
    pub(crate) timer: &'e mut ReplicationTimer,
    /// The clients, which replicas and the master's stream are among.
    pub(crate) sessions: &'e mut Sessions,
    /// The data, for the order of timers, random choices and the changes that replicas are sent.
    pub(crate) keyspace: &'e mut Keyspace,
    /// The clocks that links go by.
    pub(crate) clock: &'e mut EngineClock,
    /// The parameters, of which the address of the master changes.
    pub(crate) config: &'e mut Config,
    /// The connections to other servers.
    pub(crate) outbound: &'e mut Outbound,
    /// The account of the stream that replicas share.
    pub(crate) stream_bytes: &'e BufferBytes,
    /// Whether the server is one of several of its process.
    pub(crate) is_joined: bool,
    /// The effects of the change, in order.
    pub(crate) effects: Vec<ReplicationEffect>,
}

impl ReplicationControl<'_> {
    /// The present instant on the clocks that links go by.
    fn now(&self) -> LinkClocks {
        LinkClocks::of(self.clock)
    }

    /// The present instant on the clock by which the end of the stream is kept without replicas, in milliseconds.
    fn alone_ms(&self) -> i64 {
        self.now().alone_ms(self.is_joined)
    }

    /// Whether changes made here go to replicas.
    fn feeds_replicas(&self) -> bool {
        ReplicationView::new(self.history, self.link.as_ref(), self.config, self.clock).feeds_replicas()
    }

    /// Follows that there is a stream, or none any more, or another writer of it.
    pub(crate) fn stream_changed(&mut self) {
        self.effects.push(ReplicationEffect::AudienceChanged);
        let is_on = self.feeds_replicas();
        Feed::turn_on(self.keyspace, is_on);
    }

    /// Follows another role of the server, or other parameters of replication.
    pub(crate) fn rules_changed(&mut self) {
        let parameters = &self.config.replication;
        let may_forbid = self.link.is_some() || parameters.min_to_write > 0;
        self.history.keep(parameters.backlog_bytes());
        self.effects.push(ReplicationEffect::RulesChanged { may_forbid });
    }

    /// Forgets the history that the data were of: a master is asked for all of it.
    pub(crate) fn forget_history(&mut self) {
        *self.history = Replication::new(self.keyspace.rng());
        self.stream_changed();
        self.rules_changed();
    }

    /// Lets both parts be looked at within a second, unless they are already.
    pub(crate) fn set_timer(&mut self) {
        let now_ms = self.clock.system().monotonic_ms();
        let order = || self.keyspace.next_order();
        self.timer.set(now_ms, self.clock.timers_mut(), order);
    }

    /// Begins a look at both parts, whose timer has fired: a silent link to the master is given up, a missing one is
    /// made, and the master is told how far this replica is; or the connections of replicas are kept alive.
    pub(crate) fn begin_look(&mut self) {
        self.timer.expire();
        if self.link.is_some() {
            self.look_at_master();
        } else {
            self.ping_replicas();
        }
    }

    /// Goes on with the look: the stream without replicas ends when its time is over, and replicas that say nothing, or
    /// do not read, are cut.
    pub(crate) fn look_at_replicas(&mut self) {
        if self.link.is_none() {
            self.look_at_backlog();
        }
        self.check_replicas();
    }

    /// Ends the look: the next one is within a second, unless there is nothing to look at.
    pub(crate) fn end_look(&mut self) {
        self.look_for_due_snapshot();
        if self.link.is_some() || self.history.has_stream() || self.history.replicas().len() > 0 {
            self.set_timer();
        }
    }

    /// Tells the log of the process, if that is one server, which role it has from now on.
    fn log_role(&self, is_replica: bool) {
        if !self.is_joined {
            tracing::info!(target: ROLE_CHANGES, is_replica);
        }
    }
}
