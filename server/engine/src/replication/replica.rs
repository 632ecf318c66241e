//! The state that a master keeps of a replica.

use super::last_heard::{LastHeard, LinkClocks};

/// The facts that a client has announced with REPLCONF before it asks for the stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Announced {
    /// The listening port of the replica. 0: not announced.
    pub(crate) port: u16,
    /// The announced address, if it differs from that of the connection.
    pub(crate) ip: String,
    /// Whether the replica reads a snapshot that ends with a mark (`capa eof`).
    pub(crate) reads_marked: bool,
    /// Whether the replica accepts a renamed history (`capa psync2`).
    pub(crate) follows_renamed: bool,
    /// Whether the replica reads forms that Redis 7.0 lacks (`capa rdb-12`, which no Redis announces).
    pub(crate) reads_newer_forms: bool,
}

impl Announced {
    /// Returns the name of a replica at this address for the log.
    pub(crate) fn name_at(&self, ip: &str) -> String {
        match self.port {
            0 => format!("{ip}:<unknown-replica-port>"),
            port => format!("{ip}:{port}"),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReplicaState {
    /// The replica waits for a snapshot to begin; another one is being made.
    AwaitsStart,
    /// The replica waits for the end of the snapshot that is being made.
    AwaitsEnd,
    /// The replica is being sent the snapshot.
    SendBulk,
    /// The replica follows the stream.
    Online,
}

impl ReplicaState {
    /// Whether the snapshot of the replica is incomplete. The replica is sent neither the snapshot nor the stream.
    pub(crate) fn awaits_snapshot(self) -> bool {
        matches!(self, ReplicaState::AwaitsStart | ReplicaState::AwaitsEnd)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            ReplicaState::AwaitsStart | ReplicaState::AwaitsEnd => "wait_bgsave",
            ReplicaState::SendBulk => "send_bulk",
            ReplicaState::Online => "online",
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Replica {
    pub(crate) announced: Announced,
    /// The announced address, or else that of the connection.
    pub(crate) ip: String,
    pub(crate) state: ReplicaState,
    /// Whether the replica acknowledges its offset. A replica that has asked with SYNC does not.
    pub(crate) answers: bool,
    /// The acknowledged offsets of the stream: executed, and on disk.
    pub(crate) acknowledged: i64,
    pub(crate) on_disk: i64,
    pub(crate) heard: LastHeard,
    /// The number of unsent bytes at the last check.
    pub(crate) unsent: usize,
    /// The unread output when it was last checked against its limits, or less since then, in bytes.
    pub(super) checked: usize,
    /// The bytes of the snapshot, and of the stream sent with it, until the replica acknowledges the snapshot.
    pub(crate) snapshot: usize,
    /// The length of the stream when the replica connected, in bytes.
    pub(crate) came_at: i64,
}

impl Replica {
    pub(crate) fn name(&self) -> String {
        self.announced.name_at(&self.ip)
    }

    /// Returns the bytes of [`snapshot`](Replica::snapshot) that may be unread, given the unsent bytes and the length
    /// of the stream. For a replica that never acknowledges, bytes that were sent count as read.
    pub(crate) fn unread_snapshot(&self, unsent: usize, stream: i64) -> usize {
        if self.answers {
            return self.snapshot;
        }
        let since = usize::try_from(stream - self.came_at).unwrap_or(0);
        self.snapshot.min(unsent.saturating_sub(since))
    }

    /// Returns the seconds since the last acknowledgement.
    pub(crate) fn lag_seconds(&self, now: LinkClocks) -> i64 {
        self.heard.silent_ms(now) / 1000
    }
}
