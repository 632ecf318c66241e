//! Messages that a rule loses, and the requests that have caused them.

use super::super::engine::Engine;
use super::acted::ActedOn;
use super::causes::Cause;
use super::subject::{client_of, subject_of, subject_of_cause};
use crate::clients::{Request, Slot};
use crate::faults::{Group, RuleId, Subject};
use crate::spec::{Args, Command, CommandId};

impl Engine {
    /// A request begins to run, or a command that another calls. Whether rules want to know.
    pub(super) fn begin_cause(&mut self, slot: Slot, command: &Command, args: Args<'_>) -> bool {
        if !self.faults.sees_messages {
            return false;
        }
        let subject = subject_of(self.sessions.get(slot), &self.scripts, command, args);
        let script = subject.and_then(|subject| subject.script);
        let script = script.map(|script| (script.sha, script.text.into()));
        let request = Request::new(args.all());
        self.faults.causes.push(Cause { command: command.id, request, script, is_exempt: false });
        true
    }

    /// A request begins to run that rules do not see. Whether rules want to know.
    pub(super) fn begin_exempt_cause(&mut self, slot: Slot, args: Args<'_>) -> bool {
        let command = self.commands.resolve(args).map(|command| command.id);
        let Some(command) = command.filter(|_| self.faults.sees_messages) else { return false };
        let _whose = slot;
        let request = Request::new(args.all());
        self.faults.causes.push(Cause { command, request, script: None, is_exempt: true });
        true
    }

    /// A script or a transaction calls a command; within [`Engine::end_cause`], what that sends is its own.
    #[cold]
    pub(crate) fn begin_inner_cause(&mut self, slot: Slot, command: CommandId, args: Args<'_>) {
        let command = self.commands.get(command).clone();
        let is_exempt = self.faults.causes.last().is_some_and(|cause| cause.is_exempt);
        if !self.begin_cause(slot, &command, args) {
            // The rule that wanted to know has gone meanwhile.
            let request = Request::new(args.all());
            self.faults.causes.push(Cause { command: command.id, request, script: None, is_exempt });
        } else if let Some(cause) = self.faults.causes.last_mut() {
            cause.is_exempt = is_exempt;
        }
    }

    /// It has ended, and its messages are sent.
    pub(crate) fn end_cause(&mut self) {
        self.faults.causes.pop();
    }

    /// Takes those out of the receivers of a message for whom a rule loses it.
    #[cold]
    pub(in crate::core) fn lose_message(&mut self, channel: &[u8], mut receivers: Vec<&mut Vec<u64>>) {
        let all: Vec<u64> = receivers.iter().flat_map(|ids| ids.iter().copied()).collect();
        if let Some(rule) = self.loss_of(channel, &all) {
            receivers.iter_mut().for_each(|ids| ids.retain(|id| !self.is_lost_for(rule, *id)));
        }
    }

    /// The rule by which a message to this channel is lost, for some of these receivers or for all.
    fn loss_of(&mut self, channel: &[u8], receivers: &[u64]) -> Option<RuleId> {
        if self.faults.causes.last().is_some_and(|cause| cause.is_exempt) {
            return None;
        }
        let causes = std::mem::take(&mut self.faults.causes);
        let rule = self.rule_for_message(channel, receivers, &causes);
        self.faults.causes = causes;
        if let Some(rule) = rule {
            // The flags stay until the request has ended: more of its messages may come.
            self.rule_acted(rule, ActedOn::Message);
        }
        rule
    }

    fn rule_for_message(&mut self, channel: &[u8], receivers: &[u64], causes: &[Cause]) -> Option<RuleId> {
        let argvs: Vec<Vec<&[u8]>> = causes.iter().map(|cause| cause.request.argv()).collect();
        let outer = causes.first().and_then(|cause| cause.script.as_ref());
        let subjects: Vec<Subject<'_>> = causes
            .iter()
            .zip(&argvs)
            .map(|(cause, argv)| {
                subject_of_cause(cause, self.commands.get(cause.command), Args::new(argv), outer)
            })
            .collect();
        let sessions = &self.sessions;
        let has = |group: &Group, id: u64| {
            sessions.find(id).is_some_and(|slot| group.has(client_of(sessions.get(slot))))
        };
        let receives = |group: &Group| receivers.iter().any(|id| has(group, *id));
        self.faults.rules.judge_message(channel, &subjects, &receives)
    }

    /// Whether a message that this rule loses is lost for a client.
    fn is_lost_for(&self, rule: RuleId, client: u64) -> bool {
        let Some(slot) = self.sessions.find(client) else { return true };
        self.faults.rules.loses_for(rule, client_of(self.sessions.get(slot)))
    }
}
