//! Judgement by the rules: of requests, of commands that a transaction has queued, and of messages with their causes.

use super::causes::Cause;
use super::group::{Client, Group};
use super::rule::RuleId;
use super::rules::Verdict;
use super::state::Faults;
use super::subject::subject_of;
use crate::clients::{Request, Sessions, Slot};
use crate::scripts::Scripts;
use crate::spec::{Args, Command, CommandId, CommandTable};

/// The rules, with the parts of the engine that they see.
pub(crate) struct RuleJudge<'e> {
    faults: &'e mut Faults,
    sessions: &'e Sessions,
    scripts: &'e Scripts,
    commands: &'e CommandTable,
}

impl<'e> RuleJudge<'e> {
    /// A judge by these rules.
    pub(crate) fn new(
        faults: &'e mut Faults,
        sessions: &'e Sessions,
        scripts: &'e Scripts,
        commands: &'e CommandTable,
    ) -> Self {
        RuleJudge { faults, sessions, scripts, commands }
    }

    /// Returns what happens to a request of a session.
    pub(super) fn judge(&mut self, slot: Slot, command: &Command, args: Args<'_>) -> Verdict {
        let subject = subject_of(self.sessions.get(slot), self.scripts, command, args);
        subject.map(|subject| self.faults.rules.judge(&subject)).unwrap_or_default()
    }

    /// Returns the error that a command of a transaction is answered instead of being executed, and by which rule.
    pub(super) fn judge_queued(
        &mut self,
        slot: Slot,
        command: CommandId,
        args: Args<'_>,
    ) -> Option<(RuleId, Box<[u8]>)> {
        let session = self.sessions.get(slot);
        // What a master has done is done.
        if session.is_master || self.faults.connections.is_exempt(session.id) {
            return None;
        }
        let subject = subject_of(session, self.scripts, self.commands.get(command), args)?;
        self.faults.rules.judge_queued(&subject)
    }

    /// Begins a cause of messages: a request begins to run, or a command that another calls. Returns whether rules want
    /// to know.
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

    /// Begins a cause that rules do not see. Returns whether rules want to know.
    pub(crate) fn begin_exempt_cause(&mut self, args: Args<'_>) -> bool {
        let command = self.commands.resolve(args).map(|command| command.id);
        let Some(command) = command.filter(|_| self.faults.sees_messages()) else { return false };
        let request = Request::new(args.all());
        self.faults.causes.push(Cause { command, request, script: None, is_exempt: true });
        true
    }

    /// Begins a cause within another: a script or a transaction calls a command. What that sends until
    /// [`end_cause`](Self::end_cause) is its own.
    #[cold]
    pub(crate) fn begin_inner_cause(&mut self, slot: Slot, command: CommandId, args: Args<'_>) {
        let is_exempt = self.faults.causes.is_exempt();
        if self.faults.sees_messages() {
            self.push_cause(slot, self.commands.get(command), args, is_exempt);
        } else {
            // The rule that wanted to know has gone meanwhile.
            let request = Request::new(args.all());
            self.faults.causes.push(Cause { command, request, script: None, is_exempt });
        }
    }

    /// Ends the cause that has begun last: its messages are sent.
    pub(crate) fn end_cause(&mut self) {
        self.faults.causes.pop();
    }

    /// Takes those clients out of the lists of receivers for whom a rule loses a message to this channel. Returns the
    /// rule.
    pub(super) fn lose_message(&mut self, channel: &[u8], mut lists: Vec<&mut Vec<u64>>) -> Option<RuleId> {
        let all: Vec<u64> = lists.iter().flat_map(|ids| ids.iter().copied()).collect();
        let rule = self.loss_of(channel, &all)?;
        lists.iter_mut().for_each(|ids| ids.retain(|id| !self.is_lost_for(rule, *id)));
        Some(rule)
    }

    /// Returns the rule by which a message to this channel is lost, for some of these receivers or for all.
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

    /// Whether a message that this rule loses is lost for a client.
    fn is_lost_for(&self, rule: RuleId, client: u64) -> bool {
        let Some(slot) = self.sessions.find(client) else { return true };
        self.faults.rules.loses_for(rule, Client::of(self.sessions.get(slot)))
    }
}
