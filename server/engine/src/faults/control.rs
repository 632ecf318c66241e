//! The parts that a request on faults sees, and the effects that it asks for.

use super::action::ReplyAction;
use super::condition::ReplyKind;
use super::judge::RuleJudge;
use super::node_fault::{GrantNumbers, NodeFault};
use super::rule::RuleId;
use super::rules::{ReplyRule, Verdict};
use super::state::Faults;
use super::step::{FaultEffect, FaultStep};
use crate::clients::{Session, Sessions, Slot};
use crate::clock::{Timer, TimerKind};
use crate::scripts::Scripts;
use crate::spec::{Args, Command, CommandError, CommandId, CommandTable};

/// The parts of the engine that a request on faults sees. The engine follows what it has changed.
pub(crate) struct FaultControl<'e> {
    /// The faults.
    pub(crate) faults: &'e mut Faults,
    /// The clients.
    pub(crate) sessions: &'e Sessions,
    /// The scripts that requests name.
    pub(crate) scripts: &'e Scripts,
    /// Every command.
    pub(crate) commands: &'e CommandTable,
    /// The change that the request makes.
    pub(crate) step: FaultStep<'e>,
}

impl FaultControl<'_> {
    /// Cuts all connections but this one and those that rules do not see.
    pub(crate) fn cut_others(&mut self, caller: Slot) {
        let connections = &self.faults.connections;
        let is_spared = |session: &Session| caller == session.slot || connections.is_exempt(session.id);
        self.faults.cut(self.sessions, is_spared, &mut self.step);
    }

    /// Lets nobody in for so many milliseconds, and lets clients in before if they were not. A timer ends that if the
    /// server is by itself.
    pub(crate) fn begin_outage(&mut self, ms: u64, has_kept_history: bool, is_alone: bool) {
        self.end_outage();
        self.faults.outage.begin(ms, has_kept_history, is_alone, &mut self.step);
    }

    /// Lets clients in again, if they were not.
    pub(crate) fn end_outage(&mut self) {
        self.faults.outage.end(&mut self.step);
    }

    /// Makes a black hole of a connection, which is cut after so many milliseconds. That of a server of the same
    /// process is cut after `patience_ms` at the latest, when a replica would give it up: there is no other sign of its
    /// silence.
    pub(crate) fn lose_connection(&mut self, slot: Slot, cut_after_ms: Option<u64>, patience_ms: u64) {
        let session = self.sessions.get(slot);
        let cut_after_ms = match session.peer.in_process {
            true => Some(cut_after_ms.map_or(patience_ms, |ms| ms.min(patience_ms))),
            false => cut_after_ms,
        };
        self.faults.connections.lose(session, cut_after_ms, &mut self.step);
    }

    /// Lets these rules act on other replies: the one on which they were to act is never sent.
    pub(crate) fn never_answered(&mut self, rules: &[ReplyRule]) {
        if !rules.is_empty() {
            self.faults.rules.give_back(rules);
            self.step.add(FaultEffect::RulesChanged);
        }
    }

    /// Follows a timer of faults that has fired.
    pub(crate) fn timer_fired(&mut self, timer: Timer) {
        let FaultControl { faults, sessions, step, .. } = self;
        match timer.kind {
            TimerKind::Thaw => faults.connections.thaw_due(timer.client, step),
            TimerKind::Cut => faults.connections.cut_due(timer.client, sessions.find(timer.client), step),
            _ => faults.outage.expire(step),
        }
    }
}

/// Judgement by the rules. One that acts is counted.
impl FaultControl<'_> {
    /// Returns what happens to a request of a session.
    pub(crate) fn judge(&mut self, slot: Slot, command: &Command, args: Args<'_>) -> Verdict {
        let verdict = self.rules().judge(slot, command, args);
        self.note_spent_rules();
        self.hit(verdict.act.as_ref().map(|(rule, _)| *rule));
        verdict
    }

    /// Returns the error that a command of a transaction is answered instead of being executed, and by which rule.
    pub(crate) fn judge_queued(
        &mut self,
        slot: Slot,
        command: CommandId,
        args: Args<'_>,
    ) -> Option<(RuleId, Box<[u8]>)> {
        let judged = self.rules().judge_queued(slot, command, args)?;
        self.step.add(FaultEffect::RulesChanged);
        self.hit(Some(judged.0));
        Some(judged)
    }

    /// Notes that no rule may act any more, if that is so: judgement only spends rules.
    fn note_spent_rules(&mut self) {
        if !self.faults.look_at_rules() {
            self.step.add(FaultEffect::RulesChanged);
        }
    }

    /// Returns what happens to a reply, and by which of the rules that may act on it.
    pub(crate) fn judge_reply(&mut self, rules: &[ReplyRule], reply: &[u8]) -> Option<(RuleId, ReplyAction)> {
        let judged = self.faults.rules.judge_reply(rules, ReplyKind::of(reply));
        self.note_spent_rules();
        self.hit(judged.as_ref().map(|(rule, _)| *rule));
        judged
    }

    /// Takes those clients out of the lists of receivers for whom a rule loses a message to this channel. Returns the
    /// rule. It may still act until the request has ended: more of its messages may come.
    pub(crate) fn lose_message(&mut self, channel: &[u8], lists: Vec<&mut Vec<u64>>) -> Option<RuleId> {
        let rule = self.rules().lose_message(channel, lists)?;
        self.hit(Some(rule));
        Some(rule)
    }

    fn rules(&mut self) -> RuleJudge<'_> {
        RuleJudge::new(self.faults, self.sessions, self.scripts, self.commands)
    }

    fn hit(&mut self, rule: Option<RuleId>) {
        if let Some(rule) = rule
            && let Some(hits) = self.faults.rules.count_hit(rule)
        {
            self.step.add(FaultEffect::Hit { rule, hits });
        }
    }
}

/// The end of a request on faults.
pub(crate) type FaultOutcome = Result<FaultRequest, CommandError>;

/// The effect that a request on faults asks for, beyond what it has changed.
#[derive(Debug)]
pub(crate) enum FaultRequest {
    /// Nothing.
    Done,
    /// The history of locks has the request.
    Steered,
    /// The rules of these names are removed, one by one: what a rule holds goes on while the later ones stand.
    Remove(Vec<Box<[u8]>>),
    /// Requests and replies that a rule holds go on, the longest held first, but no more than `most`.
    LetGo {
        /// The rule.
        rule: RuleId,
        /// The most of them.
        most: usize,
    },
    /// All servers of the process carry a fault out.
    Broadcast(NodeFault),
    /// Writes to keys that match the pattern, or all, reach no replica from now on.
    Lag(Option<Vec<u8>>),
    /// A replica takes over, with what it has.
    FailOver(GrantNumbers),
    /// The server restarts, after so many milliseconds.
    Restart {
        /// The time in which nobody is let in, in milliseconds.
        down_ms: u64,
        /// Whether it has kept its data.
        keeps_data: bool,
        /// Whether the numbers of grants go on or begin anew.
        numbers: GrantNumbers,
    },
}
