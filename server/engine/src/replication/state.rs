//! The state of replication: the history, the stream, and the replicas.

use super::backlog::Backlog;
use super::catch_up::{CatchUp, Chunks};
use super::copies::Copies;
use super::failover::CoordinatedFailover;
use super::file_progress::FileProgress;
use super::last_heard::LinkClocks;
use super::replica::{Announced, Replica, ReplicaState};
use super::replid::ReplicationId;
use super::request::Acknowledgement;
use super::slow_replicas::SlowReplicas;
use super::snapshots::{SnapshotPlace, Snapshots};
use super::written_offsets::WrittenOffsets;
use crate::clients::Session;
use crate::propagation::ReservedGrants;
use lockwheel_resp::allocation;
use lockwheel_store::keyspace::Rng;
use lockwheel_store::memory::{BufferBytes, SharedBytes};
use std::collections::BTreeMap;

/// The way in which a new replica gets the data that it lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Resync {
    /// The stream from this offset, which is kept.
    Partial(i64),
    /// A snapshot.
    Full,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SyncCounts {
    /// The number of replicas that got a snapshot.
    pub(crate) full: u64,
    /// The number of replicas that got only the stream.
    pub(crate) partial: u64,
    /// The number of replicas that asked for only the stream and got a snapshot.
    pub(crate) refused_partial: u64,
}

/// The history of a server's data, and the replicas that follow it.
#[derive(Debug)]
pub(crate) struct Replication {
    pub(super) id: ReplicationId,
    /// The former name of the history. Replicas that know it by that name may continue.
    pub(super) id2: ReplicationId,
    /// The first offset that is not valid under the former name. -1: there is no former name.
    pub(super) second_offset: i64,
    /// The length of the stream, in bytes.
    pub(super) offset: i64,
    /// The offset of the last change of data in the stream. The rest only asks for offsets and the like.
    pub(super) changed_at: i64,
    pub(super) backlog: Option<Backlog>,
    /// The chunks of the stream that new replicas share.
    chunks: Chunks,
    pub(super) announced: BTreeMap<u64, Announced>,
    pub(super) snapshots: Snapshots,
    pub(super) copies: Copies,
    pub(super) pending: Option<SnapshotPlace>,
    pub(super) replicas: BTreeMap<u64, Replica>,
    pub(super) slow_replicas: SlowReplicas,
    /// The selected database of the stream. `None`: the stream must select one.
    pub(super) selected: Option<usize>,
    /// The numbers of grants that the stream names.
    pub(super) reserved_grants: ReservedGrants,
    /// The end of the stream that replicas have not been sent.
    pub(super) undelivered: Vec<u8>,
    /// The database in which a master's stream continues, while no session runs it.
    pub(super) resumes_in: usize,
    /// Whether a replica may be as old as Redis 7.0. The stream then uses older forms until it begins again.
    pub(super) for_7_0: bool,
    /// The offset up to which the stream may have forms that Redis 7.0 cannot read.
    newer_until: i64,
    /// The offset up to which the stream has the writes of each session.
    pub(super) written: WrittenOffsets,
    /// The offset after which replicas were last asked for their offsets.
    pub(super) asked_at: i64,
    pub(super) failover: Option<CoordinatedFailover>,
    /// The time since which there is no replica, in real monotonic milliseconds.
    pub(super) alone_since_ms: Option<i64>,
    /// The time of the last PING in the stream, in real monotonic milliseconds.
    pub(super) pinged_ms: i64,
    pub(super) syncs: SyncCounts,
    /// The number of acknowledgements and of new replicas.
    acknowledgements: u64,
    file: FileProgress,
}

impl Replication {
    /// Creates a new history.
    pub(crate) fn new(rng: &mut Rng) -> Self {
        Replication {
            id: ReplicationId::random(rng),
            id2: ReplicationId::NONE,
            second_offset: -1,
            offset: 0,
            changed_at: 0,
            backlog: None,
            chunks: Chunks::default(),
            announced: BTreeMap::new(),
            snapshots: Snapshots::default(),
            copies: Copies::default(),
            pending: None,
            replicas: BTreeMap::new(),
            slow_replicas: SlowReplicas::default(),
            selected: None,
            reserved_grants: ReservedGrants::default(),
            undelivered: Vec::new(),
            resumes_in: 0,
            for_7_0: false,
            newer_until: 0,
            written: WrittenOffsets::default(),
            asked_at: -1,
            failover: None,
            alone_since_ms: None,
            pinged_ms: 0,
            syncs: SyncCounts::default(),
            acknowledgements: 0,
            file: FileProgress::default(),
        }
    }

    pub(crate) fn id(&self) -> ReplicationId {
        self.id
    }

    /// Returns the former name of the history.
    pub(crate) fn id2(&self) -> ReplicationId {
        self.id2
    }

    /// Returns the first offset that is not valid under the former name. -1: there is no former name.
    pub(crate) fn second_offset(&self) -> i64 {
        self.second_offset
    }

    /// Returns the length of the stream, in bytes.
    pub(crate) fn offset(&self) -> i64 {
        self.offset
    }

    /// Returns the replicas, ordered by session.
    pub(crate) fn replicas(&self) -> impl ExactSizeIterator<Item = &Replica> {
        self.replicas.values()
    }

    pub(crate) fn syncs(&self) -> SyncCounts {
        self.syncs
    }

    /// Whether a client has announced that it reads snapshots with a mark at their end. O(log n).
    pub(crate) fn reads_marked(&self, session: u64) -> bool {
        self.announced.get(&session).is_some_and(|announced| announced.reads_marked)
    }

    pub(crate) fn announced_mut(&mut self, session: u64) -> &mut Announced {
        self.announced.entry(session).or_default()
    }

    /// Whether a client has announced that it reads forms that Redis 7.0 lacks.
    pub(crate) fn reads_newer_forms(&self, session: u64) -> bool {
        self.announced.get(&session).is_some_and(|announced| announced.reads_newer_forms)
    }

    /// Gives the history a new name and drops the current one.
    pub(crate) fn change_id(&mut self, rng: &mut Rng) {
        self.id = ReplicationId::random(rng);
    }

    pub(crate) fn has_stream(&self) -> bool {
        self.backlog.is_some()
    }

    pub(crate) fn backlog(&self) -> Option<&Backlog> {
        self.backlog.as_ref()
    }

    pub(crate) fn backlog_memory(&self) -> usize {
        self.backlog.as_ref().map_or(0, Backlog::memory)
    }

    /// Begins a stream, of at most `kept` bytes of backlog, unless there is one. Returns whether it has begun.
    pub(crate) fn begin_stream(&mut self, kept: usize) -> bool {
        let begins = self.backlog.is_none();
        if begins {
            self.backlog = Some(Backlog::new(self.offset, kept));
            self.selected = None;
        }
        begins
    }

    pub(crate) fn end_stream(&mut self) {
        self.backlog = None;
        self.chunks = Chunks::default();
        self.for_7_0 = false;
        self.written = WrittenOffsets::default();
        self.undelivered.clear();
        self.asked_at = -1;
    }

    /// Changes the backlog limit, in bytes.
    pub(crate) fn keep(&mut self, bytes: usize) {
        if let Some(backlog) = &mut self.backlog {
            backlog.set_limit(bytes);
        }
    }

    /// Appends bytes to the stream.
    pub(super) fn append(&mut self, bytes: &[u8]) {
        if let Some(backlog) = &mut self.backlog {
            self.offset += bytes.len() as i64;
            backlog.append(bytes);
        }
    }

    /// Records that the stream may have forms up to its current end that Redis 7.0 cannot read.
    pub(super) fn note_newer_forms(&mut self) {
        self.newer_until = self.offset;
    }

    /// Whether a replica that may be as old as Redis 7.0 follows the stream.
    pub(crate) fn has_older(&self) -> bool {
        self.replicas.values().any(|replica| !replica.announced.reads_newer_forms)
    }

    /// Records whether the append-only file of this server is on, and whether its first base is missing.
    pub(crate) fn set_file(&mut self, is_on: bool, awaits_base: bool) {
        self.acknowledgements += 1;
        self.file.set_on(is_on, awaits_base);
    }

    /// Returns the offset of the stream that the disk of this server has. `synced`: the bytes of its append-only file
    /// that are on the disk. `None`: the file is off.
    pub(crate) fn synced_offset(&mut self, synced: u64) -> Option<i64> {
        let offset = self.offset();
        self.file.synced_offset(synced, offset)
    }

    /// Records that this number of bytes was appended to the file of this server.
    pub(crate) fn appended(&mut self, bytes: u64) {
        self.file.appended = bytes;
    }

    /// Records that this number of bytes of the file of this server is on the disk.
    pub(crate) fn synced_file(&mut self, bytes: u64) {
        self.acknowledgements += 1;
        self.file.synced = bytes;
    }

    pub(crate) fn file(&self) -> FileProgress {
        self.file
    }

    /// Returns the offset up to which the stream has the writes of a session.
    pub(crate) fn written_by(&self, session: u64) -> i64 {
        self.written.of(session)
    }

    /// Forgets a session that has ended, which may have been a replica's. `alone_ms`: the current time, from which the
    /// backlog may be kept without replicas.
    pub(crate) fn leave(&mut self, session: &mut Session, alone_ms: i64) {
        let (id, was_replica) = (session.id, std::mem::take(&mut session.is_replica));
        if let Some(replica) = self.replicas.get(&id) {
            tracing::info!("Connection with replica {} lost.", replica.name());
        }
        if self.forget(id) | was_replica && self.replicas.is_empty() {
            self.alone_since_ms = Some(alone_ms);
        }
    }

    /// Forgets a session. Returns whether it was a replica's.
    fn forget(&mut self, session: u64) -> bool {
        self.written.remove(session);
        self.announced.remove(&session);
        self.slow_replicas.remove(session);
        self.copies.remove(session);
        self.replicas.remove(&session).is_some()
    }

    /// Renames the history. The old name stays valid up to the current offset.
    pub(crate) fn rename(&mut self, id: ReplicationId) {
        self.id2 = self.id;
        self.second_offset = self.offset + 1;
        self.id = id;
    }

    /// Begins a history with a new name, since the server becomes a master.
    pub(crate) fn begin_as_master(&mut self, rng: &mut Rng) {
        let id = self.another_id(rng);
        tracing::info!(
            "Setting secondary replication ID to {}, valid up to offset: {}. New replication ID is {id}",
            self.id,
            self.offset + 1
        );
        self.rename(id);
    }

    /// Continues the stream as a master, which must select its database again. `alone_ms`: the current time, from which
    /// the backlog is kept without replicas.
    pub(crate) fn write_as_master(&mut self, alone_ms: i64) {
        self.selected = None;
        self.alone_since_ms = Some(alone_ms);
    }

    /// Returns an unused name for a history. A master with the same seed may already have used the first candidate.
    fn another_id(&self, rng: &mut Rng) -> ReplicationId {
        loop {
            let id = ReplicationId::random(rng);
            if ![self.id, self.id2].contains(&id) {
                return id;
            }
        }
    }

    pub(crate) fn begin_history(&mut self, id: ReplicationId, offset: i64) {
        (self.id, self.id2, self.second_offset, self.offset) = (id, ReplicationId::NONE, -1, offset);
        (self.newer_until, self.changed_at) = (0, offset);
        self.end_stream();
    }

    /// Begins another history with an unused name, at the current offset.
    pub(crate) fn begin_another_history(&mut self, rng: &mut Rng) {
        let id = self.another_id(rng);
        self.begin_history(id, self.offset);
    }

    /// Ends the stream if it has been kept without replicas for more than `ttl_s` seconds. Returns whether it has
    /// ended. `now_ms` is on the same clock as `alone_since_ms`. If `ttl_s` is 0, the stream never ends.
    pub(crate) fn expire_backlog(&mut self, now_ms: i64, ttl_s: i64, rng: &mut Rng) -> bool {
        let ttl_ms = ttl_s.saturating_mul(1000);
        let is_over = |since_ms: i64| ttl_ms > 0 && now_ms - since_ms > ttl_ms;
        if !self.alone_since_ms.is_some_and(is_over) || !self.replicas.is_empty() {
            return false;
        }
        tracing::info!(
            "Replication backlog freed after {} seconds without connected replicas.",
            ttl_ms / 1000
        );
        self.begin_another_history(rng);
        self.alone_since_ms = None;
        true
    }

    /// Sets the form of the stream, from its beginning: `for_7_0` means for replicas as old as Redis 7.0.
    pub(crate) fn write_for(&mut self, for_7_0: bool) {
        self.for_7_0 = for_7_0;
    }

    /// Whether the stream suits replicas that may be as old as Redis 7.0.
    pub(crate) fn is_for_7_0(&self) -> bool {
        self.for_7_0
    }

    /// Records the database in which a master's stream continues, while no session runs it.
    pub(crate) fn resume_in(&mut self, db: usize) {
        self.resumes_in = db;
    }

    /// Takes the database in which a master's stream continues.
    pub(crate) fn take_database(&mut self) -> usize {
        std::mem::take(&mut self.resumes_in)
    }

    /// Returns the stream from the byte at an offset, if all of that is kept and has been delivered.
    pub(crate) fn stream_since(&self, offset: i64) -> Option<Vec<u8>> {
        self.backlog.as_ref()?.since(offset).map(joined)
    }

    /// Returns the stream from an offset for a new replica; most of it is shared. Unwinds if there is no memory for it.
    pub(super) fn catch_up(&mut self, offset: i64, account: &BufferBytes) -> Option<CatchUp> {
        self.chunks.catch_up(self.backlog.as_ref()?, offset, account)
    }

    /// Returns a snapshot that replicas are being sent, if the stream since it is kept.
    pub(super) fn snapshot_on_its_way(&mut self, for_7_0: bool) -> Option<(SnapshotPlace, SharedBytes)> {
        let kept = self.backlog.as_ref()?.first_offset() - 1;
        // A replica as old as Redis 7.0 must get no newer forms after its snapshot.
        let first_offset = if for_7_0 { kept.max(self.newer_until) } else { kept };
        self.snapshots.find(self.id, for_7_0, first_offset)
    }

    /// Whether an offset of the history with this name belongs to this history too.
    pub(crate) fn knows(&self, id: ReplicationId, offset: i64) -> bool {
        self.id == id || (self.id2 == id && offset < self.second_offset)
    }

    /// Decides how a replica continues that knows the history by this name and wants it from this offset. A replica
    /// that may be as old as Redis 7.0 gets no forms that it cannot read.
    pub(super) fn resync(&self, id: &[u8], offset: i64, reads_newer_forms: bool) -> Resync {
        let knows = self.id.is(id) || (self.id2.is(id) && offset <= self.second_offset);
        let goes_on = knows && (reads_newer_forms || offset > self.newer_until);
        let rest = self.backlog.as_ref().filter(|_| goes_on).and_then(|backlog| backlog.since(offset));
        rest.map_or(Resync::Full, |_| Resync::Partial(offset))
    }

    /// Returns the replicas that follow the stream.
    pub(crate) fn online(&self) -> impl Iterator<Item = &Replica> {
        self.replicas.values().filter(|replica| replica.state == ReplicaState::Online)
    }

    /// Returns the number of replicas that have not acknowledged all changes, of those that ever acknowledge.
    pub(crate) fn lagging(&self) -> usize {
        let lags = |replica: &&Replica| {
            replica.state != ReplicaState::Online || replica.acknowledged < self.changed_at
        };
        self.replicas.values().filter(|replica| replica.answers).filter(lags).count()
    }

    pub(crate) fn replica_sessions(&self) -> impl Iterator<Item = u64> {
        self.replicas.keys().copied()
    }

    /// Returns the bytes of its snapshot that a replica may not have read, given its unsent bytes.
    pub(crate) fn unread_snapshot(&self, session: u64, unsent: usize) -> usize {
        self.replicas.get(&session).map_or(0, |replica| replica.unread_snapshot(unsent, self.offset))
    }

    /// Records that a replica, a server of this process, is cut off or reachable again.
    pub(crate) fn set_cut(&mut self, session: u64, is_cut: bool, now: LinkClocks) {
        if let Some(replica) = self.replicas.get_mut(&session) {
            replica.heard.set_cut(is_cut, now);
        }
    }

    pub(crate) fn at(&self, host: &str, port: i64) -> Option<&Replica> {
        let is_there = |replica: &&Replica| {
            replica.ip.eq_ignore_ascii_case(host) && i64::from(replica.announced.port) == port
        };
        self.replicas.values().find(is_there)
    }

    /// Returns the address of a replica that has the whole stream. If an address is given, only that replica counts.
    pub(super) fn synced(&self, address: Option<&(String, u16)>) -> Option<(String, u16)> {
        let mut online = self.online().filter(|replica| replica.acknowledged == self.offset);
        let is_meant = |replica: &Replica| {
            address.is_none_or(|(host, port)| {
                replica.ip.eq_ignore_ascii_case(host) && replica.announced.port == *port
            })
        };
        let synced = online.find(|replica| is_meant(replica))?;
        Some((synced.ip.clone(), synced.announced.port))
    }

    pub(crate) fn acknowledged(&self, offset: i64) -> usize {
        self.online().filter(|replica| replica.acknowledged >= offset).count()
    }

    pub(crate) fn on_disk(&self, offset: i64) -> usize {
        self.online().filter(|replica| replica.on_disk >= offset).count()
    }

    /// Returns the number of replicas heard within the last `max_lag` seconds.
    pub(crate) fn good(&self, max_lag: i64, now: LinkClocks) -> usize {
        self.online().filter(|replica| replica.lag_seconds(now) <= max_lag).count()
    }

    pub(super) fn join(&mut self, session: u64, replica: Replica) {
        self.acknowledgements += 1;
        self.alone_since_ms = None;
        self.replicas.insert(session, replica);
    }

    /// Returns the number of acknowledgements and of new replicas.
    pub(crate) fn acknowledgements(&self) -> u64 {
        self.acknowledgements
    }

    /// Records the acknowledged offset of a replica, and the one on disk if given.
    pub(crate) fn acknowledge(
        &mut self,
        session: u64,
        Acknowledgement { offset, on_disk }: Acknowledgement,
        now: LinkClocks,
    ) {
        let Some(replica) = self.replicas.get_mut(&session) else { return };
        self.acknowledgements += 1;
        // A replica cannot have bytes that were not sent.
        replica.acknowledged = replica.acknowledged.max(offset.min(self.offset));
        replica.on_disk = replica.on_disk.max(on_disk.unwrap_or(-1));
        replica.heard.hear(now);
        if replica.state.awaits_snapshot() {
            return;
        }
        replica.snapshot = 0;
        if std::mem::replace(&mut replica.state, ReplicaState::Online) != ReplicaState::Online {
            tracing::info!("Synchronization with replica {} succeeded", replica.name());
        }
    }
}

/// Returns a copy of a part of the stream. Unwinds if there is no memory for it.
fn joined((one, other): (&[u8], &[u8])) -> Vec<u8> {
    let mut bytes = Vec::new();
    allocation::reserve(&mut bytes, one.len() + other.len());
    bytes.extend_from_slice(one);
    bytes.extend_from_slice(other);
    bytes
}

#[cfg(test)]
mod tests {
    use super::super::test_replicas::online;
    use super::*;
    use lockwheel_store::memory::BufferBytes;

    const NOW: LinkClocks = LinkClocks { real_ms: 5000, shared_ms: 0 };

    fn has(offset: i64, on_disk: Option<i64>) -> Acknowledgement {
        Acknowledgement { offset, on_disk }
    }

    #[test]
    fn a_replica_with_either_replication_id_continues_the_stream() {
        let mut replication = Replication::new(&mut Rng::new(7));
        assert_eq!(replication.resync(replication.id.as_bytes(), 1, false), Resync::Full);
        assert!(replication.begin_stream(100) && !replication.begin_stream(100));
        replication.append(b"abc");
        let old = replication.id;
        assert_eq!(replication.resync(old.as_bytes(), 2, false), Resync::Partial(2));
        assert_eq!(replication.resync(old.as_bytes(), 5, false), Resync::Full);
        replication.rename(ReplicationId::random(&mut Rng::new(8)));
        replication.append(b"de");
        assert_eq!(replication.resync(old.as_bytes(), 4, false), Resync::Partial(4));
        assert_eq!(replication.resync(old.as_bytes(), 5, false), Resync::Full, "by then it had another name");
        assert_eq!(replication.resync(replication.id.as_bytes(), 5, false), Resync::Partial(5));
        assert_eq!(replication.resync(b"?", -1, false), Resync::Full);
        assert_eq!((replication.second_offset, replication.offset), (4, 5));
    }

    #[test]
    fn an_older_replica_continues_after_forms_it_cannot_read() {
        let mut replication = Replication::new(&mut Rng::new(7));
        replication.begin_stream(100);
        replication.append(b"abc");
        replication.note_newer_forms();
        replication.append(b"de");
        let id = replication.id;
        let resync = |at, reads_newer| replication.resync(id.as_bytes(), at, reads_newer);
        assert_eq!(resync(3, false), Resync::Full);
        assert_eq!(resync(3, true), Resync::Partial(3));
        assert_eq!(resync(4, false), Resync::Partial(4));
    }

    #[test]
    fn an_older_replica_shares_no_snapshot_before_unreadable_forms() {
        let mut replication = Replication::new(&mut Rng::new(7));
        replication.begin_stream(100);
        replication.append(b"abc");
        let account = BufferBytes::default();
        let snapshots = [true, false].map(|for_7_0| {
            let snapshot = SharedBytes::new(&account, b"snapshot".to_vec());
            let place = SnapshotPlace { id: replication.id, offset: replication.offset, for_7_0 };
            replication.snapshots.add(place, &snapshot);
            snapshot
        });
        let begin = |replication: &mut Replication, for_7_0| {
            replication.snapshot_on_its_way(for_7_0).map(|(place, _)| place.offset)
        };
        replication.append(b"d");
        assert_eq!(begin(&mut replication, true), Some(3));
        replication.note_newer_forms();
        replication.append(b"e");
        assert_eq!(begin(&mut replication, true), None);
        assert_eq!(begin(&mut replication, false), Some(3));
        drop(snapshots);
    }

    #[test]
    fn a_silent_replica_counts_a_sent_snapshot_as_read() {
        let answers = Replica { snapshot: 50, came_at: 100, ..online(0) };
        let silent = Replica { answers: false, ..answers.clone() };
        assert_eq!(
            [(60, 100), (30, 110), (0, 110)].map(|(unsent, stream)| silent.unread_snapshot(unsent, stream)),
            [50, 20, 0]
        );
        assert_eq!(answers.unread_snapshot(0, 110), 50, "it has not said so");
    }

    #[test]
    fn only_replicas_that_acknowledged_the_offset_count() {
        let mut replication = Replication::new(&mut Rng::new(7));
        replication.offset = 100;
        replication.replicas.insert(1, online(10));
        replication.replicas.insert(2, Replica { state: ReplicaState::SendBulk, ..online(0) });
        assert_eq!((replication.acknowledged(10), replication.acknowledged(11)), (1, 0));
        replication.acknowledge(2, has(20, None), NOW);
        assert_eq!(replication.replicas[&2].state, ReplicaState::Online);
        replication.acknowledge(2, has(15, Some(7)), NOW);
        let reached = (replication.acknowledged(11), replication.acknowledged(20));
        assert_eq!(reached, (1, 1), "an old answer takes nothing back");
        assert_eq!((replication.on_disk(7), replication.on_disk(8)), (1, 0));
        replication.acknowledge(2, has(101, None), NOW);
        assert_eq!(replication.acknowledged(101), 0, "that is not there yet");
        assert_eq!((replication.good(4, NOW), replication.good(5, NOW)), (1, 2));
        assert!(replication.forget(2) && !replication.forget(2));
    }
}
