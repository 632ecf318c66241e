//! What a master knows of one of its replicas.

use super::last_heard::{LastHeard, LinkClocks};

/// What a client has told of itself by REPLCONF before it asked for the stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Announced {
    /// The port that it listens on; 0: it has not said.
    pub(crate) port: u16,
    /// Its address, if that is another than its connection's.
    pub(crate) ip: String,
    /// It reads a snapshot whose end a mark tells (`capa eof`).
    pub(crate) reads_marked: bool,
    /// It follows when the history gets another name (`capa psync2`).
    pub(crate) follows_renamed: bool,
    /// It reads what Redis 7.0 does not have, deadlines of fields among it (`capa rdb-12`): no Redis says so.
    pub(crate) reads_newer_forms: bool,
}

impl Announced {
    /// The name of a replica at this address in the log.
    pub(crate) fn name_at(&self, ip: &str) -> String {
        match self.port {
            0 => format!("{ip}:<unknown-replica-port>"),
            port => format!("{ip}:{port}"),
        }
    }
}

/// How far a replica is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReplicaState {
    /// It waits for the beginning of a snapshot: another one is being made.
    AwaitsStart,
    /// It waits for the end of the snapshot that is being made.
    AwaitsEnd,
    /// It is being sent the snapshot.
    SendBulk,
    /// It follows the stream.
    Online,
}

impl ReplicaState {
    /// Whether its snapshot is not complete: it is sent neither that nor the stream.
    pub(crate) fn awaits_snapshot(self) -> bool {
        matches!(self, ReplicaState::AwaitsStart | ReplicaState::AwaitsEnd)
    }

    /// As INFO and ROLE name it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            ReplicaState::AwaitsStart | ReplicaState::AwaitsEnd => "wait_bgsave",
            ReplicaState::SendBulk => "send_bulk",
            ReplicaState::Online => "online",
        }
    }
}

/// A replica.
#[derive(Clone, Debug)]
pub(crate) struct Replica {
    /// What it has told of itself.
    pub(crate) announced: Announced,
    /// Where it is: what it has told, or the address of its connection.
    pub(crate) ip: String,
    /// How far it is.
    pub(crate) state: ReplicaState,
    /// It says how far it is: one that has asked by SYNC does not.
    pub(crate) answers: bool,
    /// Up to which offset it has the stream, and has it on disk, by what it says.
    pub(crate) acknowledged: i64,
    pub(crate) on_disk: i64,
    /// When it said that last.
    pub(crate) heard: LastHeard,
    /// How much it had not been sent when that was last looked at.
    pub(crate) unsent: usize,
    /// Bytes of its snapshot and of the stream sent with it, until it says that it has read the snapshot.
    pub(crate) snapshot: usize,
    /// The length of the stream when it came, in bytes.
    pub(crate) came_at: i64,
}

impl Replica {
    /// Its name in the log.
    pub(crate) fn name(&self) -> String {
        self.announced.name_at(&self.ip)
    }

    /// Bytes of [`snapshot`](Replica::snapshot) that may be unread, if so many bytes are unsent and the stream has this
    /// length. One that never says that it has read it has read what was sent.
    pub(crate) fn unread_snapshot(&self, unsent: usize, stream: i64) -> usize {
        if self.answers {
            return self.snapshot;
        }
        let since = usize::try_from(stream - self.came_at).unwrap_or(0);
        self.snapshot.min(unsent.saturating_sub(since))
    }

    /// For how many seconds it has said nothing.
    pub(crate) fn lag_seconds(&self, now: LinkClocks) -> i64 {
        self.heard.silent_ms(now) / 1000
    }
}
