//! A rule: what it matches, what it does, and how often.

use super::action::{Action, Latency};
use super::condition::{Conditions, ReplyKind};
use super::draw::Draws;
use super::group::Group;

/// The number of a rule, which no other has had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RuleId(pub(super) u64);

/// A rule as it was parsed.
#[derive(Debug)]
pub(super) struct Parsed {
    pub(super) conditions: Conditions,
    /// The kind of reply that it wants, if it acts on replies.
    pub(super) result: Option<ReplyKind>,
    /// So many matches are let through first.
    pub(super) skip: u64,
    /// So many times it acts.
    pub(super) times: Option<u64>,
    /// The chance with which it acts, from 0 to 1.
    pub(super) chance: Option<f64>,
    pub(super) action: Action,
    /// Which of the words its action begins with.
    pub(super) action_at: usize,
}

/// How often a rule has matched, and what came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// How often all conditions held.
    pub(crate) matched: u64,
    /// How many of these were let through because of SKIP.
    pub(crate) skipped: u64,
    /// How many were taken: it has acted on them, or will.
    pub(crate) taken: u64,
    /// How often it has acted.
    pub(crate) hits: u64,
}

/// Makes the draws of a rule's jitter others than those of its chance.
const JITTER: &[u8] = b" jitter";

/// A rule.
#[derive(Debug)]
pub(crate) struct Rule {
    /// Its number.
    pub(crate) id: RuleId,
    /// Its name.
    pub(crate) name: Box<[u8]>,
    /// Its words, as they were given, behind the name.
    pub(crate) text: Box<[u8]>,
    /// Where in these its action begins.
    action_at: usize,
    /// What came of it so far.
    pub(crate) counts: Counts,
    pub(super) conditions: Conditions,
    pub(super) result: Option<ReplyKind>,
    pub(super) action: Action,
    skip: u64,
    times: Option<u64>,
    draws: Option<Draws>,
    /// The draws of a latency's jitter.
    jitter: Draws,
}

impl Rule {
    pub(super) fn new(id: RuleId, name: &[u8], words: &[&[u8]], parsed: Parsed, seed: u64) -> Self {
        let Parsed { conditions, result, skip, times, chance, action, action_at } = parsed;
        let text = words.join(&b' ').into_boxed_slice();
        let action_at = words[..action_at].iter().map(|word| word.len() + 1).sum();
        let draws = chance.map(|chance| Draws::new(chance, seed, name));
        let jitter = Draws::new(1.0, seed, &[name, JITTER].concat());
        let counts = Counts::default();
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

    /// How often it can still act; `None` when there is no end to it.
    pub(crate) fn left(&self) -> Option<u64> {
        self.times.map(|times| times - self.counts.taken)
    }

    /// What it does, as it was given.
    pub(crate) fn action_text(&self) -> &[u8] {
        self.text.get(self.action_at..).unwrap_or_default()
    }

    /// The clients that it names.
    pub(crate) fn clients(&self) -> Option<&Group> {
        self.conditions.clients()
    }

    pub(super) fn is_over(&self) -> bool {
        self.left() == Some(0)
    }

    /// All conditions hold: whether it acts.
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

    /// A latency as it is this time.
    pub(super) fn draw_latency(&mut self, latency: Latency) -> Latency {
        let Latency { ms, jitter_ms } = latency;
        match jitter_ms {
            0 => latency,
            _ => {
                let (least, most) = (ms.saturating_sub(jitter_ms), ms.saturating_add(jitter_ms));
                Latency { ms: self.jitter.between(least, most), jitter_ms: 0 }
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
