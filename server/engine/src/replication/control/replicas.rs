//! The master's part: replicas come and go, and are sent what has changed.

use super::super::effect::ReplicationEffect;
use super::super::feed::{Feed, Unit};
use super::super::request::{Acknowledgement, SyncRequest};
use super::super::sync::{Newcomer, SyncAnswer, SyncPlan};
use super::super::view::ReplicationView;
use super::ReplicationControl;
use crate::clients::Slot;
use crate::spec::CommandError;
use lockwheel_resp::allocation;
use lockwheel_store::memory::SharedBytes;

impl ReplicationControl<'_> {
    /// Sends replicas what a command, script or transaction has changed, now that it has ended.
    pub(crate) fn send_unit(&mut self, unit: &Unit) {
        if unit.is_incomplete {
            return self.break_stream();
        }
        // Before anything of it has been sent.
        let now = self.clock.now();
        let written = allocation::contain(|| self.history.write_unit(unit, self.keyspace, now));
        let Ok(written) = written else { return self.break_stream() };
        let effects = self.history.send_unit(unit, written, self.sessions, self.stream_bytes);
        self.effects.extend(effects);
    }

    /// Lets replicas run a request of a session as it is, when what runs now has ended: a message, a change of
    /// libraries.
    pub(crate) fn pass_on(&mut self, words: &[&[u8]], session: u64) {
        if self.feeds_replicas() && !Feed::add_words(self.keyspace, words, session) {
            self.break_stream();
        }
    }

    /// Something has changed of which replicas cannot be told. Another history begins, so that each of them gets a
    /// snapshot: none misses the change.
    #[cold]
    fn break_stream(&mut self) {
        tracing::warn!("There is no memory to tell replicas what has changed: they are to synchronize anew");
        self.history.begin_another_history(self.keyspace.rng());
        self.stream_changed();
        self.cut_replicas();
    }

    /// Plans how a client that becomes a replica gets what it lacks.
    ///
    /// # Errors
    /// Returns `LOADING` if too many snapshots are on their way, of which none serves it: it is to ask again.
    pub(crate) fn plan_sync(
        &mut self,
        slot: Slot,
        sync: SyncRequest<'_>,
    ) -> Result<(Newcomer, SyncPlan), CommandError> {
        self.look_at_backlog();
        let newcomer = self.history.newcomer(self.sessions.get(slot));
        let plan = self.history.plan_sync(&newcomer, sync)?;
        Ok((newcomer, plan))
    }

    /// Prepares a snapshot for a replica: the stream begins if there is none. Returns the database in which the stream
    /// goes on behind the snapshot.
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
        // The stream of a master is passed on as it comes: its replicas must know where it is.
        let passed_on = self.link.as_ref().map(|link| self.sessions.get(link.slot()).db);
        self.history.database_behind_snapshot(passed_on, for_7_0)
    }

    /// Begins the snapshot that replicas wait for, which the caller makes. Returns whether the replicas may be as old
    /// as Redis 7.0, and the database in which the stream goes on. `None`: no replica waits, or none can be served now.
    pub(crate) fn begin_due_snapshot(&mut self) -> Option<(bool, usize)> {
        let for_7_0 = self.due_snapshot()?;
        let db = self.prepare_snapshot(for_7_0);
        let effects = self.history.begin_pending(for_7_0, self.sessions, self.stream_bytes);
        self.effects.extend(effects);
        Some((for_7_0, db))
    }

    /// Returns the kind of the snapshot that replicas wait for, if it can be made now.
    fn due_snapshot(&mut self) -> Option<bool> {
        self.history.due_snapshot().filter(|_| self.has_its_master())
    }

    /// Asks for a snapshot if replicas wait for one that can be made.
    pub(crate) fn look_for_due_snapshot(&mut self) {
        if self.due_snapshot().is_some() {
            self.effects.push(ReplicationEffect::SnapshotDue);
        }
    }

    /// Sends replicas the snapshot that was made for them, and asks how far they are. `None`: it could not be made, and
    /// the replicas are cut.
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

    /// Takes a client on as a replica, and returns its answer. Unwinds if there is no memory for that.
    pub(crate) fn take_on(
        &mut self,
        newcomer: Newcomer,
        sync: SyncRequest<'_>,
        plan: SyncPlan,
    ) -> SyncAnswer {
        let now = self.now();
        self.history.take_on(newcomer, sync, plan, (self.stream_bytes, now))
    }

    /// Follows that a replica was taken on: both parts are looked at from time to time, and a replica with a snapshot
    /// is asked how far it is.
    pub(crate) fn follow_newcomer(&mut self, has_snapshot: bool) {
        self.set_timer();
        if has_snapshot {
            self.ask_replicas();
        }
    }

    /// Asks replicas how far they are, unless they have been asked since the stream last went on.
    pub(crate) fn ask_replicas(&mut self) {
        if self.link.is_none() {
            let effects = self.history.ask_replicas(self.sessions, self.stream_bytes);
            self.effects.extend(effects);
        }
    }

    /// Records how far a replica says that it is. It may be the heir of a master that hands its part over, or one for
    /// which a server waits that is to end.
    pub(crate) fn acknowledge(&mut self, session: u64, has: Acknowledgement) {
        let now = self.now();
        self.history.acknowledge(session, has, now);
        self.look_at_heir();
        self.effects.push(ReplicationEffect::ShutdownMayEnd);
    }

    /// Forgets a client that is gone, which may have been a replica.
    pub(crate) fn leave(&mut self, slot: Slot) {
        let alone_ms = self.alone_ms();
        self.history.leave(self.sessions.get_mut(slot), alone_ms);
        if self.history.give_up_pending() {
            self.effects.push(ReplicationEffect::SnapshotUnwanted);
            self.look_for_due_snapshot();
        }
        self.effects.push(ReplicationEffect::ShutdownMayEnd);
    }

    /// Cuts all replicas: they come back, and learn what has become of the history.
    pub(crate) fn cut_replicas(&mut self) {
        let slots = self.history.replica_sessions().filter_map(|id| self.sessions.find(id));
        self.effects.extend(slots.map(ReplicationEffect::Cut));
    }

    /// Records that the replica of a session, if it is one, is cut off from this server of the same process, or no
    /// longer.
    pub(crate) fn set_replica_cut(&mut self, slot: Slot, is_cut: bool) {
        let now = self.now();
        self.history.set_cut(self.sessions.get(slot).id, is_cut, now);
    }

    /// Gives the history of the data another name, of which no replica knows.
    pub(crate) fn change_history_id(&mut self) {
        self.history.change_id(self.keyspace.rng());
    }

    /// Ends the stream without replicas when its time is over.
    pub(super) fn look_at_backlog(&mut self) {
        let (now_ms, ttl_s) = (self.alone_ms(), self.config.replication.backlog_ttl);
        if self.history.expire_backlog(now_ms, ttl_s, self.keyspace.rng()) {
            self.stream_changed();
        }
    }

    /// Keeps the connections of replicas alive, if it is time.
    pub(super) fn ping_replicas(&mut self) {
        let due = (self.now().real_ms, self.config.replication.ping_period);
        let effects = self.history.ping_replicas(due, self.sessions, self.stream_bytes);
        self.effects.extend(effects);
    }

    /// Cuts replicas that say nothing, or do not read; checks the output of others that do not keep up. The connections
    /// of those that wait for a snapshot are kept alive.
    pub(super) fn check_replicas(&mut self) {
        let effects = self.history.keep_waiting_alive(self.sessions);
        self.effects.extend(effects);
        let (now, timeout_ms) = (self.now(), self.config.replication.timeout.saturating_mul(1000));
        let effects = self.history.check_replicas(self.sessions, now, timeout_ms);
        self.effects.extend(effects);
    }
}
