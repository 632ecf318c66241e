//! The master's side of replication: replicas connect, disconnect, and receive the changes.

use super::super::effect::ReplicationEffect;
use super::super::request::{Acknowledgement, SyncRequest};
use super::super::sync::{NewReplica, SyncAnswer, SyncPlan};
use super::super::view::ReplicationView;
use super::ReplicationControl;
use crate::clients::Slot;
use crate::spec::CommandError;
use lockwheel_store::memory::SharedBytes;

impl ReplicationControl<'_> {
    /// Breaks the stream after a change that cannot be sent: in another history, each replica gets a snapshot.
    #[cold]
    pub(crate) fn break_stream(&mut self) {
        tracing::warn!("Out of memory for the replication stream: the replicas have to synchronize again");
        self.history.begin_another_history(self.keyspace.rng());
        self.stream_changed();
        self.cut_replicas();
    }

    /// Decides how a client that becomes a replica gets the data that it lacks. Fails with `LOADING`, so that it
    /// retries, if too many snapshots are being sent and none suits it.
    pub(crate) fn plan_sync(
        &mut self,
        slot: Slot,
        sync: SyncRequest<'_>,
    ) -> Result<(NewReplica, SyncPlan), CommandError> {
        self.look_at_backlog();
        let newcomer = self.history.newcomer(self.sessions.get(slot));
        let plan = self.history.plan_sync(&newcomer, sync);
        self.forms_changed();
        let plan = plan?;
        Ok((newcomer, plan))
    }

    /// Prepares a snapshot for a replica, and a stream if there is none. Returns the database of the stream after it.
    pub(crate) fn prepare_snapshot(&mut self, for_7_0: bool) -> usize {
        let kept = self.config.replication.backlog_bytes();
        if self.history.begin_stream_for_snapshot(kept, self.keyspace.rng()) {
            self.stream_changed();
            tracing::info!(
                "Replication backlog created, my new replication IDs are '{}' and '{}'",
                self.history.id(),
                self.history.id2()
            );
        }
        tracing::info!("Starting BGSAVE for SYNC with target: replicas sockets");
        // The stream of a master is passed on unchanged, so replicas must know its current database.
        let passed_on = self.link.as_ref().map(|link| self.sessions.get(link.slot()).db);
        let db = self.history.database_behind_snapshot(passed_on, for_7_0);
        self.forms_changed();
        db
    }

    /// Begins the snapshot that replicas wait for; the caller makes it. Returns whether they may be as old as Redis
    /// 7.0, and the database of the stream after it. `None`: no replica waits, or no snapshot can be made now.
    pub(crate) fn begin_due_snapshot(&mut self) -> Option<(bool, usize)> {
        let for_7_0 = self.due_snapshot()?;
        let db = self.prepare_snapshot(for_7_0);
        let effects = self.history.begin_pending(for_7_0, self.sessions, self.stream_bytes);
        self.effects.extend(effects);
        Some((for_7_0, db))
    }

    /// Adds a client to those that wait for a copy of all data. Fails with `LOADING` if too many are on their way.
    pub(crate) fn await_copy(&mut self, slot: Slot, tells_offset: bool) -> Result<(), CommandError> {
        self.history.check_room_for_snapshot()?;
        self.history.await_copy(self.sessions.get(slot).id, tells_offset);
        self.set_timer();
        Ok(())
    }

    /// Returns the kind of the snapshot that replicas wait for, if it can be made now.
    fn due_snapshot(&mut self) -> Option<bool> {
        self.history.due_snapshot().filter(|_| self.has_its_master())
    }

    /// Asks for a snapshot if replicas wait for one and it can be made.
    pub(crate) fn look_for_due_snapshot(&mut self) {
        if self.due_snapshot().is_some() {
            self.effects.push(ReplicationEffect::SnapshotDue);
        }
    }

    /// Sends replicas their snapshot, and asks for their offsets. `None`: it failed, and they are cut.
    pub(crate) fn end_snapshot(&mut self, snapshot: Option<&SharedBytes>) {
        let now = self.now();
        let effects = self.history.end_pending(snapshot, self.sessions, now);
        self.effects.extend(effects);
        self.follow_newcomer(snapshot.is_some());
        self.look_for_due_snapshot();
    }

    fn has_its_master(&self) -> bool {
        ReplicationView::new(self.history, self.link.as_ref(), self.config, self.clock).has_its_master()
    }

    /// Registers a client as a replica, and returns the reply to it. Unwinds if there is no memory for that.
    pub(crate) fn take_on(
        &mut self,
        newcomer: NewReplica,
        sync: SyncRequest<'_>,
        plan: SyncPlan,
    ) -> SyncAnswer {
        let now = self.now();
        self.history.take_on(newcomer, sync, plan, (self.stream_bytes, now))
    }

    /// Handles a new replica: starts the periodic checks, and asks a replica with a snapshot for its offset.
    pub(crate) fn follow_newcomer(&mut self, has_snapshot: bool) {
        self.set_timer();
        if has_snapshot {
            self.ask_replicas();
        }
    }

    /// Asks replicas for their offsets, unless they have been asked since the stream last grew.
    pub(crate) fn ask_replicas(&mut self) {
        if self.link.is_none() {
            let effects = self.history.ask_replicas(self.sessions, self.stream_bytes);
            self.effects.extend(effects);
        }
    }

    /// Records the acknowledged offset of a replica. A failover or a shutdown may have waited for it.
    pub(crate) fn acknowledge(&mut self, session: u64, has: Acknowledgement) {
        let now = self.now();
        self.history.acknowledge(session, has, now);
        self.check_successor();
        self.effects.push(ReplicationEffect::ShutdownMayEnd);
    }

    /// Forgets a disconnected client, which may have been a replica.
    pub(crate) fn leave(&mut self, slot: Slot) {
        let alone_ms = self.alone_ms();
        self.history.leave(self.sessions.get_mut(slot), alone_ms);
        if self.history.give_up_pending() {
            self.effects.push(ReplicationEffect::SnapshotUnwanted);
            self.look_for_due_snapshot();
        }
        self.effects.push(ReplicationEffect::ShutdownMayEnd);
    }

    /// Cuts all replicas, and clients that want a copy of the data. They reconnect and learn about the new history.
    pub(crate) fn cut_replicas(&mut self) {
        let slots = self.history.served_sessions().filter_map(|id| self.sessions.find(id));
        self.effects.extend(slots.map(ReplicationEffect::Cut));
    }

    /// Records that the network to a session's replica, of this process, is cut or works again.
    pub(crate) fn set_replica_cut(&mut self, slot: Slot, is_cut: bool) {
        let now = self.now();
        self.history.set_cut(self.sessions.get(slot).id, is_cut, now);
    }

    /// Gives the history of the data a new name, unknown to all replicas.
    pub(crate) fn change_history_id(&mut self) {
        self.history.change_id(self.keyspace.rng());
    }

    /// Frees the backlog if it has been kept without replicas for too long.
    pub(super) fn look_at_backlog(&mut self) {
        let (now_ms, ttl_s) = (self.alone_ms(), self.config.replication.backlog_ttl);
        if self.history.expire_backlog(now_ms, ttl_s, self.keyspace.rng()) {
            self.stream_changed();
        }
    }

    pub(super) fn ping_replicas(&mut self) {
        let due = (self.now().real_ms, self.config.replication.ping_period);
        let effects = self.history.ping_replicas(due, self.sessions, self.stream_bytes);
        self.effects.extend(effects);
    }

    /// Cuts replicas that are silent or do not read, and checks the output of other slow replicas. Keeps the
    /// connections of replicas that wait for a snapshot alive.
    pub(super) fn check_replicas(&mut self) {
        let effects = self.history.keep_waiting_alive(self.sessions);
        self.effects.extend(effects);
        let (now, timeout_ms) = (self.now(), self.config.replication.timeout.saturating_mul(1000));
        let effects = self.history.check_replicas(self.sessions, now, timeout_ms);
        self.effects.extend(effects);
        let effects = self.history.check_copies(self.sessions, now, timeout_ms);
        self.effects.extend(effects);
    }
}
