//! The snapshot that is being made for replicas, and the replicas that wait for it or for the next one. The stream from
//! its beginning is kept for the waiting ones, as for slow ones. They are sent the snapshot, then the stream. Clients
//! that want a copy of the data are sent the same snapshot, then disconnected.

use super::effect::ReplicationEffect;
use super::feeding::cut_for_lack_of_memory;
use super::last_heard::LinkClocks;
use super::replica::ReplicaState;
use super::snapshots::SnapshotPlace;
use super::state::Replication;
use crate::clients::{Closing, Delivery, Session, Sessions, Slot};
use lockwheel_resp::allocation;
use lockwheel_store::memory::{BufferBytes, SharedBytes};

/// The byte that keeps the connection of a waiting replica alive.
const KEEP_ALIVE: &[u8] = b"\n";

impl Replication {
    /// Whether the snapshot that is being made suits such a replica and belongs to the current history.
    pub(super) fn pending_serves(&self, for_7_0: bool) -> bool {
        let serves = |place: SnapshotPlace| place.id == self.id && place.for_7_0 == for_7_0;
        self.pending.is_some_and(serves) && self.awaits_end().next().is_some()
    }

    /// Returns the replicas that wait for the end of the snapshot that is being made.
    fn awaits_end(&self) -> impl Iterator<Item = u64> {
        // The stream is no longer kept for a replica that is being disconnected.
        self.in_state(ReplicaState::AwaitsEnd).filter(|id| self.slow_replicas.has(*id))
    }

    fn in_state(&self, state: ReplicaState) -> impl Iterator<Item = u64> {
        self.replicas.iter().filter(move |(_, replica)| replica.state == state).map(|(id, _)| *id)
    }

    /// Whether the snapshot of a replica is incomplete. O(log n).
    pub(super) fn awaits_snapshot(&self, session: u64) -> bool {
        self.replicas.get(&session).is_some_and(|replica| replica.state.awaits_snapshot())
    }

    /// Returns the kind of the snapshot that replicas or clients wait for, if none is being made and there is room for
    /// another. The kind says whether the replicas may be as old as Redis 7.0.
    pub(super) fn due_snapshot(&mut self) -> Option<bool> {
        if self.pending.is_some() {
            return None;
        }
        let replica = self.in_state(ReplicaState::AwaitsStart).next();
        // The one that has waited longest comes first. A copy may have newer forms, as a file has.
        let first = replica.into_iter().chain(self.copies.first_to_begin()).min()?;
        let for_7_0 = self.replicas.get(&first).is_some_and(|first| !first.announced.reads_newer_forms);
        self.check_room_for_snapshot().is_ok().then_some(for_7_0)
    }

    /// Begins a snapshot of the current data. The replicas that wait for one of this kind learn its place in the
    /// history. The clients that want a copy do too, unless the snapshot is for old replicas. Returns the effects.
    pub(super) fn begin_pending(
        &mut self,
        for_7_0: bool,
        sessions: &mut Sessions,
        account: &BufferBytes,
    ) -> Vec<ReplicationEffect> {
        let place = SnapshotPlace { id: self.id, offset: self.offset, for_7_0 };
        self.pending = Some(place);
        let mut effects = Vec::new();
        for id in self.in_state(ReplicaState::AwaitsStart).collect::<Vec<_>>() {
            let Some(replica) = self.replicas.get_mut(&id) else { continue };
            if replica.announced.reads_newer_forms == for_7_0 {
                continue;
            }
            replica.state = ReplicaState::AwaitsEnd;
            self.slow_replicas.add(id, account);
            let head = if replica.answers { place.announcement() } else { String::new() };
            push(id, sessions, &mut effects, |delivery| delivery.push_bytes(head.as_bytes()));
        }
        let told = if for_7_0 { Vec::new() } else { self.copies.begin() };
        for id in told {
            let head = place.announcement();
            push(id, sessions, &mut effects, |delivery| delivery.push_bytes(head.as_bytes()));
        }
        effects
    }

    /// Whether a client waits for a copy of all data or is being sent one.
    pub(super) fn awaits_copies(&self) -> bool {
        self.copies.sessions().next().is_some()
    }

    /// Whether a client waits for the snapshot that is being made, to be sent a copy.
    pub(crate) fn copies_pending(&self) -> bool {
        self.copies.await_end()
    }

    /// Whether this client waits for a copy of all data or is being sent one. O(log n).
    pub(crate) fn copies_for(&self, session: u64) -> bool {
        self.copies.has(session)
    }

    /// Cuts the clients that have not read their copies for longer than the timeout: each keeps a snapshot in memory.
    pub(super) fn check_copies(
        &mut self,
        sessions: &Sessions,
        now: LinkClocks,
        timeout_ms: i64,
    ) -> Vec<ReplicationEffect> {
        let unsent = |id| sessions.find(id).map_or(0, |slot| sessions.get(slot).delivery.pending());
        let timed_out = self.copies.timed_out(now.real_ms, timeout_ms, unsent);
        let slots = timed_out.into_iter().filter_map(|id| sessions.find(id));
        let log = |slot: &Slot| {
            let name = self.name_of(sessions.get(*slot));
            tracing::warn!("Disconnecting timedout replica (full sync): {name}");
        };
        slots.inspect(log).map(ReplicationEffect::Cut).collect()
    }

    /// Adds a client to those that wait for a copy of all data. The client is disconnected behind the copy.
    pub(super) fn await_copy(&mut self, session: u64, tells_offset: bool) {
        self.copies.add(session, tells_offset);
    }

    /// The sessions of replicas, and of clients that wait for a copy of all data or are being sent one.
    pub(super) fn served_sessions(&self) -> impl Iterator<Item = u64> {
        self.replica_sessions().chain(self.copies.sessions())
    }

    /// Adds a new replica to those that wait for the snapshot that is being made.
    pub(super) fn join_pending(&mut self, session: u64) {
        let other = self.awaits_end().next();
        if let Some(other) = other {
            self.slow_replicas.add_beside(session, other);
        }
    }

    /// Forgets the snapshot that is being made if none waits for it any longer. Returns whether it did so.
    pub(super) fn give_up_pending(&mut self) -> bool {
        let is_wanted = || self.awaits_end().next().is_some() || self.copies.await_end();
        let is_unwanted = self.pending.is_some() && !is_wanted();
        if is_unwanted {
            self.pending = None;
        }
        is_unwanted
    }

    /// Sends the snapshot to the replicas that wait for it, with the stream behind it, and to the clients that want a
    /// copy. `None`: the snapshot failed, and all of them are cut. Returns the effects.
    pub(super) fn end_pending(
        &mut self,
        snapshot: Option<&SharedBytes>,
        sessions: &mut Sessions,
        now: LinkClocks,
    ) -> Vec<ReplicationEffect> {
        let (Some(place), mut effects) = (self.pending.take(), Vec::new()) else { return Vec::new() };
        let (waiting, copied): (Vec<u64>, _) = (self.awaits_end().collect(), self.copies.end(now.real_ms));
        let Some(snapshot) = snapshot else {
            tracing::warn!("SYNC failed. BGSAVE child returned an error");
            let all = waiting.into_iter().chain(copied);
            effects.extend(all.filter_map(|id| sessions.find(id)).map(ReplicationEffect::Cut));
            return effects;
        };
        self.snapshots.add(place, snapshot);
        for id in waiting {
            self.send_snapshot(id, snapshot, now);
            push(id, sessions, &mut effects, |delivery| push_file(delivery, snapshot));
        }
        for id in copied {
            push(id, sessions, &mut effects, |delivery| push_file(delivery, snapshot));
            if let Some(slot) = sessions.find(id) {
                self.end_copy(sessions.get_mut(slot));
            }
        }
        effects
    }

    /// Records that a replica is being sent a snapshot. The replica counts as slow while it lacks a part of the stream.
    fn send_snapshot(&mut self, session: u64, snapshot: &SharedBytes, now: LinkClocks) {
        let Some(replica) = self.replicas.get_mut(&session) else { return };
        let lacked = self.slow_replicas.unsent(session);
        replica.state = if replica.answers { ReplicaState::SendBulk } else { ReplicaState::Online };
        replica.snapshot = snapshot.bytes().len() + lacked;
        replica.came_at = self.offset;
        replica.heard.hear(now);
        if lacked == 0 {
            self.slow_replicas.remove(session);
        }
    }

    /// Keeps the connections of replicas and clients that wait for a snapshot alive. Returns the effects.
    pub(super) fn keep_waiting_alive(&self, sessions: &mut Sessions) -> Vec<ReplicationEffect> {
        let mut effects = Vec::new();
        let waiting = self.replicas.iter().filter(|(_, replica)| replica.state.awaits_snapshot());
        for id in waiting.map(|(id, _)| *id).chain(self.copies.waiting()) {
            push(id, sessions, &mut effects, |delivery| delivery.push_bytes(KEEP_ALIVE));
        }
        effects
    }
}

/// Writes the length of a snapshot, then the snapshot.
fn push_file(delivery: &mut Delivery, snapshot: &SharedBytes) {
    delivery.push_bytes(format!("${}\r\n", snapshot.bytes().len()).as_bytes());
    delivery.push_shared(snapshot);
}

/// Sends a client the output of `write`. If there is no memory for it, the client must be cut.
fn push(
    id: u64,
    sessions: &mut Sessions,
    effects: &mut Vec<ReplicationEffect>,
    write: impl FnOnce(&mut Delivery),
) {
    let is_open = |session: &Session| session.closing != Some(Closing::Now);
    let Some(slot) = sessions.find(id).filter(|slot| is_open(sessions.get(*slot))) else { return };
    if allocation::contain(|| write(&mut sessions.get_mut(slot).delivery)).is_err() {
        effects.push(cut_for_lack_of_memory(slot));
    }
    sessions.wake(slot);
}
