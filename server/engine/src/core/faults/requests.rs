//! Requests on which rules act.

use super::super::call::Call;
use super::super::dispatch::Client;
use super::super::engine::Engine;
use super::super::hooks::Hook;
use super::super::permit::decide;
use super::super::progress::Progress;
use super::acted::ActedOn;
use crate::clients::{Closing, OpenReply, Request, Slot};
use crate::faults::{ChangedArguments, HeldPart, HeldTraffic, RequestAction, RuleActions, RuleId};
use crate::spec::{Args, Command, CommandId, Flags};
use crate::waits::Blocked;
use lockwheel_resp::Writer;
use std::sync::Arc;

impl Client<'_> {
    /// Returns the command of a request if rules see it: it reaches a handler now and does not control the server.
    fn command_seen(&self, args: Args<'_>) -> Option<Arc<Command>> {
        if self.session.closing == Some(Closing::Now) {
            return None;
        }
        let command = decide(self, &self.engine.commands, args).ok()?;
        let is_queued = self.session.multi.is_some() && !command.has(Flags::UNQUEUED);
        let is_seen = !is_queued && !command.has(Flags::CONTROL);
        is_seen.then(|| self.engine.commands.get(command.id).clone())
    }
}

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

impl Engine {
    #[cold]
    #[inline(never)]
    pub(in crate::core) fn execute_seen(&mut self, slot: Slot, argv: &[&[u8]]) -> Progress {
        let args = Args::new(argv);
        let session = self.sessions.get(slot);
        let command = Client { engine: self, session, limited: true }.command_seen(args);
        let is_exempt = self.faults.connections.is_exempt(session.id);
        let Some(command) = command.filter(|_| !is_exempt) else {
            let has_cause = is_exempt && self.rule_judge().begin_exempt_cause(args);
            let progress = self.execute_request(slot, argv);
            if has_cause {
                self.rule_judge().end_cause();
            }
            return progress;
        };
        let verdict = self.change_faults(|control, _| control.judge(slot, &command, args));
        let has_cause = self.rule_judge().begin_cause(slot, &command, args);
        let progress = self.obey(slot, &command, args, verdict);
        if has_cause {
            self.rule_judge().end_cause();
        }
        // Other clients may wait for a rule to act.
        self.commit();
        progress
    }

    fn obey(&mut self, slot: Slot, command: &Command, args: Args<'_>, verdict: RuleActions) -> Progress {
        let Some((rule, action)) = verdict.act else {
            return match verdict.on_reply.is_empty() {
                true => self.execute_request(slot, args.all()),
                false => self.execute_for_reply(slot, command.id, args, verdict.on_reply),
            };
        };
        self.history().rule_acted(rule, ActedOn::Request(slot, command.id, args));
        match action {
            RequestAction::Drop { cut_after_ms } => {
                let patience_ms = self.config.replication.patience_ms();
                self.change_faults(|control, _| control.lose_connection(slot, cut_after_ms, patience_ms));
                Progress::Stop
            }
            RequestAction::Delay(_) | RequestAction::Hold => {
                let delay_ms =
                    if let RequestAction::Delay(latency) = action { Some(latency.ms) } else { None };
                let held = HeldTraffic { rule, part: HeldPart::Request };
                self.park_held(slot, (command.id, Request::new(args.all())), held, delay_ms);
                Progress::Blocked
            }
            RequestAction::Error(text) => self.answer_error(slot, command, &text),
            RequestAction::Close | RequestAction::Reset => {
                self.sessions.get_mut(slot).resets = action == RequestAction::Reset;
                self.sessions.get_mut(slot).close(Closing::AfterOutput);
                Progress::Stop
            }
            RequestAction::Duplicate => self.execute_twice(slot, rule, command.id, args),
            RequestAction::ForgetScript => {
                if let Ok(runtime) = self.scripts.idle()
                    && let Some(script) = runtime.find(&args[1])
                {
                    runtime.forget(script);
                }
                self.execute_request(slot, args.all())
            }
            RequestAction::ExpireKeys => {
                let db = self.sessions.get(slot).db;
                for position in command.key_positions(args) {
                    self.keyspace.expire_now(db, &args[position], self.clock.now());
                }
                self.commit();
                self.execute_request(slot, args.all())
            }
            RequestAction::Add { argument, by } => {
                let changed = ChangedArguments::new(args, |index, value| {
                    (index == argument).then(|| value.checked_add(by)).flatten()
                });
                self.execute_request(slot, &changed.argv())
            }
            RequestAction::ShiftTimes => {
                let (system_ms, wall_ms) = (self.clock.system().wall_ms(), self.clock.now().wall_ms());
                let changed = ChangedArguments::new(args, |_, value| {
                    let is_instant = value.checked_sub(system_ms).is_some_and(|far| far.abs() <= DAY_MS);
                    is_instant.then(|| value.checked_add(wall_ms - system_ms)).flatten()
                });
                self.execute_request(slot, &changed.argv())
            }
        }
    }

    /// Replies with an error instead of executing a request. As in a refusal, EXEC discards its transaction.
    fn answer_error(&mut self, slot: Slot, command: &Command, text: &[u8]) -> Progress {
        if command.name == "exec" {
            self.sessions.get_mut(slot).multi = None;
            self.sessions.get_mut(slot).unwatch(&mut self.keyspace);
        }
        self.observers.stats.rejected(Some(command.id), text);
        let now = self.clock.now();
        let session = self.sessions.get_mut(slot);
        session.last_active = now;
        let protocol = session.protocol;
        let mut open = session.delivery.begin();
        open.write(protocol, |reply| reply.error(text));
        self.change_output(slot, |output, slot| output.end_reply(slot, open, false));
        Progress::Continue
    }

    /// Executes a request without a reply, then again with one. The second run follows the wait of the first.
    fn execute_twice(&mut self, slot: Slot, rule: RuleId, command: CommandId, args: Args<'_>) -> Progress {
        let session = self.sessions.get(slot);
        let (id, call, protocol) = (session.id, Call::by(session), session.protocol);
        self.keyspace.ignore_accesses(session.no_touch);
        let mut unread = Vec::new();
        let mut unread = Writer::new(&mut unread, protocol);
        match self.run(call, command, args, &mut unread) {
            Some(unfinished) if unfinished.by_ticket() => {
                self.leave_waiting(slot, unfinished.undone(command, args), &mut unread);
            }
            Some(unfinished) => {
                self.block(slot, unfinished.undone(command, args));
                if let Some(blocked) = self.waits.get_mut(id) {
                    blocked.again = Some(rule);
                }
                return Progress::Blocked;
            }
            None => {}
        }
        self.commit();
        self.execute_request(slot, args.all())
    }

    /// Executes a request again after its wait, without its first reply; in a new batch, as it may run a script.
    pub(in crate::core) fn answered_once(
        &mut self,
        slot: Slot,
        mut open: OpenReply,
        rule: RuleId,
        blocked: &Blocked,
    ) {
        open.truncate(0);
        self.change_output(slot, |output, slot| output.end_reply(slot, open, true));
        if self.sessions.get(slot).closing != Some(Closing::Now) {
            let request = Request::new(&blocked.request.argv());
            self.park_held(
                slot,
                (blocked.command, request),
                HeldTraffic { rule, part: HeldPart::Request },
                Some(0),
            );
        }
    }

    /// Returns the error with which a rule replaces a queued command.
    pub(crate) fn error_for_queued(
        &mut self,
        slot: Slot,
        command: CommandId,
        args: Args<'_>,
    ) -> Option<Box<[u8]>> {
        if !self.hooks.has(Hook::Rules) {
            return None;
        }
        let (rule, text) = self.change_faults(|control, _| control.judge_queued(slot, command, args))?;
        self.history().rule_acted(rule, ActedOn::Queued(slot, command, args));
        self.observers.stats.rejected(Some(command), &text);
        Some(text)
    }
}
