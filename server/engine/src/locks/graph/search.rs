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

/// An owner, and a lock that it waits for.
type Wait = (Box<[u8]>, Box<[u8]>);

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
    /// Whether it stands before who waits for a lock at a place.
    fn is_before(&self, key: &[u8], place: Option<Place>) -> bool {
        self.keys.contains(&key) && place.is_some_and(|place| self.place < place)
    }

    /// Whether it keeps a lock from those behind it who would have it otherwise: of such as wait for its holders it is
    /// enough to know that.
    fn keeps(&self, others_share_several: bool) -> bool {
        self.together || (others_share_several && !self.shares)
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

/// How many locks are few enough to look first whether the owner holds one of them.
const FEW_LOCKS: usize = 64;

/// A search, from a request on to those whom it waits for, and so on.
struct Search<'s, 'k> {
    tx: &'s Tx<'k>,
    waiting: Waiting<'s>,
    foreign: &'s ForeignWaits<'s>,
    /// The waits that have been come upon, the request's own first.
    steps: Vec<Step>,
    seen: BTreeSet<Wait>,
    /// The locks whose holders have been met.
    held: BTreeSet<Box<[u8]>>,
    /// Up to which place the queues have been walked, `None` for the end.
    walked: BTreeMap<Box<[u8]>, Option<Place>>,
}

/// The shortest cycle of waits that a request closes when it waits. O(n log n), n the owners and locks that can be
/// reached; with few locks that are waited for, and no client of Redisson's that waits, O(log n) if nobody waits for
/// its owner.
fn cycle(tx: &Tx<'_>, waiting: Waiting<'_>, foreign: &ForeignWaits<'_>) -> Option<Cycle> {
    let mut search = Search::new(tx, waiting, foreign);
    // Among many locks most ways are short, and it is only on a long one that all are looked at.
    let locks = tx.keys_waited_for();
    let mut long = if locks <= FEW_LOCKS { 0 } else { locks };
    let mut at = 0;
    while at < search.steps.len() {
        if search.steps.len() > long {
            if !search.may_meet_owner() {
                return None;
            }
            long = usize::MAX;
        }
        if search.meets_owner(at) {
            return Some(path(&search.steps, at, waiting.owner));
        }
        at += 1;
    }
    None
}

impl<'s, 'k> Search<'s, 'k> {
    fn new(tx: &'s Tx<'k>, waiting: Waiting<'s>, foreign: &'s ForeignWaits<'s>) -> Self {
        let (steps, seen) = (Vec::new(), BTreeSet::new());
        let (held, walked) = (BTreeSet::new(), BTreeMap::new());
        let mut search = Search { tx, waiting, foreign, steps, seen, held, walked };
        for &key in waiting.keys {
            // The others of several are what it waits for.
            if !(waiting.together && edges::has(tx, key, waiting.owner)) {
                search.come_upon(waiting.owner, key, None);
            }
        }
        search
    }

    /// Whether anybody may wait for the request's owner: without that no cycle closes, however many it waits for.
    /// O(n log n), n the locks that are waited for.
    fn may_meet_owner(&self) -> bool {
        let (tx, waiting) = (self.tx, self.waiting);
        self.foreign.len() > 0
            || tx.waited_for_as(waiting.owner).next().is_some()
            || waiting.keys.iter().any(|key| {
                waiting.is_before(key, tx.last_waiting(key))
                    && waiting.keeps(edges::is_shared_with_others(tx, key))
            })
            || tx.all_waited_for().any(|key| edges::is_held_by(tx, key, waiting.owner))
    }

    fn come_upon(&mut self, owner: &[u8], key: &[u8], from: Option<usize>) {
        if self.seen.insert((owner.into(), key.into())) {
            self.steps.push(Step { owner: owner.into(), key: key.into(), from });
        }
    }

    /// Whether the one who waits in a step waits for the request's owner. If not, the waits of those whom it waits for
    /// are added.
    fn meets_owner(&mut self, at: usize) -> bool {
        let (tx, waiting, step) = (self.tx, self.waiting, &self.steps[at]);
        let (owner, key, is_first) = (step.owner.clone(), step.key.clone(), step.from.is_none());
        let last_place = || edges::last_place(tx, &key, &owner);
        let before = if is_first { Some(waiting.place) } else { last_place() };
        let shares = if is_first { waiting.shares } else { edges::shares(tx, &key, &owner) };
        // One of a higher rank passes those who wait already.
        let is_behind = !is_first && waiting.is_before(&key, before);
        let is_behind_alone = is_behind && !waiting.shares;
        let is_among_readers = shares && !is_behind_alone && !edges::alone_waits_before(tx, &key, before);
        let several = if is_first { waiting.together } else { edges::shares_several(tx, &key, &owner) };
        let reads_too = waiting.shares && is_among_readers && !several;
        if is_behind && !reads_too && waiting.keeps(shares && several) {
            return true;
        }
        let is_kept_by_holders = !(is_among_readers && edges::is_read(tx, &key));
        let is_kept_by_those_ahead = several || !is_among_readers;
        // What it holds of the first locks itself is none that it waits for.
        let is_held = || is_kept_by_holders && edges::is_held_by(tx, &key, waiting.owner);
        let is_ahead = || is_kept_by_those_ahead && edges::is_ahead(tx, &key, waiting.owner, before);
        if !is_first && (is_held() || is_ahead()) {
            return true;
        }
        let mut others = if is_kept_by_holders { self.more_holders(&key) } else { BTreeSet::new() };
        if is_kept_by_those_ahead {
            others.append(&mut self.more_ahead(&key, before));
        }
        others.iter().filter(|other| ***other != *waiting.owner).for_each(|other| self.add_waits(other, at));
        false
    }

    /// Adds what somebody waits for who is waited for in a step.
    fn add_waits(&mut self, other: &[u8], at: usize) {
        let (tx, foreign) = (self.tx, self.foreign);
        for key in tx.waited_for_as(other).chain(foreign.of(tx, other)) {
            if !edges::has(tx, key, other) {
                self.come_upon(other, key, Some(at));
            }
        }
    }

    /// The holders of a lock, unless they have been met.
    fn more_holders(&mut self, key: &[u8]) -> BTreeSet<Box<[u8]>> {
        match self.held.insert(key.into()) {
            true => edges::holders_that_wait(self.tx, key, self.foreign),
            false => BTreeSet::new(),
        }
    }

    /// Those before this place who keep a lock from it, but for the part of the queue that has been walked.
    fn more_ahead(&mut self, key: &[u8], before: Option<Place>) -> BTreeSet<Box<[u8]>> {
        let from = match self.walked.get(key) {
            None => None,
            Some(&Some(to)) if before.is_none_or(|before| before > to) => Some(to),
            Some(_) => return BTreeSet::new(),
        };
        self.walked.insert(key.into(), before);
        edges::ahead(self.tx, key, from, before)
    }
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
