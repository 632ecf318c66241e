//! The periodic work of a sentinel.

use super::effect::EventLevel;
use super::periods::Period;
use super::state::Sentinel;
use super::watched::{FailoverState, Who};

impl Sentinel {
    /// Checks all watched servers. It must be called about every 100 milliseconds. After a much longer pause the clock
    /// is not trusted for a while.
    pub(crate) fn tick(&mut self) {
        self.check_tilt();
        for master in self.masters.keys().copied().collect::<Vec<_>>() {
            self.handle(Who::Master(master));
            for id in self.replica_ids(master) {
                self.handle(Who::Replica(master, id));
            }
            for id in self.peer_ids(master) {
                self.handle(Who::Peer(master, id));
            }
            let state = self.master(master).map(|of| of.failover.state);
            if state == Some(FailoverState::UpdateConfig) {
                self.switch_to_promoted(master);
            }
        }
    }

    /// Records that the clock was advanced by `ms` milliseconds, past ticks: no reason to distrust it.
    pub(crate) fn leap(&mut self, ms: i64) {
        self.last_tick = self.last_tick.saturating_add(ms);
    }

    fn check_tilt(&mut self) {
        let passed = self.now - self.last_tick;
        self.last_tick = self.now;
        if passed < 0 || passed > self.period(Period::TiltTrigger) {
            self.tilt_since = Some(self.now);
            self.plain_event(EventLevel::Warning, "+tilt", "#tilt mode entered".to_owned());
        }
    }

    fn handle(&mut self, who: Who) {
        self.reconnect(who);
        self.send_periodic(who);
        if let Some(since) = self.tilt_since {
            if self.now - since < self.period(Period::Tilt) {
                return;
            }
            self.tilt_since = None;
            self.plain_event(EventLevel::Warning, "-tilt", "#tilt mode exited".to_owned());
        }
        self.check_subjectively_down(who);
        if let Who::Master(master) = who {
            self.check_objectively_down(master);
            if self.begin_failover_if_needed(master) {
                self.ask_others(master, true);
            }
            self.continue_failover(master);
            self.ask_others(master, false);
        }
    }
}
