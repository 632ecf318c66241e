//! The master's side: replicas come and go, and are told what has changed.

use super::super::engine::Engine;
use super::super::hooks::Hook;
use crate::clients::Slot;
use crate::replication::{Acknowledgement, Feed, FeedEffect, LinkClocks, SyncPlan, SyncRequest};
use crate::spec::CommandError;
use lockwheel_resp::allocation;

impl Engine {
    /// Tells replicas what a command, script or transaction has changed, now that it has ended.
    #[cold]
    pub(in crate::core) fn replicate(&mut self) {
        self.hooks.set(Hook::Replicate, false);
        let Some(unit) = Feed::take_from(&mut self.keyspace) else { return };
        if unit.is_empty() || self.faults.outage.is_dying() {
            return;
        }
        if unit.is_incomplete {
            return self.break_stream();
        }
        // Before anything of it has been sent.
        let now = self.clock.now();
        let written = allocation::contain(|| self.replication.write_unit(&unit, &mut self.keyspace, now));
        let Ok(written) = written else { return self.break_stream() };
        let effects = self.replication.send_unit(&unit, written, &mut self.sessions, &self.memory.stream);
        self.follow_feeding(effects);
    }

    /// Something has changed of which replicas cannot be told. Another history begins, so that each of them gets a
    /// snapshot: none misses the change.
    #[cold]
    fn break_stream(&mut self) {
        tracing::warn!("There is no memory to tell replicas what has changed: they are to synchronize anew");
        self.replication.begin_another_history(self.keyspace.rng());
        self.stream_changed();
        self.cut_replicas();
    }

    /// Does what is to be done with replicas since the stream has gone on.
    pub(super) fn follow_feeding(&mut self, effects: Vec<FeedEffect>) {
        for effect in effects {
            match effect {
                FeedEffect::CheckOutput(slot) => self.check_much_output(slot),
                FeedEffect::Cut(slot) => self.cut_off(slot),
            }
        }
    }

    /// Replicas run a request as it is when what runs now has ended: a message, a change of libraries.
    pub(crate) fn replicate_request(&mut self, words: &[&[u8]], session: u64) {
        if self.replication().feeds_replicas() && !Feed::add_words(&mut self.keyspace, words, session) {
            self.break_stream();
        }
    }

    /// Whether there is a stream, or who writes it, has changed.
    pub(super) fn stream_changed(&mut self) {
        self.note_audience();
        let is_on = self.replication().feeds_replicas();
        Feed::turn_on(&mut self.keyspace, is_on);
    }

    /// A client becomes a replica: it gets what it lacks, and then the stream.
    ///
    /// # Errors
    /// Returns `LOADING` if too many snapshots are on their way, of which none serves it: it is to ask again.
    pub(super) fn attach_replica(&mut self, slot: Slot, sync: SyncRequest<'_>) -> Result<(), CommandError> {
        self.replicate();
        self.look_at_backlog();
        let newcomer = self.replication.newcomer(self.sessions.get(slot));
        let snapshot = match self.replication.plan_sync(&newcomer, sync)? {
            SyncPlan::Stream => None,
            SyncPlan::Shared(place, snapshot) => Some((place, snapshot)),
            SyncPlan::NewSnapshot => {
                let for_7_0 = newcomer.is_for_7_0();
                let file = self.file_for_new_replica(for_7_0);
                Some(self.replication.add_snapshot(file, for_7_0, &self.memory.clients.all))
            }
        };
        let now = LinkClocks::of(&self.clock);
        let answer = self.replication.take_on(newcomer, sync, snapshot, (&self.memory.stream, now));
        // Nothing but the stream is sent from now on.
        self.give_up_tickets(self.sessions.get(slot).id);
        let session = self.sessions.get_mut(slot);
        session.is_replica = true;
        session.delivery.mode.serve_replica();
        answer.push(&mut session.delivery);
        self.watch_idle(slot);
        self.set_replication_timer();
        if answer.has_snapshot() {
            self.request_acknowledgements();
        }
        Ok(())
    }

    /// Returns the file of the data as they are now, for a replica. The stream begins if there is none. O(data).
    fn file_for_new_replica(&mut self, for_7_0: bool) -> Vec<u8> {
        let kept = self.config.replication.backlog_bytes();
        if self.replication.begin_stream_for_snapshot(kept, self.keyspace.rng()) {
            self.stream_changed();
            tracing::info!(
                "Replication backlog created, my new replication IDs are '{}' and '{}'",
                self.replication.id(),
                self.replication.id2()
            );
        }
        tracing::info!("Starting BGSAVE for SYNC with target: replicas sockets");
        // The stream of a master is passed on as it comes: its replicas must know where it is.
        let passed_on = self.following.as_ref().map(|following| self.sessions.get(following.slot()).db);
        let db = self.replication.database_behind_snapshot(passed_on, for_7_0);
        self.file_for_replica(for_7_0, &[("repl-stream-db", db.to_string().as_bytes())])
    }

    /// Sends a client a copy of the data or of a part of them, which no stream follows.
    ///
    /// # Errors
    /// Returns `LOADING` if too many snapshots are on their way.
    pub(super) fn send_copy(&mut self, slot: Slot, tells_offset: bool) -> Result<(), CommandError> {
        self.replication.check_room_for_snapshot()?;
        let file = self.file_of(self.session(slot).replica.content);
        let delivery = &mut self.sessions.get_mut(slot).delivery;
        self.replication.send_copy(file, tells_offset, delivery, &self.memory.clients.all);
        Ok(())
    }

    /// Asks replicas how far they are, unless they have been asked since the stream last went on.
    pub(in crate::core) fn request_acknowledgements(&mut self) {
        if self.following.is_none() {
            let effects = self.replication.ask_replicas(&mut self.sessions, &self.memory.stream);
            self.follow_feeding(effects);
        }
    }

    /// A replica says how far it is.
    pub(in crate::core) fn replica_acknowledges(&mut self, session: u64, has: Acknowledgement) {
        self.replication.acknowledge(session, has, LinkClocks::of(&self.clock));
        let effect = self.replication.look_at_heir(self.clock.timers_mut());
        self.follow_failover(effect);
        self.look_at_shutdown();
    }

    /// A client is gone that may have been a replica.
    pub(in crate::core) fn leave_replication(&mut self, slot: Slot) {
        let alone_ms = LinkClocks::of(&self.clock).alone_ms(self.member.is_joined());
        self.replication.leave(self.sessions.get_mut(slot), alone_ms);
        self.look_at_shutdown();
    }

    /// Cuts all replicas: they come back, and learn what has become of the history.
    pub(super) fn cut_replicas(&mut self) {
        let ids: Vec<u64> = self.replication.replica_sessions().collect();
        for slot in ids.into_iter().filter_map(|id| self.sessions.find(id)).collect::<Vec<_>>() {
            self.cut_off(slot);
        }
    }
}
