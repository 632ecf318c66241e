//! All rules, oldest first. The first rule that matches and takes a request acts on it.

use super::action::{Action, ReplyAction, RequestAction};
use super::condition::{ReplyKind, Subject};
use super::group::{Client, Group};
use super::parse::{self, CommandResolver};
use super::rule::{Rule, RuleId};
use crate::spec::syntax::Shown;
use crate::spec::{Args, CommandError};
use lockwheel_resp::number;

/// The maximum number of rules.
const MAX_RULES: usize = 1000;
const TOO_MANY: CommandError = CommandError::text("ERR too many rules: the maximum is 1000");

/// The maximum memory of all rules, in bytes.
const MAX_RULE_BYTES: usize = 1 << 20;
const TOO_LARGE: CommandError =
    CommandError::text("ERR the rules would take more than 1048576 bytes together");

/// The actions of the rules on a request before it is executed.
#[derive(Debug, Default)]
pub(crate) struct RuleActions {
    /// The action that precedes or replaces the execution, with its rule.
    pub(crate) act: Option<(RuleId, RequestAction)>,
    /// The candidates for the reply. The first one that takes the reply acts.
    pub(crate) on_reply: Vec<ReplyRule>,
}

/// A rule that may act on the reply of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReplyRule {
    rule: RuleId,
    /// Whether the rule decides once the reply is known. Otherwise it has taken the match already.
    depends: bool,
}

#[derive(Debug)]
pub(crate) struct Rules {
    rules: Vec<Rule>,
    seed: u64,
    last_id: u64,
    removals: u64,
    /// The bytes of memory that the rules take.
    memory: usize,
}

impl Rules {
    /// Creates an empty list of rules, whose draws will come from this seed.
    pub(crate) fn new(seed: u64) -> Self {
        Rules { rules: Vec::new(), seed, last_id: 0, removals: 0, memory: 0 }
    }

    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &Rule> {
        self.rules.iter()
    }

    /// Returns the rule with this name. O(rules).
    pub(crate) fn find(&self, name: &[u8]) -> Option<&Rule> {
        self.rules.iter().find(|rule| *rule.name == *name)
    }

    /// Returns the rule with this number, if it still exists. O(rules).
    pub(crate) fn get(&self, id: RuleId) -> Option<&Rule> {
        self.rules.iter().find(|rule| rule.id == id)
    }

    fn get_mut(&mut self, id: RuleId) -> Option<&mut Rule> {
        self.rules.iter_mut().find(|rule| rule.id == id)
    }

    /// Adds a rule, given its name and its words; `resolve` returns a command's full name in lower case. Fails if the
    /// words are not a rule, the name is taken, or there is no room.
    pub(crate) fn add(&mut self, args: Args<'_>, resolve: &CommandResolver<'_>) -> Result<(), CommandError> {
        let name = &args[1];
        let parsed = parse::rule(args, resolve)?;
        if self.find(name).is_some() {
            return Err(CommandError::new(format!("ERR rule '{}' already exists", Shown(name))));
        }
        if self.rules.len() == MAX_RULES {
            return Err(TOO_MANY);
        }
        let rule = Rule::new(RuleId(self.last_id + 1), name, args.from(2), parsed, self.seed);
        if self.memory + rule.memory() > MAX_RULE_BYTES {
            return Err(TOO_LARGE);
        }
        self.last_id += 1;
        self.memory += rule.memory();
        self.rules.push(rule);
        Ok(())
    }

    /// Removes a rule; returns its number.
    pub(crate) fn remove(&mut self, name: &[u8]) -> Option<RuleId> {
        let at = self.rules.iter().position(|rule| *rule.name == *name)?;
        let rule = self.rules.remove(at);
        self.memory -= rule.memory();
        self.removals += 1;
        Some(rule.id)
    }

    pub(crate) fn removals(&self) -> u64 {
        self.removals
    }

    /// Restarts the draws of every rule, and takes those of later rules from this seed too.
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

    /// Returns the actions of the rules on a request.
    pub(crate) fn judge(&mut self, subject: &Subject<'_>) -> RuleActions {
        let mut verdict = RuleActions::default();
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
                        return RuleActions { act: Some((rule.id, action)), on_reply: Vec::new() };
                    }
                }
                Action::OnRequest(_) => {}
            }
        }
        verdict
    }

    /// Returns the error that replaces the execution of a command in a transaction, with the rule that gives it.
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

    /// Returns the action on a reply of this kind. The first candidate that takes the reply acts.
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
                // Another rule has taken the reply, so the match of this one does not count.
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

    /// Gives the matches of these rules back, since the reply on which they would have acted is never sent.
    pub(crate) fn give_back(&mut self, rules: &[ReplyRule]) {
        for candidate in rules.iter().filter(|candidate| !candidate.depends) {
            if let Some(rule) = self.get_mut(candidate.rule) {
                rule.counts.taken -= 1;
            }
        }
    }

    /// Returns the rule that loses a message to this channel. `causes` are the requests that have caused it, if any.
    /// `receives` tells whether a group of clients has a receiver.
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

    /// Whether a client loses a message that this rule affects.
    pub(crate) fn loses_for(&self, id: RuleId, client: Client<'_>) -> bool {
        self.get(id).is_some_and(|rule| rule.clients().is_none_or(|group| group.has(client)))
    }

    /// Counts an action of a rule. Returns the new count, if the rule still exists.
    pub(crate) fn count_hit(&mut self, id: RuleId) -> Option<u64> {
        let rule = self.get_mut(id)?;
        rule.counts.hits += 1;
        Some(rule.counts.hits)
    }

    /// Returns the bytes of memory that the rules take. O(1).
    pub(crate) fn memory(&self) -> usize {
        self.memory
    }
}

/// Whether an action applies to a request. A rule does not match a request to which its action does not apply.
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
