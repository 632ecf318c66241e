//! A read-only view of both sides of replication, with the resulting rules for requests.

use super::last_heard::LinkClocks;
use super::replica_link::ReplicaLink;
use super::replid::ReplicationId;
use super::state::Replication;
use crate::clock::EngineClock;
use crate::config::Config;

/// The extent to which a master has sent a replica its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SentHistory {
    /// The server was not the replica's master.
    Nothing,
    /// The history up to this offset.
    UpTo(i64),
    /// No part: the replica's data belong to another history.
    OfAnother,
}

/// Both sides of replication, the parameters in force, and the current time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReplicationView<'e> {
    history: &'e Replication,
    link: Option<&'e ReplicaLink>,
    config: &'e Config,
    now: LinkClocks,
}

impl<'e> ReplicationView<'e> {
    /// Returns a view of the master's side, and of the replica's side if the server is a replica.
    pub(crate) fn new(
        history: &'e Replication,
        link: Option<&'e ReplicaLink>,
        config: &'e Config,
        clock: &EngineClock,
    ) -> Self {
        ReplicationView { history, link, config, now: LinkClocks::of(clock) }
    }

    pub(crate) fn history(self) -> &'e Replication {
        self.history
    }

    /// Returns the link to the master. `None`: the server is not a replica.
    pub(crate) fn link(self) -> Option<&'e ReplicaLink> {
        self.link
    }

    /// Returns the master's address. For a killed server, the one that it follows once it comes back.
    pub(crate) fn followed(self, was_killed: bool) -> Option<(&'e str, u16)> {
        if was_killed {
            let [host, port] = &self.config.replication.master[..] else { return None };
            return Some((host, port.parse().ok()?));
        }
        self.link.map(|link| (link.host(), link.port()))
    }

    pub(crate) fn config(self) -> &'e Config {
        self.config
    }

    /// Returns the current time on the clocks that links use.
    pub(crate) fn now(self) -> LinkClocks {
        self.now
    }

    pub(crate) fn is_replica(self) -> bool {
        self.link.is_some()
    }

    /// Whether writes on this server are sent to replicas.
    pub(crate) fn feeds_replicas(self) -> bool {
        self.link.is_none() && self.history.has_stream()
    }

    /// Whether the server is a master, or is connected to its master. Only then can it serve replicas.
    pub(crate) fn has_its_master(self) -> bool {
        self.link.is_none_or(ReplicaLink::is_connected)
    }

    /// Whether the data belong to the history that the server names to a master.
    pub(crate) fn knows_its_history(self) -> bool {
        self.link.is_none_or(ReplicaLink::knows_history)
    }

    /// Returns how far this server, as a master, has sent its data to a replica of this history and offset.
    pub(crate) fn sent_history(self, id: ReplicationId, offset: i64) -> SentHistory {
        // During a FAILOVER, the old master already follows its successor.
        if !self.feeds_replicas() && !self.history.fails_over() {
            return SentHistory::Nothing;
        }
        match self.history.knows(id, offset) {
            true => SentHistory::UpTo(offset),
            false => SentHistory::OfAnother,
        }
    }

    /// Returns the offset of the server in the history of a master, if its data belong to that.
    pub(crate) fn offset_in_history_of(self, master: ReplicationView<'_>) -> Option<i64> {
        let is_follower = self.is_replica() && master.feeds_replicas();
        (is_follower && self.history.id() == master.history.id()).then_some(self.history.offset())
    }

    /// Whether the data may be stale, so that requests that would show them are refused.
    pub(crate) fn has_stale_data(self) -> bool {
        !self.has_its_master() && !self.config.replication.serve_stale_data
    }

    /// Whether the server is a replica on which clients may only read.
    pub(crate) fn is_read_only(self) -> bool {
        self.link.is_some() && self.config.replication.read_only
    }

    /// Whether the server is a master that lacks good replicas and therefore refuses writes.
    pub(crate) fn lacks_replicas(self) -> bool {
        let parameters = &self.config.replication;
        self.link.is_none()
            && parameters.min_to_write > 0
            && parameters.min_max_lag > 0
            && self.good_replicas() < parameters.min_to_write.unsigned_abs() as usize
    }

    /// Returns the number of replicas that were heard recently. O(replicas).
    pub(crate) fn good_replicas(self) -> usize {
        self.history.good(self.config.replication.min_max_lag, self.now)
    }
}
