//! All rules, oldest first: the first that matches and takes a request acts on it.

use super::action::{Action, ReplyAction, RequestAction};
use super::condition::{ReplyKind, Subject};
use super::group::{Client, Group};
use super::parse::{self, CommandResolver};
use super::rule::{Rule, RuleId};
use crate::spec::syntax::Shown;
use crate::spec::{Args, CommandError};
use lockwheel_resp::number;

/// The most rules that there can be.
const RULES_MAX: usize = 1000;
const TOO_MANY: CommandError = CommandError::text("ERR there can be no more than 1000 rules");

/// The most bytes that all rules may take.
const RULES_MAX_BYTES: usize = 1 << 20;
const TOO_LARGE: CommandError = CommandError::text("ERR all rules can take no more than 1048576 bytes");

/// What rules say of a request before it is executed.
#[derive(Debug, Default)]
pub(crate) struct Verdict {
    /// What happens first, or instead, and by which rule.
    pub(crate) act: Option<(RuleId, RequestAction)>,
    /// The rules that may act on its reply, the first of them that wants it.
    pub(crate) on_reply: Vec<ReplyRule>,
}

/// A rule that may act on the reply of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReplyRule {
    rule: RuleId,
    /// Whether it depends on the reply; otherwise it has taken it already.
    depends: bool,
}

/// All rules.
#[derive(Debug)]
pub(crate) struct Rules {
    /// The oldest first.
    rules: Vec<Rule>,
    seed: u64,
    last_id: u64,
    /// How many rules were removed.
    removals: u64,
    /// Bytes of memory that they take.
    memory: usize,
}

impl Rules {
    /// None, whose draws will come from this seed.
    pub(crate) fn new(seed: u64) -> Self {
        Rules { rules: Vec::new(), seed, last_id: 0, removals: 0, memory: 0 }
    }

    /// The rules, oldest first.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &Rule> {
        self.rules.iter()
    }

    /// The rule of this name. O(rules).
    pub(crate) fn find(&self, name: &[u8]) -> Option<&Rule> {
        self.rules.iter().find(|rule| *rule.name == *name)
    }

    /// The rule with this number, if it is still there. O(rules).
    pub(crate) fn get(&self, id: RuleId) -> Option<&Rule> {
        self.rules.iter().find(|rule| rule.id == id)
    }

    fn get_mut(&mut self, id: RuleId) -> Option<&mut Rule> {
        self.rules.iter_mut().find(|rule| rule.id == id)
    }

    /// Adds the rule of a request: its name and its words. `resolve` gives the full name of a command in lower case.
    ///
    /// # Errors
    /// When the words are no rule, there is one of this name, or there are too many or too large ones.
    pub(crate) fn add(&mut self, args: Args<'_>, resolve: &CommandResolver<'_>) -> Result<(), CommandError> {
        let name = &args[1];
        let parsed = parse::rule(args, resolve)?;
        if self.find(name).is_some() {
            return Err(CommandError::new(format!("ERR there is a rule '{}' already", Shown(name))));
        }
        if self.rules.len() == RULES_MAX {
            return Err(TOO_MANY);
        }
        let rule = Rule::new(RuleId(self.last_id + 1), name, args.from(2), parsed, self.seed);
        if self.memory + rule.memory() > RULES_MAX_BYTES {
            return Err(TOO_LARGE);
        }
        self.last_id += 1;
        self.memory += rule.memory();
        self.rules.push(rule);
        Ok(())
    }

    /// Removes a rule; its number.
    pub(crate) fn remove(&mut self, name: &[u8]) -> Option<RuleId> {
        let at = self.rules.iter().position(|rule| *rule.name == *name)?;
        let rule = self.rules.remove(at);
        self.memory -= rule.memory();
        self.removals += 1;
        Some(rule.id)
    }

    /// How many rules were removed.
    pub(crate) fn removals(&self) -> u64 {
        self.removals
    }

    /// Draws from this seed from now on, each rule from its beginning.
    pub(crate) fn set_seed(&mut self, seed: u64) {
        self.seed = seed;
        self.rules.iter_mut().for_each(|rule| rule.restart_draws(seed));
    }

    /// Whether a rule may still act.
    pub(crate) fn any_live(&self) -> bool {
        self.rules.iter().any(|rule| !rule.is_over())
    }

    /// Whether a rule may still act on messages.
    pub(crate) fn any_on_messages(&self) -> bool {
        self.rules.iter().any(|rule| !rule.is_over() && rule.action == Action::LosePublish)
    }

    /// What happens to a request.
    pub(crate) fn judge(&mut self, subject: &Subject<'_>) -> Verdict {
        let mut verdict = Verdict::default();
        for rule in self.rules.iter_mut().filter(|rule| !rule.is_over() && rule.conditions.hold(subject)) {
            match &rule.action {
                Action::LosePublish => {}
                Action::OnReply(_) => {
                    let depends = rule.result.is_some();
                    if depends || rule.take() {
                        verdict.on_reply.push(ReplyRule { rule: rule.id, depends });
                    }
                    if !depends && verdict.on_reply.last().is_some_and(|last| last.rule == rule.id) {
                        return verdict;
                    }
                }
                Action::OnRequest(action) if applies(action, subject) => {
                    let action = action.clone();
                    if rule.take() {
                        let action = match action {
                            RequestAction::Delay(latency) => RequestAction::Delay(rule.draw_latency(latency)),
                            action => action,
                        };
                        return Verdict { act: Some((rule.id, action)), on_reply: Vec::new() };
                    }
                }
                Action::OnRequest(_) => {}
            }
        }
        verdict
    }

    /// The error that a command of a transaction is answered instead of being executed, and by which rule.
    pub(crate) fn judge_queued(&mut self, subject: &Subject<'_>) -> Option<(RuleId, Box<[u8]>)> {
        for rule in self.rules.iter_mut().filter(|rule| !rule.is_over()) {
            if let Action::OnRequest(RequestAction::Error(text)) = &rule.action
                && rule.conditions.hold(subject)
            {
                let text = text.clone();
                if rule.take() {
                    return Some((rule.id, text));
                }
            }
        }
        None
    }

    /// What happens to a reply of this kind, by those rules that may act on it; the first that takes it does.
    pub(crate) fn judge_reply(
        &mut self,
        rules: &[ReplyRule],
        kind: Option<ReplyKind>,
    ) -> Option<(RuleId, ReplyAction)> {
        let mut taken = None;
        for candidate in rules {
            let Some(rule) = self.get_mut(candidate.rule) else { continue };
            let Action::OnReply(action) = &rule.action else { continue };
            let action = action.clone();
            if taken.is_some() {
                // It comes too late: another has taken the reply.
                rule.counts.taken -= u64::from(!candidate.depends);
            } else if !candidate.depends || (rule.result == kind && kind.is_some() && rule.take()) {
                let action = match action {
                    ReplyAction::Delay(latency) => ReplyAction::Delay(rule.draw_latency(latency)),
                    action => action,
                };
                taken = Some((rule.id, action));
            }
        }
        taken
    }

    /// The reply on which these rules would have acted is never sent: those that have taken it already have not acted.
    pub(crate) fn give_back(&mut self, rules: &[ReplyRule]) {
        for candidate in rules.iter().filter(|candidate| !candidate.depends) {
            if let Some(rule) = self.get_mut(candidate.rule) {
                rule.counts.taken -= 1;
            }
        }
    }

    /// The rule by which a message to this channel is lost, caused by one of these requests or by none. `receives`
    /// tells whether a group of clients has a receiver.
    pub(crate) fn judge_message(
        &mut self,
        channel: &[u8],
        causes: &[Subject<'_>],
        receives: &dyn Fn(&Group) -> bool,
    ) -> Option<RuleId> {
        let rules = self.rules.iter_mut().filter(|rule| !rule.is_over());
        for rule in rules.filter(|rule| rule.action == Action::LosePublish) {
            if rule.conditions.hold_for_message(channel, causes)
                && rule.clients().is_none_or(receives)
                && rule.take()
            {
                return Some(rule.id);
            }
        }
        None
    }

    /// Whether a message that this rule loses is lost for a client.
    pub(crate) fn loses_for(&self, id: RuleId, client: Client<'_>) -> bool {
        self.get(id).is_some_and(|rule| rule.clients().is_none_or(|group| group.has(client)))
    }

    /// A rule has acted; how often it has now, if it is still there.
    pub(crate) fn count_hit(&mut self, id: RuleId) -> Option<u64> {
        let rule = self.get_mut(id)?;
        rule.counts.hits += 1;
        Some(rule.counts.hits)
    }

    /// Bytes of memory that they take. O(1).
    pub(crate) fn memory(&self) -> usize {
        self.memory
    }
}

/// Whether an action can be done to a request at all; a rule does not match another.
fn applies(action: &RequestAction, subject: &Subject<'_>) -> bool {
    match action {
        RequestAction::ForgetScript => subject.script.is_some() && subject.command.starts_with("evalsha"),
        RequestAction::ExpireKeys => !subject.keys.is_empty(),
        RequestAction::Add { argument, by } => subject
            .args
            .get(*argument)
            .and_then(number::parse_i64)
            .is_some_and(|value| value.checked_add(*by).is_some()),
        _ => true,
    }
}
