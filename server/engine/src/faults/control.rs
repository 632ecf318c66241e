//! The parts of the engine that a fault request can access, and the effects that it asks for.

use super::action::ReplyAction;
use super::condition::ReplyKind;
use super::judge::RuleJudge;
use super::node_fault::{GrantNumbers, NodeFault};
use super::rule::RuleId;
use super::rules::{ReplyRule, RuleActions};
use super::state::Faults;
use super::step::{FaultEffect, FaultStep};
use crate::clients::{Session, Sessions, Slot};
use crate::clock::{Timer, TimerKind};
use crate::scripts::Scripts;
use crate::spec::{Args, Command, CommandError, CommandId, CommandTable};

/// The parts of the engine that a fault request can access. The engine acts on the changes afterwards.
pub(crate) struct FaultControl<'e> {
    pub(crate) faults: &'e mut Faults,
    pub(crate) sessions: &'e Sessions,
    pub(crate) scripts: &'e Scripts,
    pub(crate) commands: &'e CommandTable,
    /// The change that the request makes, with its effects.
    pub(crate) step: FaultStep<'e>,
}

impl FaultControl<'_> {
    /// Cuts all connections except this one and those of exempt clients.
    pub(crate) fn cut_others(&mut self, caller: Slot) {
        let connections = &self.faults.connections;
        let is_spared = |session: &Session| caller == session.slot || connections.is_exempt(session.id);
        self.faults.cut(self.sessions, is_spared, &mut self.step);
    }

    /// Begins an outage of so many milliseconds, after ending a current one. If the server is alone, a timer ends it.
    pub(crate) fn begin_outage(&mut self, ms: u64, has_kept_history: bool, is_alone: bool) {
        self.end_outage();
        self.faults.outage.begin(ms, has_kept_history, is_alone, &mut self.step);
    }

    /// Ends the current outage, if there is one, and lets clients in again.
    pub(crate) fn end_outage(&mut self) {
        self.faults.outage.end(&mut self.step);
    }

    /// Turns a connection into a black hole that is cut after this number of milliseconds. If the peer is a server of
    /// the same process, the connection is cut after `patience_ms` at the latest. A replica would give up then, and it
    /// has no other sign that its master is silent.
    pub(crate) fn lose_connection(&mut self, slot: Slot, cut_after_ms: Option<u64>, patience_ms: u64) {
        let session = self.sessions.get(slot);
        let cut_after_ms = match session.peer.in_process {
            true => Some(cut_after_ms.map_or(patience_ms, |ms| ms.min(patience_ms))),
            false => cut_after_ms,
        };
        self.faults.connections.lose(session, cut_after_ms, &mut self.step);
    }

    /// Gives the matches of these rules back, since the reply on which they were to act is never sent.
    pub(crate) fn never_answered(&mut self, rules: &[ReplyRule]) {
        if !rules.is_empty() {
            self.faults.rules.give_back(rules);
            self.step.add(FaultEffect::RulesChanged);
        }
    }

    pub(crate) fn timer_fired(&mut self, timer: Timer) {
        let FaultControl { faults, sessions, step, .. } = self;
        match timer.kind {
            TimerKind::Thaw => faults.connections.thaw_due(timer.client, step),
            TimerKind::Cut => faults.connections.cut_due(timer.client, sessions.find(timer.client), step),
            _ => faults.outage.expire(step),
        }
    }
}

/// Judgement by the rules. Each action of a rule is counted.
impl FaultControl<'_> {
    /// Returns the actions of the rules on a request.
    pub(crate) fn judge(&mut self, slot: Slot, command: &Command, args: Args<'_>) -> RuleActions {
        let verdict = self.rules().judge(slot, command, args);
        self.note_spent_rules();
        self.hit(verdict.act.as_ref().map(|(rule, _)| *rule));
        verdict
    }

    /// Returns the error that replaces the execution of a command in a transaction, with the rule that gives it.
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

    /// Records that no rule may act any more, if that is the case. Judging can only use rules up.
    fn note_spent_rules(&mut self) {
        if !self.faults.look_at_rules() {
            self.step.add(FaultEffect::RulesChanged);
        }
    }

    /// Returns the action on a reply, with the rule that acts. `rules` are the candidates.
    pub(crate) fn judge_reply(&mut self, rules: &[ReplyRule], reply: &[u8]) -> Option<(RuleId, ReplyAction)> {
        let judged = self.faults.rules.judge_reply(rules, ReplyKind::of(reply));
        self.note_spent_rules();
        self.hit(judged.as_ref().map(|(rule, _)| *rule));
        judged
    }

    /// Removes the clients for which a rule loses a message to this channel from the lists of receivers. Returns the
    /// rule. The rule stays active until the request has ended, since the request may send more messages.
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

pub(crate) type FaultOutcome = Result<FaultRequest, CommandError>;

/// The effect that a fault request asks for, beyond its own changes.
#[derive(Debug)]
pub(crate) enum FaultRequest {
    /// Nothing.
    Done,
    /// The history of locks records the request.
    Steered,
    /// The rules with these names are removed one by one: what a rule holds is released while the later ones stand.
    Remove(Vec<Box<[u8]>>),
    /// Requests and replies that a rule holds are released, the longest held first, up to a limit.
    LetGo {
        rule: RuleId,
        /// The maximum number of requests and replies to release.
        most: usize,
    },
    /// All servers of the process apply a fault.
    Broadcast(NodeFault),
    /// From now on, writes to keys that match the pattern reach no replica. `None` matches all keys.
    Lag(Option<Vec<u8>>),
    /// A replica takes over with the data that it has.
    FailOver(GrantNumbers),
    Restart {
        /// The time in which no client is let in, in milliseconds.
        down_ms: u64,
        /// Whether the server keeps its data.
        keeps_data: bool,
        /// Whether grant numbers continue or start again.
        numbers: GrantNumbers,
    },
}
