//! The master's side: replicas come and go, and are told what has changed.

use super::super::engine::Engine;
use super::super::hooks::Hook;
use crate::clients::{Closing, Slot};
use crate::replication::{
    Acknowledgement, Announced, CatchUp, Feed, LastHeard, LinkClocks, Replica, ReplicaState, ReplicationId,
    Resync, SnapshotPlace, StreamWriter, SyncRequest, Unit,
};
use crate::spec::CommandError;
use lockwheel_resp::{allocation, write_request};
use lockwheel_store::keyspace::Effect;
use lockwheel_store::memory::SharedBytes;

/// Bytes around a word of a request, at most.
const WORD_FRAME: usize = 32;
/// A replica that would have more bytes unread than this does not keep up.
const BEHIND_MIN: usize = 64 * 1024;

/// The refusal of a replica that has to wait until others have read their snapshots. Replicas know the word.
const MANY_SNAPSHOTS: CommandError =
    CommandError::text("LOADING Too many snapshots are being sent to other replicas, ask again later");

/// The answer to a client that becomes a replica.
struct SyncAnswer {
    head: Vec<u8>,
    snapshot: Option<SharedBytes>,
    /// The stream behind the snapshot, or behind what the replica has.
    stream: CatchUp,
}

/// Asks replicas how far they are.
const GETACK: &[&[u8]] = &[b"REPLCONF", b"GETACK", b"*"];

impl Engine {
    /// Tells replicas what a command, script or transaction has changed, now that it has ended.
    #[cold]
    pub(in crate::core) fn replicate(&mut self) {
        self.hooks.set(Hook::Replicate, false);
        let Some(feed) = self.keyspace.subscriber_itself::<Feed>() else { return };
        let unit = feed.take();
        if unit.is_empty() || self.faults.is_dying {
            return;
        }
        if unit.is_incomplete {
            return self.break_stream();
        }
        // Before anything of it has been sent.
        let Ok(writer) = allocation::contain(|| self.written_unit(&unit)) else { return self.break_stream() };
        let has_newer_forms = writer.has_newer_forms();
        let (bytes, selected) = writer.finish();
        self.replication.selected = selected;
        self.send_changes(&bytes);
        if has_newer_forms {
            self.replication.note_newer_forms();
        }
        self.replication.note_written(&unit.by);
    }

    /// The requests that replicas are told. Unwinds if there is no memory for them.
    fn written_unit(&mut self, unit: &Unit) -> StreamWriter {
        let mut writer = StreamWriter::new(self.replication.selected, self.replication.for_7_0);
        let is_several = unit.structure.len() + unit.keys.len() + unit.requests.len() > 1;
        if is_several {
            writer.request(&[b"MULTI"]);
        }
        unit.structure.iter().for_each(|structure| writer.structure(*structure));
        for (db, key) in &unit.keys {
            let tx = self.keyspace.tx(*db, self.clock.now());
            let value = tx.peek(key).map(|value| (value, tx.deadline(key)));
            writer.key((*db, key), value);
        }
        unit.requests.iter().for_each(|request| writer.written(request));
        if is_several {
            writer.request(&[b"EXEC"]);
        }
        writer
    }

    /// Something has changed of which replicas cannot be told. Another history begins, so that each of them gets a
    /// snapshot: none misses the change.
    #[cold]
    fn break_stream(&mut self) {
        tracing::warn!("There is no memory to tell replicas what has changed: they are to synchronize anew");
        let (id, offset) = (self.another_history(), self.replication.offset);
        self.replication.begin_history(id, offset);
        self.stream_changed();
        self.cut_replicas();
    }

    /// The stream goes on with these bytes, which change the data.
    pub(super) fn send_changes(&mut self, bytes: &[u8]) {
        self.send_stream(bytes);
        self.replication.changed_at = self.replication.offset;
    }

    /// The stream goes on with these bytes. O(replicas that keep up), beside the bytes.
    pub(super) fn send_stream(&mut self, bytes: &[u8]) {
        self.replication.append(bytes);
        if self.replication.replicas.len() > self.replication.behind.len() {
            let replicas = self.replication.replicas.keys().copied();
            let keeping_up: Vec<u64> = replicas.filter(|id| !self.replication.behind.has(*id)).collect();
            keeping_up.iter().for_each(|id| self.send_to_replica(*id, bytes));
            if !self.replication.behind.is_empty() {
                self.keep_for_those_behind(bytes);
                self.check_those_behind(keeping_up);
            }
        } else if !self.replication.behind.is_empty() {
            self.keep_for_those_behind(bytes);
        }
    }

    /// Keeps a part of the stream, once, for all replicas that do not keep up. Those that have left too much unread
    /// are cut.
    fn keep_for_those_behind(&mut self, bytes: &[u8]) {
        let (behind, account) = (&mut self.replication.behind, &self.memory.stream);
        let kept = allocation::contain(|| behind.append(bytes, account));
        if kept == Ok(false) {
            return;
        }
        for id in behind.sessions() {
            match (self.sessions.find(id), &kept) {
                (Some(slot), Ok(_)) => {
                    self.check_much_output(slot);
                    self.wake(slot);
                }
                (Some(slot), Err(_)) => self.cut_for_lack_of_memory(slot),
                // Nothing is kept for a session that has been forgotten.
                (None, _) => self.replication.behind.remove(id),
            }
        }
    }

    /// Holds the output of those of these replicas that do not keep up against their limits: the stream may not go on.
    pub(super) fn check_those_behind(&mut self, replicas: Vec<u64>) {
        for id in replicas {
            if self.replication.behind.has(id)
                && let Some(slot) = self.sessions.find(id)
            {
                self.check_much_output(slot);
            }
        }
    }

    /// Gives a replica that did not keep up what it lacks, now that it has been sent everything else. One that is being
    /// disconnected has lost some of that, and gets nothing.
    pub(in crate::core) fn feed_replica(&mut self, slot: Slot) {
        let session = self.sessions.get_mut(slot);
        if session.closing == Some(Closing::Now) {
            return;
        }
        let lacked = self.replication.behind.take(session.id, &self.memory.stream);
        let delivery = &mut session.delivery;
        if allocation::contain(|| lacked.iter().for_each(|block| delivery.push_shared(block))).is_err() {
            self.cut_for_lack_of_memory(slot);
        }
    }

    /// Bytes that a replica has not been sent.
    pub(crate) fn unsent(&self, slot: Slot) -> usize {
        let session = self.sessions.get(slot);
        session.delivery.pending() + self.replication.behind.unsent(session.id)
    }

    /// Cuts a replica: it comes back, and asks for what it lacks.
    fn cut_for_lack_of_memory(&mut self, slot: Slot) {
        tracing::warn!("There is no memory for what a replica is to be told: it is disconnected");
        self.cut_off(slot);
    }

    /// Sends a part of the stream to a replica that has kept up. If it does not any more, or the part is large, it
    /// lacks the stream from here on, until it has read what it was sent.
    fn send_to_replica(&mut self, id: u64, bytes: &[u8]) {
        let Some(slot) = self.sessions.find(id) else { return };
        let session = self.sessions.get_mut(slot);
        if session.closing == Some(Closing::Now) {
            return;
        }
        if session.delivery.pending() + bytes.len() > BEHIND_MIN {
            self.replication.behind.add(id, &self.memory.stream);
        } else if allocation::contain(|| session.delivery.push_bytes(bytes)).is_err() {
            return self.cut_for_lack_of_memory(slot);
        } else {
            self.check_output_limit(slot);
        }
        // The connection of one that is behind asks for more once it has sent everything.
        self.wake(slot);
    }

    /// Replicas run a request as it is when what runs now has ended: a message, a change of libraries.
    pub(crate) fn replicate_request(&mut self, words: &[&[u8]], session: u64) {
        if !self.replication().feeds_replicas() {
            return;
        }
        let written = allocation::contain(|| {
            let mut request = Vec::new();
            allocation::reserve(&mut request, words.iter().map(|word| word.len() + WORD_FRAME).sum());
            write_request(words, &mut request);
            request
        });
        let Ok(request) = written else { return self.break_stream() };
        let Some(feed) = self.keyspace.subscriber_itself::<Feed>() else { return };
        if feed.add_request(request, session) {
            self.keyspace.push_effect(Effect::ReplicationDue);
        }
    }

    /// Changes keys of which replicas are not told.
    pub(crate) fn untold(&mut self, change: impl FnOnce(&mut Self)) {
        let before = self.keyspace.subscriber_itself::<Feed>().map(Feed::take);
        change(self);
        let feed = self.keyspace.subscriber_itself::<Feed>();
        feed.zip(before).into_iter().for_each(|(feed, before)| feed.put_back(before));
    }

    /// Whether there is a stream, or who writes it, has changed.
    pub(super) fn stream_changed(&mut self) {
        self.note_audience();
        let is_on = self.replication().feeds_replicas();
        match self.keyspace.subscriber_itself::<Feed>() {
            Some(feed) => feed.turn(is_on),
            None if is_on => {
                let mut feed = Feed::default();
                feed.turn(true);
                self.keyspace.subscribe(Box::new(feed));
            }
            None => return,
        }
        self.keyspace.renew_interests();
    }

    /// A client becomes a replica: it gets what it lacks, and then the stream.
    ///
    /// # Errors
    /// Returns `LOADING` if too many snapshots are on their way, of which none serves it: it is to ask again.
    pub(crate) fn attach_replica(&mut self, slot: Slot, wanted: SyncRequest<'_>) -> Result<(), CommandError> {
        self.replicate();
        self.look_at_backlog();
        let id = self.session(slot).id;
        let announced = self.replication.announced.get(&id).cloned().unwrap_or_default();
        let ip = match announced.ip.as_str() {
            "" => address_of(&self.session(slot).peer.addr),
            ip => ip.to_owned(),
        };
        let name = announced.name_at(&ip);
        tracing::info!("Replica {name} asks for synchronization");
        let reads_newer = announced.reads_newer_forms;
        let resync = wanted
            .from
            .map_or(Resync::Full, |(history, at)| self.replication.resync(history, at, reads_newer));
        let is_full = resync == Resync::Full;
        let shared = if is_full { self.replication.snapshot_on_its_way(!reads_newer) } else { None };
        if is_full && shared.is_none() && !self.replication.snapshots.has_room() {
            return Err(MANY_SNAPSHOTS);
        }
        self.replication.for_7_0 |= !announced.reads_newer_forms && self.replication.has_stream();
        let answer = match resync {
            Resync::Partial(offset) => self.answer_partial(&announced, &name, offset),
            Resync::Full => {
                self.log_full_resync(&name, wanted);
                self.answer_full(&announced, wanted, shared)
            }
        };
        let waits = is_full && wanted.from.is_some();
        let replica = Replica {
            acknowledged: if is_full { 0 } else { wanted.from.map_or(0, |(_, at)| at - 1) },
            on_disk: -1,
            announced,
            ip,
            state: if waits { ReplicaState::SendBulk } else { ReplicaState::Online },
            answers: wanted.from.is_some(),
            heard: LastHeard::first(self.session(slot).peer.in_process, LinkClocks::of(&self.clock)),
            unsent: 0,
            snapshot: answer
                .snapshot
                .as_ref()
                .map_or(0, |snapshot| snapshot.bytes().len() + answer.stream.len()),
            came_at: self.replication.offset,
        };
        self.replication.join(id, replica);
        self.replication.alone_since_ms = None;
        // Nothing but the stream is sent from now on.
        self.give_up_tickets(id);
        let session = self.sessions.get_mut(slot);
        session.is_replica = true;
        session.delivery.push_bytes(&answer.head);
        if let Some(snapshot) = &answer.snapshot {
            session.delivery.push_shared(snapshot);
        }
        session.delivery.push_bytes(&answer.stream.head);
        answer.stream.chunks.iter().for_each(|chunk| session.delivery.push_shared(chunk));
        session.delivery.push_bytes(&answer.stream.tail);
        self.watch_idle(slot);
        self.set_replication_timer();
        if is_full {
            self.request_acknowledgements();
        }
        Ok(())
    }

    /// Says why a replica gets a snapshot, if it has asked for less.
    fn log_full_resync(&self, name: &str, wanted: SyncRequest<'_>) {
        let replication = &self.replication;
        match wanted.from {
            Some((b"?", _)) | None => tracing::info!("Full resync requested by replica {name}"),
            Some((history, at)) if replication.id.is(history) => tracing::info!(
                "Unable to partial resync with replica {name} for lack of backlog (Replica request was: {at})."
            ),
            Some((history, at)) if replication.id2.is(history) && at > replication.second_offset => {
                tracing::info!(
                    "Partial resynchronization not accepted: Requested offset for second ID was {at}, but I can reply \
                 up to {}",
                    replication.second_offset
                )
            }
            Some((history, _)) => tracing::info!(
                "Partial resynchronization not accepted: Replication ID mismatch (Replica asked for '{}', my \
                 replication IDs are '{}' and '{}')",
                history.escape_ascii(),
                replication.id,
                replication.id2
            ),
        }
    }

    fn answer_partial(&mut self, announced: &Announced, name: &str, offset: i64) -> SyncAnswer {
        let stream = self.replication.catch_up(offset, &self.memory.stream).unwrap_or_default();
        self.replication.syncs.partial += 1;
        let head = match announced.follows_renamed {
            true => format!("+CONTINUE {}\r\n", self.replication.id),
            false => "+CONTINUE\r\n".to_owned(),
        };
        tracing::info!(
            "Partial resynchronization request from {name} accepted. Sending {} bytes of backlog starting from \
             offset {}.",
            stream.len(),
            offset
        );
        SyncAnswer { head: head.into_bytes(), snapshot: None, stream }
    }

    fn answer_full(
        &mut self,
        announced: &Announced,
        wanted: SyncRequest<'_>,
        shared: Option<(SnapshotPlace, SharedBytes)>,
    ) -> SyncAnswer {
        self.replication.syncs.full += 1;
        let knew = wanted.from.is_some_and(|(history, _)| history != b"?");
        self.replication.syncs.refused_partial += u64::from(knew);
        let (place, snapshot) = shared.unwrap_or_else(|| self.make_snapshot(!announced.reads_newer_forms));
        let stream = self.replication.catch_up(place.offset + 1, &self.memory.stream).unwrap_or_default();
        let len = snapshot.bytes().len();
        let head = match wanted.from {
            Some(_) => format!("+FULLRESYNC {} {}\r\n${len}\r\n", place.id, place.offset),
            None => format!("${len}\r\n"),
        };
        SyncAnswer { head: head.into_bytes(), snapshot: Some(snapshot), stream }
    }

    /// A snapshot of the data as they are now. The stream begins if there is none. O(data).
    fn make_snapshot(&mut self, for_7_0: bool) -> (SnapshotPlace, SharedBytes) {
        if !self.replication.has_stream() {
            // What has changed without a stream belongs to no history that anybody knows.
            let (id, offset) = (self.another_history(), self.replication.offset);
            self.replication.begin_history(id, offset);
            self.replication.begin_stream(self.config.replication.backlog_bytes());
            self.stream_changed();
            tracing::info!(
                "Replication backlog created, my new replication IDs are '{}' and '{}'",
                self.replication.id,
                self.replication.id2
            );
        }
        tracing::info!("Starting BGSAVE for SYNC with target: replicas sockets");
        let selected = match &self.following {
            // The stream is passed on as it comes: its replicas must know where it is.
            Some(following) => self.session(following.slot).db,
            None => {
                self.replication.selected = None;
                self.replication.for_7_0 |= for_7_0;
                0
            }
        };
        let file = self.file_for_replica(for_7_0, &[("repl-stream-db", selected.to_string().as_bytes())]);
        let place = SnapshotPlace { id: self.replication.id, offset: self.replication.offset, for_7_0 };
        let snapshot = SharedBytes::new(&self.memory.clients.all, file);
        self.replication.snapshots.add(place, &snapshot);
        (place, snapshot)
    }

    /// Sends a client a copy of the data or of a part of them, which no stream follows.
    ///
    /// # Errors
    /// Returns `LOADING` if too many snapshots are on their way.
    pub(crate) fn send_copy(&mut self, slot: Slot, tells_offset: bool) -> Result<(), CommandError> {
        if !self.replication.snapshots.has_room() {
            return Err(MANY_SNAPSHOTS);
        }
        let file = self.file_of(self.session(slot).replica.content);
        let copy = SharedBytes::new(&self.memory.clients.all, file);
        // It serves no replica.
        let place = SnapshotPlace { id: ReplicationId::NONE, offset: -1, for_7_0: true };
        self.replication.snapshots.add(place, &copy);
        let (id, offset, len) = (self.replication.id, self.replication.offset, copy.bytes().len());
        let head = if tells_offset { format!("+FULLRESYNC {id} {offset}\r\n") } else { String::new() };
        let delivery = &mut self.sessions.get_mut(slot).delivery;
        delivery.push_bytes(format!("{head}${len}\r\n").as_bytes());
        delivery.push_shared(&copy);
        delivery.push_bytes(b"\r\n");
        Ok(())
    }

    /// A name for a history. A master with the same seed may have given the one that comes first to what is known here.
    pub(super) fn another_history(&mut self) -> ReplicationId {
        loop {
            let id = ReplicationId::random(self.keyspace.rng());
            if ![self.replication.id, self.replication.id2].contains(&id) {
                return id;
            }
        }
    }

    /// Asks replicas how far they are, unless they have been asked since the stream last went on.
    pub(crate) fn request_acknowledgements(&mut self) {
        let asks = self.replication().feeds_replicas() && !self.replication.replicas.is_empty();
        if asks && self.replication.asked_at != self.replication.offset {
            let mut request = Vec::new();
            write_request(GETACK, &mut request);
            self.send_stream(&request);
            self.replication.asked_at = self.replication.offset;
        }
    }

    /// A replica says how far it is.
    pub(in crate::core) fn replica_acknowledges(&mut self, session: u64, has: Acknowledgement) {
        let now = LinkClocks::of(&self.clock);
        if self.replication.acknowledge(session, has, now)
            && let Some(replica) = self.replication.replicas.get(&session)
        {
            tracing::info!("Synchronization with replica {} succeeded", replica.name());
        }
        self.look_at_failover();
        self.look_at_shutdown();
    }

    /// A client is gone that may have been a replica.
    pub(in crate::core) fn leave_replication(&mut self, slot: Slot) {
        let session = self.sessions.get_mut(slot);
        let (id, was_replica) = (session.id, std::mem::take(&mut session.is_replica));
        if let Some(replica) = self.replication.replicas.get(&id) {
            tracing::info!("Connection with replica {} lost.", replica.name());
        }
        if self.replication.leave(id) | was_replica && self.replication.replicas.is_empty() {
            self.replication.alone_since_ms =
                Some(LinkClocks::of(&self.clock).alone_ms(self.member.is_joined()));
        }
        self.look_at_shutdown();
    }

    /// Cuts all replicas: they come back, and learn what has become of the history.
    pub(super) fn cut_replicas(&mut self) {
        let ids: Vec<u64> = self.replication.replicas.keys().copied().collect();
        for slot in ids.into_iter().filter_map(|id| self.sessions.find(id)).collect::<Vec<_>>() {
            self.cut_off(slot);
        }
    }
}

/// The address without its port.
fn address_of(addr: &str) -> String {
    addr.rsplit_once(':').map_or(addr, |(ip, _)| ip).trim_matches(['[', ']']).to_owned()
}
