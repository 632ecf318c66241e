//! Judgement by the rules: of requests, of queued commands of a transaction, and of messages with their causes.

use super::causes::Cause;
use super::group::{Client, Group};
use super::rule::RuleId;
use super::rules::RuleActions;
use super::state::Faults;
use super::subject::subject_of;
use crate::clients::{Request, Sessions, Slot};
use crate::scripts::Scripts;
use crate::spec::{Args, Command, CommandId, CommandTable};

/// The rules, with the parts of the engine that they need.
pub(crate) struct RuleJudge<'e> {
    faults: &'e mut Faults,
    sessions: &'e Sessions,
    scripts: &'e Scripts,
    commands: &'e CommandTable,
}

impl<'e> RuleJudge<'e> {
    /// Creates a judge that applies these rules.
    pub(crate) fn new(
        faults: &'e mut Faults,
        sessions: &'e Sessions,
        scripts: &'e Scripts,
        commands: &'e CommandTable,
    ) -> Self {
        RuleJudge { faults, sessions, scripts, commands }
    }

    pub(super) fn judge(&mut self, slot: Slot, command: &Command, args: Args<'_>) -> RuleActions {
        let subject = subject_of(self.sessions.get(slot), self.scripts, command, args);
        subject.map(|subject| self.faults.rules.judge(&subject)).unwrap_or_default()
    }

    /// Returns the error that replaces the execution of a command in a transaction, with the rule that gives it.
    pub(super) fn judge_queued(
        &mut self,
        slot: Slot,
        command: CommandId,
        args: Args<'_>,
    ) -> Option<(RuleId, Box<[u8]>)> {
        let session = self.sessions.get(slot);
        // A change that the master has made cannot be refused.
        if session.is_master || self.faults.connections.is_exempt(session.id) {
            return None;
        }
        let subject = subject_of(session, self.scripts, self.commands.get(command), args)?;
        self.faults.rules.judge_queued(&subject)
    }

    /// Begins a cause of messages: a request, or a command that another one calls. Returns whether it was recorded.
    pub(crate) fn begin_cause(&mut self, slot: Slot, command: &Command, args: Args<'_>) -> bool {
        let sees_messages = self.faults.sees_messages();
        if sees_messages {
            self.push_cause(slot, command, args, false);
        }
        sees_messages
    }

    fn push_cause(&mut self, slot: Slot, command: &Command, args: Args<'_>, is_exempt: bool) {
        let subject = subject_of(self.sessions.get(slot), self.scripts, command, args);
        let script = subject.and_then(|subject| subject.script);
        let script = script.map(|script| (script.sha, script.text.into()));
        let request = Request::new(args.all());
        self.faults.causes.push(Cause { command: command.id, request, script, is_exempt });
    }

    /// Begins a cause that rules ignore. Returns whether it was recorded.
    pub(crate) fn begin_exempt_cause(&mut self, args: Args<'_>) -> bool {
        let command = self.commands.resolve(args).map(|command| command.id);
        let Some(command) = command.filter(|_| self.faults.sees_messages()) else { return false };
        let request = Request::new(args.all());
        self.faults.causes.push(Cause { command, request, script: None, is_exempt: true });
        true
    }

    /// Begins a cause within another: a script or a transaction calls a command. Messages up to
    /// [`end_cause`](Self::end_cause) are attributed to the inner command.
    #[cold]
    pub(crate) fn begin_inner_cause(&mut self, slot: Slot, command: CommandId, args: Args<'_>) {
        let is_exempt = self.faults.causes.is_exempt();
        if self.faults.sees_messages() {
            self.push_cause(slot, self.commands.get(command), args, is_exempt);
        } else {
            // The rule that wanted causes has been removed in the meantime.
            let request = Request::new(args.all());
            self.faults.causes.push(Cause { command, request, script: None, is_exempt });
        }
    }

    /// Ends the innermost cause, whose messages have been sent.
    pub(crate) fn end_cause(&mut self) {
        self.faults.causes.pop();
    }

    /// Removes the clients for which a rule loses a message to this channel from the lists. Returns the rule.
    pub(super) fn lose_message(&mut self, channel: &[u8], mut lists: Vec<&mut Vec<u64>>) -> Option<RuleId> {
        let all: Vec<u64> = lists.iter().flat_map(|ids| ids.iter().copied()).collect();
        let rule = self.loss_of(channel, &all)?;
        lists.iter_mut().for_each(|ids| ids.retain(|id| !self.is_lost_for(rule, *id)));
        Some(rule)
    }

    /// Returns the rule that loses a message to this channel for at least one of these receivers.
    fn loss_of(&mut self, channel: &[u8], receivers: &[u64]) -> Option<RuleId> {
        let Faults { rules, causes, .. } = &mut *self.faults;
        if causes.is_exempt() {
            return None;
        }
        let sessions = self.sessions;
        let has = |group: &Group, id: u64| {
            sessions.find(id).is_some_and(|slot| group.has(Client::of(sessions.get(slot))))
        };
        let receives = |group: &Group| receivers.iter().any(|id| has(group, *id));
        causes.with_subjects(self.commands, |subjects| rules.judge_message(channel, subjects, &receives))
    }

    fn is_lost_for(&self, rule: RuleId, client: u64) -> bool {
        let Some(slot) = self.sessions.find(client) else { return true };
        self.faults.rules.loses_for(rule, Client::of(self.sessions.get(slot)))
    }
}
