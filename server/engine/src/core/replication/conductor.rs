//! Changes of replication, and the engine's reaction.

use super::super::append_only::{append, synced};
use super::super::engine::Engine;
use super::super::hooks::Hook;
use crate::member::{Promotion, TopologyRequest};
use crate::propagation::{Feed, Receivers, Unit};
use crate::replication::{ReplicaLink, ReplicationControl, ReplicationEffect, ReplicationView};
use std::num::NonZeroU64;

impl Engine {
    /// Returns a read-only view of both sides of replication.
    pub(crate) fn replication(&self) -> ReplicationView<'_> {
        ReplicationView::new(&self.replication, self.following.as_ref(), &self.config, &self.clock)
    }

    /// Changes replication and applies the effects.
    pub(crate) fn change_replication<T>(
        &mut self,
        change: impl FnOnce(&mut ReplicationControl<'_>) -> T,
    ) -> T {
        let is_appending = self.append_only.is_appending();
        let synced = if is_appending { synced(self) } else { 0 };
        let mut control = ReplicationControl {
            is_appending,
            synced,
            history: &mut self.replication,
            link: &mut self.following,
            timer: &mut self.replication_timer,
            sessions: &mut self.sessions,
            keyspace: &mut self.keyspace,
            clock: &mut self.clock,
            config: &mut self.config,
            outbound: &mut self.outbound,
            stream_bytes: &self.memory.stream,
            is_joined: self.member.is_joined(),
            is_loading: self.loading.is_some(),
            effects: Vec::new(),
        };
        let done = change(&mut control);
        let effects = control.effects;
        self.follow_replication(effects);
        done
    }

    /// Applies the effects of a change of replication.
    fn follow_replication(&mut self, effects: Vec<ReplicationEffect>) {
        for effect in effects {
            match effect {
                ReplicationEffect::CheckOutput(slot) => self.check_much_output(slot),
                ReplicationEffect::Cut(slot) => self.cut_off(slot),
                ReplicationEffect::SnapshotDue => {
                    self.change_saves(|control| control.schedule_for_replicas())
                }
                ReplicationEffect::SnapshotUnwanted => {
                    self.change_saves(|control| control.give_up_for_replicas());
                }
                ReplicationEffect::TransactionCut => self.append_only.forget_streamed(),
                ReplicationEffect::AudienceChanged => self.note_audience(),
                ReplicationEffect::RulesChanged { may_forbid } => {
                    self.hooks.set(Hook::Replication, may_forbid);
                    self.keyspace.pause_expiry(self.hooks.keep_keys() || self.following.is_some());
                }
                ReplicationEffect::Promoted { host, port, id, offset } => {
                    self.member.ask(TopologyRequest::Promoted(Promotion { host, port, id, offset }));
                }
                ReplicationEffect::Follow { host, port } => self.follow_master(host, port),
                ReplicationEffect::Unfollow => self.unfollow_master(),
                ReplicationEffect::PauseWrites(are_paused) => {
                    self.pauses.set_failover(are_paused);
                    self.follow_pauses();
                }
                ReplicationEffect::ShutdownMayEnd => self.change_shutdown(|control| control.look()),
            }
        }
    }

    /// Sends replicas the changes of a command, script or transaction that has ended, if there are any.
    pub(in crate::core) fn replicate(&mut self) {
        if !self.keyspace.is_propagation_due() {
            return;
        }
        self.keyspace.set_propagation_due(false);
        let Some(unit) = Feed::take_from(&mut self.keyspace, self.clock.now()) else { return };
        if !unit.is_empty() && !self.faults.outage.is_dying() {
            match self.following.as_ref().map(ReplicaLink::slot) {
                None => {
                    append(self, &unit);
                    send_unit(self, &unit);
                }
                // The requests of the master's stream are appended as they are.
                Some(slot) if unit.is_only_by_others(self.sessions.get(slot).id) => append(self, &unit),
                Some(_) => {}
            }
        }
        Feed::recycle(&mut self.keyspace, unit);
    }

    /// Propagates a request as it is, once the running command has ended: a message or a change of libraries.
    /// `session`: the client that has sent the request. `None`: the engine itself sends a message.
    pub(crate) fn replicate_request(
        &mut self,
        db: usize,
        (words, receivers): (&[&[u8]], Receivers),
        session: Option<NonZeroU64>,
    ) {
        let present = Receivers {
            replicas: self.replication().feeds_replicas(),
            file: self.append_only.is_appending(),
        };
        if receivers.and(present).are_any() {
            Feed::add_request(&mut self.keyspace, db, (words, receivers), session);
        }
    }
}

/// Sends replicas the requests of a unit.
fn send_unit(engine: &mut Engine, unit: &Unit) {
    // The servers of one clock inherit each other's grants as they are.
    let last_grant = if engine.member.is_joined() { 0 } else { engine.keyspace.last_number() };
    match engine.replication.send_unit(unit, last_grant, &mut engine.sessions, &engine.memory.stream) {
        Some(effects) => engine.follow_replication(effects),
        None => engine.change_replication(|control| control.break_stream()),
    }
}
