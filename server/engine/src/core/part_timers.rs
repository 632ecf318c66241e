//! The timers of parts of the engine.

use super::engine::Engine;
use crate::clock::{Timer, TimerKind};
use crate::cluster::Gossip;
use crate::sentinel::Sentinel;

impl Engine {
    pub(super) fn part_timer_fired(&mut self, timer: Timer) {
        match timer.kind {
            TimerKind::Delay => {
                if let Some(blocked) = self.waits.get_mut(timer.client) {
                    blocked.timeout = None;
                }
                self.go_on(timer.client);
            }
            TimerKind::Thaw | TimerKind::Cut | TimerKind::Restart => {
                self.change_faults(|control, _| control.timer_fired(timer));
            }
            TimerKind::Pause => {
                self.pauses.expire();
                self.follow_pauses();
                self.resume_paused();
            }
            TimerKind::Failover => self.change_replication(|control| control.expire_failover()),
            TimerKind::Sentinel => {
                if let Some(sentinel) = &mut self.sentinel {
                    sentinel.tick_fired(self.clock.monotonic_timers(&mut self.keyspace));
                }
                if !self.faults.outage.was_killed() {
                    self.with_sentinel(Sentinel::tick);
                }
            }
            TimerKind::Cluster => {
                let Some(cluster) = self.cluster.as_deref_mut() else { return };
                cluster.tick_fired();
                // A killed server checks nothing until it has come back.
                if self.faults.outage.was_killed() {
                    return cluster.plan_tick(self.clock.monotonic_timers(&mut self.keyspace));
                }
                self.with_gossip(Gossip::tick);
            }
            TimerKind::Save => self.change_saves(|control| control.timer_fired()),
            TimerKind::Replication => {
                self.change_replication(|control| control.begin_look());
                self.change_replication(|control| control.look_at_replicas());
                self.change_replication(|control| control.end_look());
                self.commit();
            }
            TimerKind::Shutdown => self.change_shutdown(|control| control.expire()),
            _ => {}
        }
    }
}
