//! Takeovers, kills, restarts and returns of servers: the steps of a plan are applied.

use super::super::engine::Engine;
use super::super::progress::{Crash, Stop};
use crate::clients::{Closing, Session};
use crate::cluster::Gossip;
use crate::faults::{RestartPlanner, RestartStep};
use crate::locks;
use crate::member::TopologyRequest;
use crate::persistence::have_same_dump;
use lockwheel_store::keyspace::{Actor, Keyspace};

impl Engine {
    /// Applies the steps of a plan, which the client `by` may have asked for.
    pub(crate) fn restart(
        &mut self,
        by: Option<&Actor<'_>>,
        plan: impl FnOnce(&RestartPlanner<'_>) -> Vec<RestartStep>,
    ) {
        let (replication, outage) = (self.replication(), &self.faults.outage);
        let master = replication.followed(outage.was_killed());
        let steps = plan(&RestartPlanner {
            outage,
            is_joined: self.member.is_joined(),
            knows_history: replication.knows_its_history(),
            master,
        });
        let by = by.unwrap_or(&Actor::ENGINE);
        steps.into_iter().for_each(|step| self.take_restart_step(by, step));
    }

    fn take_restart_step(&mut self, by: &Actor<'_>, step: RestartStep) {
        match step {
            RestartStep::EndReplication => self.end_replication(),
            RestartStep::LeaveCluster => {
                self.with_gossip(Gossip::end);
                self.cluster.iter_mut().for_each(|cluster| cluster.forget_links());
            }
            RestartStep::Cut { spared } => self.change_faults(|control, _| {
                let is_spared = |session: &Session| spared == Some(session.id);
                control.faults.cut(control.sessions, is_spared, &mut control.step);
            }),
            RestartStep::ForgetLinks => self.outbound.forget_all(),
            RestartStep::ForgetHistory => self.change_replication(|control| control.forget_history()),
            RestartStep::NewIdentity => self.environment.identity.reset(self.keyspace.rng()),
            RestartStep::LoseData { as_replica } => self.lose_data(by, as_replica),
            RestartStep::GoBack => {
                let now = self.clock.now();
                let go_back = |keyspace: &mut Keyspace| keyspace.go_back(have_same_dump, by, now);
                locks::failing_over(&mut self.keyspace, go_back);
                self.scripts.idle().into_iter().for_each(|runtime| runtime.flush());
            }
            RestartStep::BeginOutage { ms, has_kept_history } => self.change_faults(|control, member| {
                control.begin_outage(ms, has_kept_history, !member.is_joined());
            }),
            RestartStep::Kill { until_ms, killer, has_kept_history } => self.change_faults(|control, _| {
                control.faults.outage.kill(until_ms, killer, has_kept_history, &mut control.step);
            }),
            RestartStep::EndOutage => self.change_faults(|control, _| control.end_outage()),
            RestartStep::LoseHistory => self.faults.outage.lose_history(),
            RestartStep::RestartNumbers => self.grants().restart_numbers(),
            RestartStep::ComeBack => self.come_back(),
            RestartStep::Follow { host, port } => self.follow(host, port, false),
            RestartStep::Commit => self.commit(),
        }
    }

    /// Comes back as a new process, in the former role.
    fn come_back(&mut self) {
        self.change_faults(|control, _| control.end_outage());
        if let Some((host, port)) = self.config.replication.master_address() {
            match self.faults.outage.has_kept_history() {
                true => self.follow_master(host, port),
                false => self.follow(host, port, false),
            }
        }
        self.follow_master_of_view();
        self.with_gossip(Gossip::sync);
        let now_ms = self.clock.now().monotonic_ms();
        if let Some(sentinel) = &mut self.sentinel {
            sentinel.begin_anew(&self.config, now_ms);
            self.begin_as_sentinel();
        }
    }

    /// Crashes this server alone, as if its process had ended or restarted.
    pub fn crash_alone(&mut self, crash: Crash) {
        match crash {
            Crash::Restart(down_ms) => {
                // The connections are cut before planning: their end may end a failover, and so a replica's role.
                self.take_restart_step(&Actor::ENGINE, RestartStep::Cut { spared: None });
                self.restart(None, |planner| planner.crash(down_ms));
            }
            Crash::Segfault | Crash::Abort | Crash::Exit => self.stop = Some(Stop::Shutdown),
        }
    }

    /// Kills the running script before the server is killed, since [`RestartStep::Kill`] waits for its end. Its changes
    /// and reply are dropped. Returns whether a script runs; the caller must end it.
    pub fn die_ahead(&mut self) -> bool {
        let caller = self.sessions.slots().find(|slot| self.scripts.run_for(*slot));
        if let Some(slot) = caller {
            self.faults.outage.announce_kill();
            let session = self.sessions.get_mut(slot);
            session.delivery.cut();
            session.close(Closing::Now);
        }
        caller.is_some()
    }

    /// Deletes keys, scripts and functions, as with the process. A replica's master still has them.
    fn lose_data(&mut self, actor: &Actor<'_>, is_replica: bool) {
        self.keyspace.end_lag();
        let now = self.clock.now();
        let flush = |engine: &mut Engine| {
            locks::failing_over(&mut engine.keyspace, |keyspace| keyspace.tx_by(actor, 0, now).flush_all());
        };
        if is_replica {
            self.as_another_did(flush)
        } else {
            flush(self)
        }
        let seed = self.start.seed;
        self.scripts.reset(&self.config, seed);
    }

    /// Ends an outage when the last client that could move a frozen clock is gone.
    pub(in crate::core) fn let_in_without_clients(&mut self) {
        let is_down = self.faults.outage.is_down(self.clock.now().monotonic_ms());
        if is_down && !self.clock.runs() {
            if self.member.is_joined() {
                self.member.ask(TopologyRequest::Refused);
            } else if !self.faults.has_clients(&self.sessions, &[]) {
                self.change_faults(|control, _| control.end_outage());
            }
        }
    }
}
