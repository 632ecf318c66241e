//! A failover, from its beginning to the switch to the promoted replica.

use super::address::InstanceAddress;
use super::date::date_of;
use super::effect::{EventLevel, SentinelAction};
use super::instance::InstanceFlags;
use super::link::{Channel, ExpectedReply};
use super::periods::Period;
use super::state::Sentinel;
use super::watched::{FailoverState, Replica, Who};

impl Sentinel {
    /// Begins a failover of a master that is down, unless there was one recently. Returns whether it has begun.
    pub(super) fn begin_failover_if_needed(&mut self, master: u64) -> bool {
        let now = self.now;
        let Some(of) = self.master_mut(master) else { return false };
        if !of.at.flags.has(InstanceFlags::O_DOWN) || of.at.flags.has(InstanceFlags::FAILOVER_IN_PROGRESS) {
            return false;
        }
        let next = of.failover.started.saturating_add(of.failover_timeout.saturating_mul(2));
        if now < next {
            if of.failover.delay_logged != of.failover.started {
                of.failover.delay_logged = of.failover.started;
                let date = date_of(self.wall_ms.saturating_add(next - now));
                let text = format!("Next failover delay: I will not start a failover before {date}");
                self.log(EventLevel::Warning, text);
            }
            return false;
        }
        self.begin_failover(master);
        true
    }

    /// Takes the next step of a failover.
    pub(super) fn continue_failover(&mut self, master: u64) {
        let Some(of) = self.master(master) else { return };
        if !of.at.flags.has(InstanceFlags::FAILOVER_IN_PROGRESS) {
            return;
        }
        match of.failover.state {
            FailoverState::WaitStart => self.wait_start(master),
            FailoverState::SelectSlave => self.select_replica(master),
            FailoverState::SendSlaveofNoOne => self.send_slaveof_no_one(master),
            FailoverState::WaitPromotion => self.wait_promotion(master),
            FailoverState::ReconfSlaves => self.reconfigure_next(master),
            FailoverState::None | FailoverState::UpdateConfig => {}
        }
    }

    fn enter(&mut self, master: u64, state: FailoverState) {
        let now = self.now;
        if let Some(of) = self.master_mut(master) {
            of.failover.state = state;
            of.failover.since = now;
        }
    }

    fn wait_start(&mut self, master: u64) {
        let Some(of) = self.master(master) else { return };
        let (epoch, started) = (of.failover.epoch, of.failover.started);
        let forced = of.at.flags.has(InstanceFlags::FORCE_FAILOVER);
        let timeout = of.failover_timeout.min(self.period(Period::Election));
        let leads =
            self.leader(master, epoch).is_some_and(|leader| leader.eq_ignore_ascii_case(&self.own.id));
        if !leads && !forced {
            if self.now - started > timeout {
                self.event(EventLevel::Warning, "-failover-abort-not-elected", Who::Master(master));
                self.abort_failover(master);
            }
            return;
        }
        self.event(EventLevel::Warning, "+elected-leader", Who::Master(master));
        if self.failures.after_election {
            self.crash();
        }
        self.enter(master, FailoverState::SelectSlave);
        self.event(EventLevel::Warning, "+failover-state-select-slave", Who::Master(master));
    }

    fn select_replica(&mut self, master: u64) {
        let Some(id) = self.best_replica(master) else {
            self.event(EventLevel::Warning, "-failover-abort-no-good-slave", Who::Master(master));
            return self.abort_failover(master);
        };
        let who = Who::Replica(master, id);
        self.event(EventLevel::Warning, "+selected-slave", who);
        self.change_flags(master, id, InstanceFlags::default(), InstanceFlags::PROMOTED);
        self.master_mut(master).into_iter().for_each(|of| of.failover.promoted = Some(id));
        self.enter(master, FailoverState::SendSlaveofNoOne);
        self.event(EventLevel::Notice, "+failover-state-send-slaveof-noone", who);
    }

    fn has_timed_out(&self, master: u64) -> bool {
        self.master(master).is_some_and(|of| self.now - of.failover.since > of.failover_timeout)
    }

    fn send_slaveof_no_one(&mut self, master: u64) {
        let Some(id) = self.master(master).and_then(|of| of.failover.promoted) else { return };
        let is_disconnected = self.replica(master, id).is_none_or(|replica| replica.at.link.disconnected);
        if is_disconnected {
            if self.has_timed_out(master) {
                self.event(EventLevel::Warning, "-failover-abort-slave-timeout", Who::Master(master));
                self.abort_failover(master);
            }
            return;
        }
        if self.send_slaveof(master, id, None) {
            self.event(EventLevel::Notice, "+failover-state-wait-promotion", Who::Replica(master, id));
            self.enter(master, FailoverState::WaitPromotion);
        }
    }

    /// Waits for the promotion, which the replica's INFO shows, or aborts the failover after the timeout.
    fn wait_promotion(&mut self, master: u64) {
        if self.has_timed_out(master) {
            self.event(EventLevel::Warning, "-failover-abort-slave-timeout", Who::Master(master));
            self.abort_failover(master);
        }
    }

    /// Tells the next replicas to follow the promoted one, no more at once than allowed.
    fn reconfigure_next(&mut self, master: u64) {
        let Some(of) = self.master(master) else { return };
        let busy = InstanceFlags::RECONF_SENT | InstanceFlags::RECONF_INPROG;
        let mut in_progress = of.replicas.values().filter(|replica| replica.at.flags.has(busy)).count();
        let most = of.parallel_syncs as usize;
        let promoted = of.failover.promoted.and_then(|id| of.replicas.get(&id));
        let Some(address) = promoted.map(|replica| replica.at.address.clone()) else { return };
        for id in self.replica_ids(master) {
            if in_progress >= most {
                break;
            }
            if self.reconfigure(master, id, &address) {
                in_progress += 1;
            }
        }
        self.detect_end(master, &address);
    }

    /// Tells a replica to follow the promoted one, unless it does so already or cannot. Returns whether it was told.
    fn reconfigure(&mut self, master: u64, id: u64, address: &InstanceAddress) -> bool {
        let (now, timeout) = (self.now, self.period(Period::SlaveReconfTimeout));
        let who = Who::Replica(master, id);
        let Some(replica) = self.replica(master, id) else { return false };
        let (flags, sent_at) = (replica.at.flags, replica.reconf_sent_at);
        let is_disconnected = replica.at.link.disconnected;
        if flags.has(InstanceFlags::PROMOTED | InstanceFlags::RECONF_DONE) {
            return false;
        }
        if flags.has(InstanceFlags::RECONF_SENT) && now - sent_at > timeout {
            self.event(EventLevel::Notice, "-slave-reconf-sent-timeout", who);
            self.change_flags(master, id, InstanceFlags::RECONF_SENT, InstanceFlags::RECONF_DONE);
            return false;
        }
        if flags.has(InstanceFlags::RECONF_SENT | InstanceFlags::RECONF_INPROG) || is_disconnected {
            return false;
        }
        let sent = self.send_slaveof(master, id, Some(address));
        if sent {
            self.change_flags(master, id, InstanceFlags::default(), InstanceFlags::RECONF_SENT);
            self.replica_mut(master, id).into_iter().for_each(|replica| replica.reconf_sent_at = now);
            self.event(EventLevel::Notice, "+slave-reconf-sent", who);
        }
        sent
    }

    /// Ends the failover if all replicas follow the promoted one, or if it has lasted too long.
    fn detect_end(&mut self, master: u64, address: &InstanceAddress) {
        let Some(of) = self.master(master) else { return };
        let promoted = of.failover.promoted.and_then(|id| of.replicas.get(&id));
        if promoted.is_none_or(|promoted| promoted.at.flags.has(InstanceFlags::S_DOWN)) {
            return;
        }
        let is_left = |replica: &&Replica| {
            !replica
                .at
                .flags
                .has(InstanceFlags::PROMOTED | InstanceFlags::RECONF_DONE | InstanceFlags::S_DOWN)
        };
        let is_anyone_left = of.replicas.values().any(|replica| is_left(&replica));
        let timed_out = self.has_timed_out(master);
        if timed_out {
            self.event(EventLevel::Warning, "+failover-end-for-timeout", Who::Master(master));
        }
        if is_anyone_left && !timed_out {
            return;
        }
        self.event(EventLevel::Warning, "+failover-end", Who::Master(master));
        self.enter(master, FailoverState::UpdateConfig);
        if timed_out {
            self.reconfigure_rest(master, address);
        }
    }

    /// Tells all remaining replicas, whether they can follow or not.
    fn reconfigure_rest(&mut self, master: u64, address: &InstanceAddress) {
        for id in self.replica_ids(master) {
            let told = InstanceFlags::PROMOTED | InstanceFlags::RECONF_DONE | InstanceFlags::RECONF_SENT;
            let skipped = self
                .replica(master, id)
                .is_none_or(|replica| replica.at.flags.has(told) || replica.at.link.disconnected);
            if !skipped && self.send_slaveof(master, id, Some(address)) {
                self.event(EventLevel::Notice, "+slave-reconf-sent-be", Who::Replica(master, id));
                self.change_flags(master, id, InstanceFlags::default(), InstanceFlags::RECONF_SENT);
            }
        }
    }

    pub(super) fn switch_to_promoted(&mut self, master: u64) {
        let Some(of) = self.master(master) else { return };
        let old = of.at.address.clone();
        let promoted = of.failover.promoted.and_then(|id| of.replicas.get(&id));
        let new = promoted.map_or_else(|| old.clone(), |replica| replica.at.address.clone());
        self.announce_switch(master, &old, &new);
        self.move_master(master, new);
    }

    fn abort_failover(&mut self, master: u64) {
        let now = self.now;
        let Some(of) = self.master_mut(master) else { return };
        of.at.flags.clear(InstanceFlags::FAILOVER_IN_PROGRESS | InstanceFlags::FORCE_FAILOVER);
        of.failover.state = FailoverState::None;
        of.failover.since = now;
        if let Some(id) = of.failover.promoted.take() {
            self.change_flags(master, id, InstanceFlags::PROMOTED, InstanceFlags::default());
        }
    }

    /// Tells a replica to follow an address (`None`: no master), and cuts its clients. Whether it was sent.
    pub(super) fn send_slaveof(&mut self, master: u64, id: u64, address: Option<&InstanceAddress>) -> bool {
        let who = Who::Replica(master, id);
        let (host, port) = match address {
            Some(address) => (self.shown(address).to_owned(), address.port.to_string()),
            None => ("NO".to_owned(), "ONE".to_owned()),
        };
        let [multi, slaveof, config, client, exec] =
            ["MULTI", "SLAVEOF", "CONFIG", "CLIENT", "EXEC"].map(|command| self.called(who, command));
        let requests: [&[&[u8]]; 6] = [
            &[&multi],
            &[&slaveof, host.as_bytes(), port.as_bytes()],
            &[&config, b"REWRITE"],
            &[&client, b"KILL", b"TYPE", b"normal"],
            &[&client, b"KILL", b"TYPE", b"pubsub"],
            &[&exec],
        ];
        requests.iter().all(|words| self.send(who, Channel::Commands, words, ExpectedReply::Nothing))
    }

    pub(super) fn crash(&mut self) {
        self.log(EventLevel::Warning, "Sentinel CRASH because of SENTINEL simulate-failure".to_owned());
        self.effect(SentinelAction::Crash);
    }
}
