//! Changes of replication, and the engine's reaction.

use super::super::append_only::synced;
use super::super::engine::Engine;
use super::super::hooks::Hook;
use crate::member::{Promotion, TopologyRequest};
use crate::propagation::{Feed, Receivers};
use crate::replication::{ReplicaLink, ReplicationControl, ReplicationEffect, ReplicationView};
use std::num::NonZeroU64;

impl Engine {
    pub(crate) fn replication(&self) -> ReplicationView<'_> {
        ReplicationView::new(&self.replication, self.following.as_ref(), &self.config, &self.clock)
    }

    pub(crate) fn change_replication<T>(
        &mut self,
        change: impl FnOnce(&mut ReplicationControl<'_>) -> T,
    ) -> T {
        if self.replication.is_delivery_due(true) {
            deliver_propagated(self);
        }
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

    /// Propagates the changes of an ended command, script or transaction.
    pub(in crate::core) fn replicate(&mut self) {
        if !self.keyspace.is_propagation_due() {
            return;
        }
        self.keyspace.set_propagation_due(false);
        let Engine { keyspace, faults, following, sessions, append_only, config, replication, .. } = self;
        if faults.outage.is_dying() {
            Feed::end_unit(keyspace, self.clock.now(), |_| ());
            return;
        }
        let last_grant = keyspace.last_number();
        // The servers of one clock inherit each other's grants as they are.
        let told_grant = if self.member.is_joined() { 0 } else { last_grant };
        let master = following.as_ref().map(ReplicaLink::slot);
        let (mut is_missed, mut is_broken) = (false, false);
        Feed::end_unit(keyspace, self.clock.now(), |unit| {
            if unit.is_empty() {
                return;
            }
            // The master's requests are appended as they are.
            let is_own = master.is_none_or(|slot| unit.is_only_by_others(sessions.get(slot).id));
            if is_own && append_only.is_appending() {
                let facts = (config.append_only.time_s(self.clock.system()), last_grant);
                is_missed = !append_only.append_unit(unit, facts);
                replication.appended(append_only.appended());
            }
            if master.is_none() {
                is_broken = !replication.append_unit(unit, told_grant);
            }
        });
        if is_missed {
            self.change_append_only(|control| control.miss_unit());
        }
        if is_broken {
            self.change_replication(|control| control.break_stream());
        }
        if self.replication.is_delivery_due(false) || self.append_only.is_delivery_due(false) {
            deliver_propagated(self);
        }
    }

    /// Propagates a request (a message, or a library change) of `session` or the engine after the running command.
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

/// Passes on what has been propagated, and has not been delivered. Must be called when a batch ends, and before a
/// request that is not only on data.
#[inline]
pub(in crate::core) fn deliver_propagated(engine: &mut Engine) {
    if engine.replication.is_delivery_due(true) {
        let effects = engine.replication.deliver(&mut engine.sessions, &engine.memory.stream);
        engine.follow_replication(effects);
    }
    if engine.append_only.is_delivery_due(true) {
        engine.change_append_only(|_| ());
    }
}
