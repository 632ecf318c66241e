//! A replica that lags and takes over; a server that restarts without what it kept.

use super::super::call::Call;
use super::super::engine::Engine;
use super::super::progress::{Crash, Stop};
use crate::clients::Slot;
use crate::faults::GrantNumbers;
use crate::locks;
use crate::member::TopologyRequest;
use crate::persistence::have_same_dump;
use crate::spec::Args;
use lockwheel_store::keyspace::Actor;

impl Engine {
    /// A replica takes over, with what it has: writes since it began to lag are lost, the script cache is empty, and
    /// all connections are cut but the caller's and those that rules do not see.
    pub(super) fn fail_over(&mut self, call: Call<'_>, args: Args<'_>) {
        self.change_faults(|control, _| control.cut_others(call.slot));
        let (actor, now) = (call.actor(args), self.clock.now());
        locks::failing_over(&mut self.keyspace, |keyspace| keyspace.go_back(have_same_dump, &actor, now));
        if let Ok(runtime) = self.scripts.idle() {
            runtime.flush();
        }
    }

    /// All connections are cut but the caller's and those that rules do not see, and nobody is let in for so many
    /// milliseconds of the monotonic clock: as behind a broken network, or after a restart that has kept everything.
    pub(super) fn interrupt(&mut self, caller: Slot, down_ms: u64) {
        self.change_faults(|control, _| control.cut_others(caller));
        let was_killed = self.faults.outage.was_killed();
        let knows_history = match was_killed {
            true => self.faults.outage.has_kept_history(),
            false => self.replication().knows_its_history(),
        };
        if down_ms > 0 {
            self.change_faults(|control, member| {
                control.begin_outage(down_ms, knows_history, !member.is_joined())
            });
        } else if was_killed && self.member.is_joined() {
            self.begin_again();
        } else {
            self.change_faults(|control, _| control.end_outage());
        }
    }

    /// Begins as a process that has kept nothing but its configuration: keys, scripts and functions are gone. Nobody is
    /// let in for so many milliseconds of the monotonic clock.
    pub(super) fn begin_without_data(
        &mut self,
        actor: Option<&Actor<'_>>,
        down_ms: u64,
        numbers: GrantNumbers,
    ) {
        let master = self.replication().followed(self.faults.outage.was_killed());
        let master = master.map(|(host, port)| (host.to_owned(), port));
        let comes_up = down_ms == 0 && self.faults.outage.was_killed() && self.member.is_joined();
        if master.is_some() {
            self.end_replication();
            self.change_replication(|control| control.forget_history());
        }
        self.lose_data(actor, master.is_some());
        if down_ms > 0 {
            self.change_faults(|control, member| control.begin_outage(down_ms, false, !member.is_joined()));
        } else {
            self.change_faults(|control, _| control.end_outage());
        }
        // Before it may hear from other servers which numbers they have given.
        if numbers == GrantNumbers::Restart {
            self.grants().restart_numbers();
        }
        if comes_up {
            self.faults.outage.lose_history();
            return self.begin_again();
        }
        // One of several servers that is down follows its master when it comes up.
        if let Some((host, port)) = master.filter(|_| down_ms == 0 || !self.member.is_joined()) {
            self.follow(host, port, false);
        }
    }

    /// A crash of this server alone: it ends as if its process had ended, or restarts.
    pub fn crash_alone(&mut self, crash: Crash) {
        let Crash::Restart(down_ms) = crash else {
            self.stop = Some(Stop::Shutdown);
            return;
        };
        self.change_faults(|control, _| control.faults.cut(control.sessions, |_| false, &mut control.step));
        self.begin_without_data(None, down_ms, GrantNumbers::GoOn);
        self.commit();
    }

    /// Loses keys, scripts and functions, as with the process; what a replica had its master has still.
    pub(super) fn lose_data(&mut self, actor: Option<&Actor<'_>>, is_replica: bool) {
        self.keyspace.end_lag();
        let now = self.clock.now();
        let flush = |engine: &mut Engine| {
            locks::failing_over(&mut engine.keyspace, |keyspace| match actor {
                Some(actor) => keyspace.tx_by(actor, 0, now).flush_all(),
                None => keyspace.tx(0, now).flush_all(),
            });
        };
        if is_replica {
            self.as_another_did(flush)
        } else {
            flush(self)
        }
        let seed = self.start.seed;
        self.scripts.reset(&self.config, seed);
    }

    /// A client has left. While nobody is let in, and the clock stands, it may have been the last that could move it:
    /// without one, clients are let in again.
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
