//! Changes of replication: the parts of the engine that they access, and their effects.

mod failover;
mod link;
mod replicas;
#[cfg(test)]
mod tests;

use super::effect::ReplicationEffect;
use super::last_heard::LinkClocks;
use super::replica_link::ReplicaLink;
use super::state::Replication;
use super::timer::ReplicationTimer;
use super::view::ReplicationView;
use crate::clients::Sessions;
use crate::clock::EngineClock;
use crate::config::Config;
use crate::outbound::Outbound;
use crate::propagation::{Feed, FeedRules, Receivers};
use lockwheel_store::keyspace::Keyspace;
use lockwheel_store::memory::BufferBytes;

/// The target of the events that announce a change of role in a field. They are not lines of a log.
pub const ROLE_CHANGES: &str = "lockwheel::role";

/// Both sides of replication, with the parts of the engine that they access.
pub(crate) struct ReplicationControl<'e> {
    /// The history of the data, and the replicas.
    pub(crate) history: &'e mut Replication,
    /// The link to the master. `None`: the server is not a replica.
    pub(crate) link: &'e mut Option<ReplicaLink>,
    /// The timer of the periodic checks of both sides.
    pub(crate) timer: &'e mut ReplicationTimer,
    pub(crate) sessions: &'e mut Sessions,
    /// The data. They provide the order of timers, random choices, and the changes for replicas.
    pub(crate) keyspace: &'e mut Keyspace,
    /// The clocks that links use.
    pub(crate) clock: &'e mut EngineClock,
    pub(crate) config: &'e mut Config,
    pub(crate) outbound: &'e mut Outbound,
    /// The memory account of the stream that replicas share.
    pub(crate) stream_bytes: &'e BufferBytes,
    /// Whether the server is one of several in its process.
    pub(crate) is_joined: bool,
    /// Whether the data are being loaded, so that no master is followed yet.
    pub(crate) is_loading: bool,
    /// Whether changes are also appended to a file.
    pub(crate) is_appending: bool,
    /// The number of bytes of the file that are on the disk.
    pub(crate) synced: u64,
    /// The effects of the change, in order.
    pub(crate) effects: Vec<ReplicationEffect>,
}

impl ReplicationControl<'_> {
    fn now(&self) -> LinkClocks {
        LinkClocks::of(self.clock)
    }

    /// Returns the time, in milliseconds, on the clock that limits how long the backlog is kept without replicas.
    fn alone_ms(&self) -> i64 {
        self.now().alone_ms(self.is_joined)
    }

    /// Whether writes on this server are sent to replicas.
    fn feeds_replicas(&self) -> bool {
        ReplicationView::new(self.history, self.link.as_ref(), self.config, self.clock).feeds_replicas()
    }

    /// Handles the begin or end of the stream, or another writer of it.
    pub(crate) fn stream_changed(&mut self) {
        self.effects.push(ReplicationEffect::AudienceChanged);
        self.forms_changed();
    }

    /// Handles a change of the forms in which replicas get changes.
    fn forms_changed(&mut self) {
        let file = self.is_appending && ReplicationControl::has_own_writes(self.link.is_some(), self.config);
        let receivers = Receivers { replicas: self.feeds_replicas(), file };
        let rules = FeedRules { for_7_0: self.history.is_for_7_0(), receivers };
        Feed::turn(self.keyspace, receivers.are_any().then_some(rules));
    }

    /// Whether clients of this server may change the data: it is a master, or a replica that allows this.
    pub(crate) fn has_own_writes(is_replica: bool, config: &Config) -> bool {
        !is_replica || !config.replication.read_only
    }

    /// Handles a new role of the server, or new replication parameters.
    pub(crate) fn rules_changed(&mut self) {
        let parameters = &self.config.replication;
        let may_forbid = self.link.is_some() || parameters.min_to_write > 0;
        self.history.keep(parameters.backlog_bytes());
        self.effects.push(ReplicationEffect::RulesChanged { may_forbid });
    }

    /// Forgets the history of the data. The next synchronization with a master is a full one.
    pub(crate) fn forget_history(&mut self) {
        *self.history = Replication::new(self.keyspace.rng());
        self.stream_changed();
        self.rules_changed();
    }

    /// Schedules a check of both sides within a second, unless one is scheduled.
    pub(crate) fn set_timer(&mut self) {
        let now_ms = self.clock.system().monotonic_ms();
        let order = || self.keyspace.next_order();
        self.timer.set(now_ms, self.clock.timers_mut(), order);
    }

    /// Begins a periodic check, whose timer has fired. A replica gives up a silent link to its master, opens a missing
    /// one, and acknowledges its offset. A master keeps the connections of its replicas alive.
    pub(crate) fn begin_look(&mut self) {
        self.timer.expire();
        if self.link.is_some() {
            self.look_at_master();
        } else {
            self.ping_replicas();
        }
    }

    /// Continues the check: frees a backlog without replicas, and cuts replicas that are silent or do not read.
    pub(crate) fn look_at_replicas(&mut self) {
        if self.link.is_none() {
            self.look_at_backlog();
        }
        self.check_replicas();
    }

    /// Ends the check and schedules the next one within a second, unless there is nothing to check.
    pub(crate) fn end_look(&mut self) {
        self.look_for_due_snapshot();
        let has_clients = self.history.replicas().len() > 0 || self.history.awaits_copies();
        if self.link.is_some() || self.history.has_stream() || has_clients {
            self.set_timer();
        }
    }

    /// Logs the new role of the server, if it is alone in the process.
    fn log_role(&self, is_replica: bool) {
        if !self.is_joined {
            tracing::info!(target: ROLE_CHANGES, is_replica);
        }
    }
}
