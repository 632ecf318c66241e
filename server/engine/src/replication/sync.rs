//! The synchronization of a client that becomes a replica, and the reply to it.

use super::catch_up::CatchUp;
use super::last_heard::{LastHeard, LinkClocks};
use super::replica::{Announced, Replica, ReplicaState};
use super::request::SyncRequest;
use super::snapshots::SnapshotPlace;
use super::state::{Replication, Resync};
use crate::clients::{Closing, Delivery, Session};
use crate::spec::CommandError;
use lockwheel_store::keyspace::Rng;
use lockwheel_store::memory::{BufferBytes, SharedBytes};

/// The refusal of a replica that must wait until others have read their snapshots. Replicas know the code `LOADING`.
const MANY_SNAPSHOTS: CommandError =
    CommandError::text("LOADING Too many snapshots are being sent to other replicas, ask again later");

pub(super) type Snapshot = (SnapshotPlace, SharedBytes);

/// A client that becomes a replica.
#[derive(Debug)]
pub(crate) struct NewReplica {
    session: u64,
    announced: Announced,
    ip: String,
    /// The name of the replica for the log.
    name: String,
    is_in_process: bool,
}

impl NewReplica {
    /// Whether the replica may be as old as Redis 7.0.
    pub(crate) fn is_for_7_0(&self) -> bool {
        !self.announced.reads_newer_forms
    }

    /// Whether the replica is a server of this process.
    pub(crate) fn is_in_process(&self) -> bool {
        self.is_in_process
    }
}

/// The way in which a replica gets the data that it lacks.
#[derive(Debug)]
pub(crate) enum SyncPlan {
    Stream,
    /// A snapshot that other replicas are being sent.
    Shared(SnapshotPlace, SharedBytes),
    /// The snapshot that is being made.
    Pending,
    NewSnapshot,
}

/// The reply to a client that becomes a replica. It is empty if the client waits for its snapshot to begin.
#[derive(Debug, Default)]
pub(crate) struct SyncAnswer {
    head: Vec<u8>,
    snapshot: Option<SharedBytes>,
    /// The stream after the snapshot, or after the offset that the replica has.
    stream: CatchUp,
}

impl SyncAnswer {
    pub(crate) fn has_snapshot(&self) -> bool {
        self.snapshot.is_some()
    }

    pub(crate) fn push(&self, delivery: &mut Delivery) {
        delivery.push_bytes(&self.head);
        if let Some(snapshot) = &self.snapshot {
            delivery.push_shared(snapshot);
        }
        delivery.push_bytes(&self.stream.head);
        self.stream.chunks.iter().for_each(|chunk| delivery.push_shared(chunk));
        delivery.push_bytes(&self.stream.tail);
    }
}

impl Replication {
    /// Returns the known facts about a client that becomes a replica.
    pub(crate) fn newcomer(&self, session: &Session) -> NewReplica {
        let (announced, ip) = self.introduction(session);
        let name = announced.name_at(&ip);
        tracing::info!("Replica {name} asks for synchronization");
        NewReplica { session: session.id, announced, ip, name, is_in_process: session.peer.in_process }
    }

    /// Returns the facts that a client has announced as a replica, and its address.
    fn introduction(&self, session: &Session) -> (Announced, String) {
        let announced = self.announced.get(&session.id).cloned().unwrap_or_default();
        let ip = match announced.ip.as_str() {
            "" => address_of(&session.peer.addr),
            ip => ip.to_owned(),
        };
        (announced, ip)
    }

    pub(super) fn name_of(&self, session: &Session) -> String {
        let (announced, ip) = self.introduction(session);
        announced.name_at(&ip)
    }

    /// Decides how a replica gets the data that it lacks. Fails with `LOADING`, so that it retries, if too many
    /// snapshots are being sent and none suits it.
    pub(crate) fn plan_sync(
        &mut self,
        newcomer: &NewReplica,
        sync: SyncRequest<'_>,
    ) -> Result<SyncPlan, CommandError> {
        let reads_newer = newcomer.announced.reads_newer_forms;
        let resync = sync.from.map_or(Resync::Full, |(history, at)| self.resync(history, at, reads_newer));
        let plan = match resync {
            Resync::Partial(_) => SyncPlan::Stream,
            Resync::Full => match self.snapshot_on_its_way(!reads_newer) {
                Some((place, snapshot)) => SyncPlan::Shared(place, snapshot),
                // A server of this process gets its own snapshot at once, so that the order of events does not depend
                // on real time.
                None if !newcomer.is_in_process && self.pending_serves(!reads_newer) => {
                    tracing::info!("Waiting for end of BGSAVE for SYNC");
                    SyncPlan::Pending
                }
                None => {
                    self.check_room_for_snapshot()?;
                    SyncPlan::NewSnapshot
                }
            },
        };
        self.for_7_0 |= !reads_newer && self.has_stream();
        if resync == Resync::Full {
            self.log_full_resync(&newcomer.name, sync);
        }
        Ok(plan)
    }

    /// Checks that another snapshot may be sent, or fails with `LOADING`.
    pub(crate) fn check_room_for_snapshot(&mut self) -> Result<(), CommandError> {
        if self.snapshots.has_room() { Ok(()) } else { Err(MANY_SNAPSHOTS) }
    }

    /// Logs the reason for a snapshot if the replica has asked for the stream.
    fn log_full_resync(&self, name: &str, sync: SyncRequest<'_>) {
        match sync.from {
            Some((b"?", _)) | None => tracing::info!("Full resync requested by replica {name}"),
            Some((history, at)) if self.id.is(history) => tracing::info!(
                "Unable to partial resync with replica {name} for lack of backlog (Replica request was: {at})."
            ),
            Some((history, at)) if self.id2.is(history) && at > self.second_offset => {
                tracing::info!(
                    "Partial resynchronization not accepted: Requested offset for second ID was {at}, but I can reply \
                 up to {}",
                    self.second_offset
                )
            }
            Some((history, _)) => tracing::info!(
                "Partial resynchronization not accepted: Replication ID mismatch (Replica asked for '{}', my \
                 replication IDs are '{}' and '{}')",
                history.escape_ascii(),
                self.id,
                self.id2
            ),
        }
    }

    /// Registers a client as a replica. Returns the reply: the snapshot, if it gets one now, and the following stream.
    /// Unwinds if there is no memory for that.
    pub(crate) fn take_on(
        &mut self,
        newcomer: NewReplica,
        sync: SyncRequest<'_>,
        plan: SyncPlan,
        (account, now): (&BufferBytes, LinkClocks),
    ) -> SyncAnswer {
        let is_full = !matches!(plan, SyncPlan::Stream);
        let is_joining = matches!(plan, SyncPlan::Pending);
        if is_full {
            self.count_full(sync);
        }
        let (answer, state) = match plan {
            SyncPlan::Stream => (self.answer_partial(&newcomer, sync, account), ReplicaState::Online),
            SyncPlan::Shared(place, snapshot) => {
                let is_awaited = sync.from.is_some();
                let state = if is_awaited { ReplicaState::SendBulk } else { ReplicaState::Online };
                (self.answer_full(sync, (place, snapshot), account), state)
            }
            SyncPlan::Pending => (self.announce_pending(sync), ReplicaState::AwaitsEnd),
            SyncPlan::NewSnapshot => (SyncAnswer::default(), ReplicaState::AwaitsStart),
        };
        let (session, snapshot) = (newcomer.session, answer.snapshot.as_ref());
        let replica = Replica {
            acknowledged: if is_full { 0 } else { sync.from.map_or(0, |(_, at)| at - 1) },
            on_disk: -1,
            announced: newcomer.announced,
            ip: newcomer.ip,
            state,
            answers: sync.from.is_some(),
            heard: LastHeard::first(newcomer.is_in_process, now),
            unsent: 0,
            checked: 0,
            snapshot: snapshot.map_or(0, |snapshot| snapshot.bytes().len() + answer.stream.len()),
            came_at: self.offset,
        };
        if is_joining {
            self.join_pending(session);
        }
        self.join(session, replica);
        answer
    }

    fn count_full(&mut self, sync: SyncRequest<'_>) {
        self.syncs.full += 1;
        let knew = sync.from.is_some_and(|(history, _)| history != b"?");
        self.syncs.refused_partial += u64::from(knew);
    }

    /// Returns the reply that announces the snapshot that is being made, if the replica uses offsets.
    fn announce_pending(&self, sync: SyncRequest<'_>) -> SyncAnswer {
        let place = self.pending.filter(|_| sync.from.is_some());
        let head = place.map_or_else(String::new, |place| place.announcement());
        SyncAnswer { head: head.into_bytes(), ..SyncAnswer::default() }
    }

    fn answer_partial(
        &mut self,
        newcomer: &NewReplica,
        sync: SyncRequest<'_>,
        account: &BufferBytes,
    ) -> SyncAnswer {
        let offset = sync.from.map_or(0, |(_, offset)| offset);
        let stream = self.catch_up(offset, account).unwrap_or_default();
        self.syncs.partial += 1;
        let head = match newcomer.announced.follows_renamed {
            true => format!("+CONTINUE {}\r\n", self.id),
            false => "+CONTINUE\r\n".to_owned(),
        };
        tracing::info!(
            "Partial resynchronization request from {} accepted. Sending {} bytes of backlog starting from offset \
             {offset}.",
            newcomer.name,
            stream.len()
        );
        SyncAnswer { head: head.into_bytes(), snapshot: None, stream }
    }

    fn answer_full(
        &mut self,
        sync: SyncRequest<'_>,
        (place, snapshot): Snapshot,
        account: &BufferBytes,
    ) -> SyncAnswer {
        let stream = self.catch_up(place.offset + 1, account).unwrap_or_default();
        let len = snapshot.bytes().len();
        let head = match sync.from {
            Some(_) => format!("{}${len}\r\n", place.announcement()),
            None => format!("${len}\r\n"),
        };
        SyncAnswer { head: head.into_bytes(), snapshot: Some(snapshot), stream }
    }

    /// Begins a stream for a snapshot, unless there is one. Returns whether it has begun. Changes made without a stream
    /// belong to no known history, so a new one begins.
    pub(crate) fn begin_stream_for_snapshot(&mut self, kept: usize, rng: &mut Rng) -> bool {
        if self.has_stream() {
            return false;
        }
        self.begin_another_history(rng);
        self.begin_stream(kept)
    }

    /// Returns the database in which the stream after a snapshot begins. `passed_on`: the database of the master's
    /// stream, if that is passed on. Otherwise the stream selects its database again.
    pub(crate) fn database_behind_snapshot(&mut self, passed_on: Option<usize>, for_7_0: bool) -> usize {
        passed_on.unwrap_or_else(|| {
            self.selected = None;
            self.for_7_0 |= for_7_0;
            0
        })
    }

    /// Records a snapshot of the current data.
    pub(crate) fn add_snapshot(&mut self, file: Vec<u8>, for_7_0: bool, account: &BufferBytes) -> Snapshot {
        let place = SnapshotPlace { id: self.id, offset: self.offset, for_7_0 };
        let snapshot = SharedBytes::new(account, file);
        self.snapshots.add(place, &snapshot);
        (place, snapshot)
    }

    /// Sends a client a copy of some data, then disconnects it. `tells_offset`: behind the place in the history.
    pub(crate) fn send_part(&mut self, file: Vec<u8>, tells_offset: bool, session: &mut Session) {
        if tells_offset {
            let place = SnapshotPlace { id: self.id, offset: self.offset, for_7_0: false };
            session.delivery.push_bytes(place.announcement().as_bytes());
        }
        session.delivery.push_bytes(format!("${}\r\n", file.len()).as_bytes());
        session.delivery.push_bytes(&file);
        self.end_copy(session);
    }

    /// Disconnects a client once its output has been sent, with the copy at its end.
    pub(super) fn end_copy(&self, session: &mut Session) {
        let name = self.name_of(session);
        tracing::info!("RDB transfer completed, rdb only replica ({name}) should be disconnected asap");
        session.close(Closing::AfterOutput);
    }
}

/// Returns the address without its port.
fn address_of(addr: &str) -> String {
    addr.rsplit_once(':').map_or(addr, |(ip, _)| ip).trim_matches(['[', ']']).to_owned()
}
