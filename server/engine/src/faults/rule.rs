//! A rule: its conditions, its action, and its counters.

use super::action::{Action, FaultDelay};
use super::condition::{Conditions, ReplyKind};
use super::draw::Draws;
use super::group::Group;

/// The number of a rule, never used for another rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RuleId(pub(super) u64);

#[derive(Debug)]
pub(super) struct Parsed {
    pub(super) conditions: Conditions,
    /// The kind of reply on which the rule acts, if it acts on replies of one kind.
    pub(super) result: Option<ReplyKind>,
    /// The number of first matches that are let through.
    pub(super) skip: u64,
    pub(super) times: Option<u64>,
    /// The probability with which the rule acts, from 0 to 1.
    pub(super) chance: Option<f64>,
    pub(super) action: Action,
    /// The index of the first word of the action.
    pub(super) action_at: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RuleCounts {
    /// The number of times that all conditions held.
    pub(crate) matched: u64,
    /// The number of matches let through because of SKIP.
    pub(crate) skipped: u64,
    /// The number of matches on which the rule has acted or will act.
    pub(crate) taken: u64,
    /// The number of times that the rule has acted.
    pub(crate) hits: u64,
}

/// The suffix that separates the draws of a rule's jitter from those of its probability.
const JITTER: &[u8] = b" jitter";

#[derive(Debug)]
pub(crate) struct Rule {
    pub(crate) id: RuleId,
    pub(crate) name: Box<[u8]>,
    /// The words of the rule behind its name, as they were given.
    pub(crate) text: Box<[u8]>,
    /// The offset in the text, in bytes, at which the action begins.
    action_at: usize,
    pub(crate) counts: RuleCounts,
    pub(super) conditions: Conditions,
    pub(super) result: Option<ReplyKind>,
    pub(super) action: Action,
    skip: u64,
    times: Option<u64>,
    draws: Option<Draws>,
    /// The random draws of a latency's jitter.
    jitter: Draws,
}

impl Rule {
    pub(super) fn new(id: RuleId, name: &[u8], words: &[&[u8]], parsed: Parsed, seed: u64) -> Self {
        let Parsed { conditions, result, skip, times, chance, action, action_at } = parsed;
        let text = words.join(&b' ').into_boxed_slice();
        let action_at = words[..action_at].iter().map(|word| word.len() + 1).sum();
        let draws = chance.map(|chance| Draws::new(chance, seed, name));
        let jitter = Draws::new(1.0, seed, &[name, JITTER].concat());
        let counts = RuleCounts::default();
        Rule {
            id,
            name: name.into(),
            text,
            action_at,
            counts,
            conditions,
            result,
            action,
            skip,
            times,
            draws,
            jitter,
        }
    }

    /// Returns the number of times that the rule may still act; `None` if there is no limit.
    pub(crate) fn left(&self) -> Option<u64> {
        self.times.map(|times| times - self.counts.taken)
    }

    pub(crate) fn action_text(&self) -> &[u8] {
        self.text.get(self.action_at..).unwrap_or_default()
    }

    pub(crate) fn clients(&self) -> Option<&Group> {
        self.conditions.clients()
    }

    pub(super) fn is_over(&self) -> bool {
        self.left() == Some(0)
    }

    /// Counts a match of all conditions. Returns whether the rule acts on it.
    pub(super) fn take(&mut self) -> bool {
        if self.is_over() {
            return false;
        }
        self.counts.matched += 1;
        if self.counts.skipped < self.skip {
            self.counts.skipped += 1;
            return false;
        }
        let takes = self.draws.as_mut().is_none_or(Draws::draw);
        self.counts.taken += u64::from(takes);
        takes
    }

    /// Returns a latency without jitter, randomly drawn.
    pub(super) fn draw_latency(&mut self, latency: FaultDelay) -> FaultDelay {
        let FaultDelay { ms, jitter_ms } = latency;
        match jitter_ms {
            0 => latency,
            _ => {
                let (least, most) = (ms.saturating_sub(jitter_ms), ms.saturating_add(jitter_ms));
                FaultDelay { ms: self.jitter.between(least, most), jitter_ms: 0 }
            }
        }
    }

    pub(super) fn restart_draws(&mut self, seed: u64) {
        if let Some(draws) = &mut self.draws {
            draws.restart(seed, &self.name);
        }
        self.jitter.restart(seed, &[&*self.name, JITTER].concat());
    }

    pub(super) fn memory(&self) -> usize {
        size_of::<Rule>() + self.name.len() + self.text.len() + self.conditions.memory()
    }
}
