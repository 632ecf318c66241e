//! Both parts of replication, to look at, and what follows from them for requests.

use super::last_heard::LinkClocks;
use super::replica_link::ReplicaLink;
use super::replid::ReplicationId;
use super::state::Replication;
use crate::clock::EngineClock;
use crate::config::Config;

/// The extent to which a master has told a replica of its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fed {
    /// It was not its master.
    Nothing,
    /// Its history up to this offset.
    UpTo(i64),
    /// Not even the beginning: what the replica has is of another history.
    OfAnother,
}

/// Both parts of replication, the parameters in force, and the present instant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReplicationView<'e> {
    history: &'e Replication,
    link: Option<&'e ReplicaLink>,
    config: &'e Config,
    now: LinkClocks,
}

impl<'e> ReplicationView<'e> {
    /// Returns a view of the master's part, and of the replica's if the server is a replica.
    pub(crate) fn new(
        history: &'e Replication,
        link: Option<&'e ReplicaLink>,
        config: &'e Config,
        clock: &EngineClock,
    ) -> Self {
        ReplicationView { history, link, config, now: LinkClocks::of(clock) }
    }

    /// The history of the data, and the replicas.
    pub(crate) fn history(self) -> &'e Replication {
        self.history
    }

    /// The link to the master. `None`: the server is no replica.
    pub(crate) fn link(self) -> Option<&'e ReplicaLink> {
        self.link
    }

    /// Returns where the master is that the server follows. When the server was killed, that is the one that it follows
    /// when it comes back.
    pub(crate) fn followed(self, was_killed: bool) -> Option<(&'e str, u16)> {
        if was_killed {
            let [host, port] = &self.config.replication.master[..] else { return None };
            return Some((host, port.parse().ok()?));
        }
        self.link.map(|link| (link.host(), link.port()))
    }

    /// The parameters in force.
    pub(crate) fn config(self) -> &'e Config {
        self.config
    }

    /// The present instant on the clocks that links go by.
    pub(crate) fn now(self) -> LinkClocks {
        self.now
    }

    /// Whether the server is a replica.
    pub(crate) fn is_replica(self) -> bool {
        self.link.is_some()
    }

    /// Whether changes made here go to replicas.
    pub(crate) fn feeds_replicas(self) -> bool {
        self.link.is_none() && self.history.has_stream()
    }

    /// Whether it is a master, or knows at once what its master does: only then it has what replicas of it follow.
    pub(crate) fn has_its_master(self) -> bool {
        self.link.is_none_or(ReplicaLink::is_connected)
    }

    /// Whether the data are of the history that the server names to a master.
    pub(crate) fn knows_its_history(self) -> bool {
        self.link.is_none_or(ReplicaLink::knows_history)
    }

    /// Returns what the server, as a master, has told a replica whose data are those of a history up to an offset.
    pub(crate) fn has_fed(self, id: ReplicationId, offset: i64) -> Fed {
        // Who hands its part over by FAILOVER follows already.
        if !self.feeds_replicas() && !self.history.fails_over() {
            return Fed::Nothing;
        }
        match self.history.knows(id, offset) {
            true => Fed::UpTo(offset),
            false => Fed::OfAnother,
        }
    }

    /// Returns how far the server is in the history of a master's data, if that is what it has.
    pub(crate) fn offset_in_history_of(self, master: ReplicationView<'_>) -> Option<i64> {
        let is_follower = self.is_replica() && master.feeds_replicas();
        (is_follower && self.history.id() == master.history.id()).then_some(self.history.offset())
    }

    /// Whether the data may be old, so that requests that would show that are refused.
    pub(crate) fn has_stale_data(self) -> bool {
        !self.has_its_master() && !self.config.replication.serve_stale_data
    }

    /// Whether it is a replica on which clients may only read.
    pub(crate) fn is_read_only(self) -> bool {
        self.link.is_some() && self.config.replication.read_only
    }

    /// Whether a master lacks good replicas, so that it refuses writes.
    pub(crate) fn lacks_replicas(self) -> bool {
        let parameters = &self.config.replication;
        self.link.is_none()
            && parameters.min_to_write > 0
            && parameters.min_max_lag > 0
            && self.good_replicas() < parameters.min_to_write.unsigned_abs() as usize
    }

    /// The number of replicas that were heard recently. O(replicas).
    pub(crate) fn good_replicas(self) -> usize {
        self.history.good(self.config.replication.min_max_lag, self.now)
    }
}
