//! The search for a cycle of waits: breadth first, so that the shortest is found, and without recursion, since clients
//! decide how deep it goes.

use super::super::events;
use super::edges;
use super::foreign::ForeignWaits;
use crate::keyspace::{CalledBy, Place, Tx};
use crate::spec::CommandError;
use std::collections::{BTreeMap, BTreeSet};

/// Owners and the locks that they wait for, in turn: the first owner, a lock, its holder, a lock, … the first owner.
pub(super) type Cycle = Vec<Box<[u8]>>;

/// A request that is about to wait.
#[derive(Clone, Copy, Debug)]
pub(in crate::locks) struct Newcomer<'r> {
    pub(in crate::locks) owner: &'r [u8],
    /// The locks that it wants.
    pub(in crate::locks) keys: &'r [&'r [u8]],
    /// Its rank in their queues.
    pub(in crate::locks) rank: i64,
    /// Whether it wants to share them.
    pub(in crate::locks) shares: bool,
    /// Whether it wants them together, and keeps each from those behind it while it waits for the others.
    pub(in crate::locks) together: bool,
}

/// A request that waits, or is about to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting<'r> {
    pub(crate) owner: &'r [u8],
    /// The locks that it wants.
    pub(crate) keys: &'r [&'r [u8]],
    /// Its place in their queues.
    pub(crate) place: Place,
    /// Whether it wants to share them.
    pub(crate) shares: bool,
    /// Whether it wants them together, and keeps each from those behind it while it waits for the others.
    pub(crate) together: bool,
}

impl<'r> From<Newcomer<'r>> for Waiting<'r> {
    fn from(newcomer: Newcomer<'r>) -> Self {
        let Newcomer { owner, keys, rank, shares, together } = newcomer;
        Waiting { owner, keys, place: Place { rank, arrival: u64::MAX }, shares, together }
    }
}

impl Waiting<'_> {
    /// Whether one who waits for a lock at a place has to wait for it, too.
    fn keeps(&self, key: &[u8], from: Option<Place>) -> bool {
        self.together && self.keys.contains(&key) && from.is_some_and(|from| self.place < from)
    }
}

/// One wait that was come upon.
struct Step {
    /// Who waits.
    owner: Box<[u8]>,
    /// For which lock.
    key: Box<[u8]>,
    /// The step to whose lock's holder this owner belongs.
    from: Option<usize>,
}

/// Checks that a request may wait: that none who would have to go first waits, in the end, for its owner.
///
/// The error names the cycle. Scripts and transactions never wait.
pub(in crate::locks) fn check(tx: &mut Tx<'_>, newcomer: Newcomer<'_>) -> Result<(), CommandError> {
    if !matches!(tx.called_by(), CalledBy::Client) {
        return Ok(());
    }
    check_waiting(tx, newcomer.into(), &ForeignWaits::default())
}

/// Checks that a request that waits, or is about to, is in no cycle of waits, with those of Redisson's that are known.
///
/// The error names the cycle.
pub(crate) fn check_waiting(
    tx: &mut Tx<'_>,
    waiting: Waiting<'_>,
    foreign: &ForeignWaits<'_>,
) -> Result<(), CommandError> {
    match cycle(tx, waiting, foreign) {
        None => Ok(()),
        Some(cycle) => {
            let cycle = text(&cycle);
            waiting.keys.iter().for_each(|key| events::deadlock(tx, key, waiting.owner, &cycle));
            Err(CommandError::new([b"DEADLOCK ", &*cycle].concat()))
        }
    }
}

/// Up to which place the queues of locks have been walked: who is nearer to a head waits for nobody else.
#[derive(Default)]
struct Walked(BTreeMap<Box<[u8]>, Option<Place>>);

impl Walked {
    /// Goes up to this place, `None` for the end; whether that is further than before. O(log n), n the locks.
    fn go_further(&mut self, key: &[u8], before: Option<Place>) -> bool {
        let is_further = match self.0.get(key) {
            None => true,
            Some(None) => false,
            Some(Some(to)) => before.is_none_or(|before| before > *to),
        };
        if is_further {
            self.0.insert(key.into(), before);
        }
        is_further
    }
}

/// The shortest cycle of waits that a request closes when it waits. O(n log n), n the owners and locks that can be
/// reached.
fn cycle(tx: &Tx<'_>, waiting: Waiting<'_>, foreign: &ForeignWaits<'_>) -> Option<Cycle> {
    let owner = waiting.owner;
    let mut seen = BTreeSet::new();
    let mut steps: Vec<Step> = Vec::new();
    let mut walked = Walked::default();
    for &key in waiting.keys {
        // The others of several are what it waits for.
        let is_had = waiting.together && edges::has(tx, key, owner);
        if !is_had && seen.insert((Box::<[u8]>::from(owner), Box::<[u8]>::from(key))) {
            steps.push(Step { owner: owner.into(), key: key.into(), from: None });
        }
    }
    let mut at = 0;
    while let Some(step) = steps.get(at) {
        let is_first = step.from.is_none();
        let last_place = || edges::last_place(tx, &step.key, &step.owner);
        let before = if is_first { Some(waiting.place) } else { last_place() };
        let shares = if is_first { waiting.shares } else { edges::shares(tx, &step.key, &step.owner) };
        let is_among_readers = shares && !edges::alone_waits_before(tx, &step.key, before);
        // One of a higher rank passes those who wait already.
        let passes = is_first || (waiting.shares && is_among_readers);
        if !passes && waiting.keeps(&step.key, before) {
            return Some(path(&steps, at, owner));
        }
        let others = match is_among_readers {
            true if edges::is_read(tx, &step.key) => BTreeSet::new(),
            true => edges::holders_that_wait(tx, &step.key, owner, foreign),
            false if is_first || walked.go_further(&step.key, before) => {
                let mut others = edges::holders_that_wait(tx, &step.key, owner, foreign);
                others.append(&mut edges::ahead(tx, &step.key, before));
                others
            }
            // Whom it waits for has been met.
            false => BTreeSet::new(),
        };
        for other in others {
            if *other == *owner {
                // What it holds of the first locks itself is none that it waits for.
                if !is_first {
                    return Some(path(&steps, at, owner));
                }
                continue;
            }
            for key in tx.waited_for_as(&other).chain(foreign.of(tx, &other)) {
                if !edges::has(tx, key, &other) && seen.insert((other.clone(), key.into())) {
                    steps.push(Step { owner: other.clone(), key: key.into(), from: Some(at) });
                }
            }
        }
        at += 1;
    }
    None
}

/// The way from the first step to this one, and back to the owner.
fn path(steps: &[Step], last: usize, owner: &[u8]) -> Cycle {
    let mut way: Cycle = vec![owner.into()];
    let mut at = Some(last);
    while let Some(step) = at.and_then(|at| steps.get(at)) {
        way.push(step.key.clone());
        way.push(step.owner.clone());
        at = step.from;
    }
    way.reverse();
    way
}

/// A cycle as errors and LOCK.GRAPH show it: `a -> k2 -> b -> k1 -> a`.
pub(super) fn text(cycle: &Cycle) -> Vec<u8> {
    cycle.join(&b" -> "[..])
}
