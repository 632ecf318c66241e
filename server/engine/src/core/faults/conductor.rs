//! Changes of faults, and the engine's reaction.

use super::super::call::Call;
use super::super::engine::Engine;
use super::super::hooks::Hook;
use super::super::part_handler::{FaultCaller, FaultHandler};
use crate::clients::Slot;
use crate::core::OtherClients;
use crate::faults::{FaultControl, FaultEffect, FaultRequest, FaultStep, Faults, RuleJudge};
use crate::member::{ALONE, Broadcast, TopologyMember};
use crate::spec::{Args, CommandError, Flow};
use crate::waits::{CountOf, Retry};
use lockwheel_resp::Reply;

impl Engine {
    #[inline]
    pub(crate) fn faults(&self) -> &Faults {
        &self.faults
    }

    /// Returns the rules, with the parts that they need.
    pub(crate) fn rule_judge(&mut self) -> RuleJudge<'_> {
        RuleJudge::new(&mut self.faults, &self.sessions, &self.scripts, &self.commands)
    }

    pub(crate) fn change_faults<T>(
        &mut self,
        change: impl FnOnce(&mut FaultControl<'_>, &TopologyMember) -> T,
    ) -> T {
        let step = FaultStep::new(self.clock.monotonic_timers(&mut self.keyspace));
        let (faults, sessions, scripts, commands) =
            (&mut self.faults, &self.sessions, &self.scripts, &*self.commands);
        let mut control = FaultControl { faults, sessions, scripts, commands, step };
        let done = change(&mut control, &self.member);
        let effects = control.step.end();
        self.follow_faults(effects);
        done
    }

    fn follow_faults(&mut self, effects: Vec<FaultEffect>) {
        for effect in effects {
            match effect {
                FaultEffect::LookAnew => {
                    for slot in self.sessions.slots().collect::<Vec<_>>() {
                        self.sessions.wake(slot);
                    }
                }
                FaultEffect::Wake(slot) => self.sessions.wake(slot),
                FaultEffect::FireAtOnce => self.hooks.set(Hook::NextBatch, true),
                FaultEffect::RulesChanged => {
                    let may_act = self.faults.look_at_rules();
                    self.hooks.set(Hook::Rules, may_act);
                }
                FaultEffect::Hit { rule, hits } => self.waits.count_rises(&CountOf::Hits(rule), hits),
                FaultEffect::GoOn(client) => _ = self.go_on(client),
                FaultEffect::CutOff(slot) => self.cut_off(slot),
                FaultEffect::DropOrphan(slot) => {
                    self.unblock(slot);
                    self.disconnect(slot);
                }
                FaultEffect::Doors { are_open } => {
                    self.environment.host.iter().for_each(|host| host.let_clients_in(are_open));
                }
            }
        }
    }

    /// Runs a command on faults. Fails if the handler does, or a fault needs several servers and there is only one.
    pub(in crate::core) fn run_on_faults(
        &mut self,
        run: FaultHandler,
        call: Call<'_>,
        args: Args<'_>,
        reply: &mut dyn Reply,
    ) -> Result<Flow<Retry>, CommandError> {
        let request = self.change_faults(|control, member| {
            run(control, FaultCaller { client: call.session, member }, args, reply)
        })?;
        if let FaultRequest::Broadcast(fault) = request {
            if !self.member.is_joined() {
                return Err(CommandError::text(ALONE));
            }
            self.history().steering(args);
            return Ok(Retry::of_broadcast(self.member.broadcast(call.session, Broadcast::Fault(fault))));
        }
        if !matches!(request, FaultRequest::Done | FaultRequest::Remove(_) | FaultRequest::LetGo { .. }) {
            self.history().steering(args);
        }
        match request {
            FaultRequest::Done | FaultRequest::Steered | FaultRequest::Broadcast(_) => return Ok(Flow::Done),
            FaultRequest::Remove(ref names) => {
                let mut removed = 0;
                for name in names {
                    removed += i64::from(
                        self.change_faults(|control, _| control.faults.remove_rule(name, &mut control.step)),
                    );
                }
                reply.integer(removed);
                return Ok(Flow::Done);
            }
            FaultRequest::LetGo { rule, most } => {
                let held = self.faults.held.of(rule).into_iter().take(most);
                let gone_on = held.filter(|client| self.go_on(*client)).count();
                reply.integer(gone_on as i64);
                return Ok(Flow::Done);
            }
            FaultRequest::Lag(ref pattern) => self.keyspace.begin_lag(pattern.as_deref()),
            FaultRequest::FailOver(numbers) => {
                self.change_faults(|control, _| control.cut_others(call.slot));
                self.restart(Some(&call.actor(args)), |planner| planner.fail_over(numbers));
            }
            FaultRequest::Restart { down_ms, keeps_data, numbers } => {
                self.change_faults(|control, _| control.cut_others(call.slot));
                self.restart(Some(&call.actor(args)), |planner| match keeps_data {
                    true => planner.interrupt(down_ms, numbers),
                    false => planner.restart_without_data(down_ms, numbers),
                });
            }
        }
        reply.ok();
        Ok(Flow::Done)
    }

    /// Removes all faults. Black holes are cut, since lost traffic does not come back. Exempt clients stay exempt.
    pub(in crate::core) fn reset_faults(&mut self, caller: Option<Slot>, others: OtherClients) {
        if others == OtherClients::Kept {
            self.change_faults(|control, _| control.faults.let_all_go(&mut control.step));
        }
        self.change_faults(|control, _| control.faults.cut_lost(control.sessions, caller, &mut control.step));
        self.keyspace.end_lag();
        let seed = self.start.seed;
        self.change_faults(|control, _| control.faults.reset(seed, &mut control.step));
    }
}
