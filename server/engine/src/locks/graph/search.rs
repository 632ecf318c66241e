//! The search for a cycle of waits: breadth-first, for the shortest, without recursion, since clients decide the depth.

use super::super::{records, wait_events};
use super::edges::{self, Blockers, Wait};
use super::foreign::ForeignWaits;
use crate::spec::CommandError;
use lockwheel_store::keyspace::{CalledBy, Place, Tx, WaiterId};
use std::collections::{BTreeMap, BTreeSet};

/// Owners and the locks that they wait for, alternating, from the first owner back to itself.
pub(super) type Cycle = Vec<Box<[u8]>>;

type OwnersWait = (Box<[u8]>, Box<[u8]>);

/// A request that is about to wait.
#[derive(Clone, Copy, Debug)]
pub(in crate::locks) struct Newcomer<'r> {
    pub(in crate::locks) owner: &'r [u8],
    /// The locks that the request wants.
    pub(in crate::locks) keys: &'r [&'r [u8]],
    /// The rank in the queues of these locks.
    pub(in crate::locks) rank: i64,
    pub(in crate::locks) shares: bool,
    /// Whether the request wants the locks together: each is then kept from waiters behind it while others lack.
    pub(in crate::locks) together: bool,
}

/// A request that is about to wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting<'r> {
    pub(crate) owner: &'r [u8],
    pub(crate) keys: &'r [&'r [u8]],
    /// The place in the queues of these locks.
    pub(crate) place: Place,
    pub(crate) shares: bool,
    /// As [`Newcomer::together`].
    pub(crate) together: bool,
}

impl<'r> From<Newcomer<'r>> for Waiting<'r> {
    fn from(newcomer: Newcomer<'r>) -> Self {
        let Newcomer { owner, keys, rank, shares, together } = newcomer;
        Waiting { owner, keys, place: Place::of_newcomer(rank), shares, together }
    }
}

impl Waiting<'_> {
    fn wait(&self) -> Wait {
        let shares = self.shares;
        Wait { place: Some(self.place), shares, asks_to_share: shares, several: self.together }
    }

    /// Whether the request stands before a waiter at a place in a queue that both are in.
    fn is_before(&self, place: Option<Place>) -> bool {
        place.is_some_and(|place| self.place < place)
    }

    /// Whether the request keeps a lock from a waiter behind it.
    fn keeps(&self, tx: &Tx<'_>, key: &[u8], other: &Wait) -> bool {
        self.together || edges::keeps_back(tx, key, (self.place, self.shares), other)
    }
}

/// A wait that the search has reached.
struct Step {
    owner: Box<[u8]>,
    key: Box<[u8]>,
    /// The step whose lock this owner holds or stands ahead for. `None`: a wait of the searched owner.
    from: Option<usize>,
}

/// Checks that no owner that must be served before a new request waits, directly or indirectly, for the request's
/// owner. The error names the cycle. Scripts and transactions never wait.
pub(in crate::locks) fn check(tx: &mut Tx<'_>, newcomer: Newcomer<'_>) -> Result<(), CommandError> {
    if !matches!(tx.called_by(), CalledBy::Client) {
        return Ok(());
    }
    for key in newcomer.keys.iter().filter(|_| newcomer.together) {
        if edges::has(tx, key, newcomer.owner) {
            records::adopt(tx, key, newcomer.owner);
        }
    }
    check_waiting(tx, newcomer.into(), &ForeignWaits::default())
}

/// Checks that a request that is about to wait closes no cycle, with the known Redisson waits. The error names it.
pub(super) fn check_waiting(
    tx: &mut Tx<'_>,
    waiting: Waiting<'_>,
    foreign: &ForeignWaits<'_>,
) -> Result<(), CommandError> {
    match Search::of(tx, waiting, foreign).cycle() {
        None => Ok(()),
        Some(cycle) => {
            let cycle = text(&cycle);
            waiting.keys.iter().for_each(|key| wait_events::deadlock(tx, key, waiting.owner, &cycle));
            Err(CommandError::new([b"DEADLOCK ", &*cycle].concat()))
        }
    }
}

/// Returns the text of the shortest cycle in which an owner waits natively, and the request by which it waits. O(n log
/// n), n the owners and locks that can be reached.
pub(crate) fn closed_cycle(tx: &Tx<'_>, owner: &[u8]) -> Option<(WaiterId, Vec<u8>)> {
    let cycle = Search::of_owner(tx, owner, &ForeignWaits::default()).cycle()?;
    let (_, id) = tx.waiting_as(cycle.get(1)?, owner).next()?;
    Some((id, text(&cycle)))
}

/// The maximum number of locks for which a search first checks whether the owner holds one of them.
const FEW_LOCKS: usize = 64;

/// The number of locks whose check costs about as much as one step of a search.
const LOCKS_PER_STEP: usize = 16;

/// The maximum number of locks of a request among which one is searched without an index.
const MAX_SCANNED: usize = 16;

/// A search from an owner's waits to the owners that it waits for, and so on.
struct Search<'s, 'k> {
    tx: &'s Tx<'k>,
    /// The owner's request that is about to wait. Without keys the search begins with the owner's present waits.
    waiting: Waiting<'s>,
    /// The locks that the request wants, sorted. Empty if there are at most [`MAX_SCANNED`].
    wanted: Vec<&'s [u8]>,
    foreign: &'s ForeignWaits<'s>,
    /// The waits that have been reached, the owner's own first.
    steps: Vec<Step>,
    seen: BTreeSet<OwnersWait>,
    /// The owners whose waits have been added.
    met: BTreeSet<Box<[u8]>>,
    /// The locks whose holders have been met.
    held: BTreeSet<Box<[u8]>>,
    /// The place up to which each queue has been walked. `None`: to the end.
    walked: BTreeMap<Box<[u8]>, Option<Place>>,
    /// The index of the first step that only the owner's older waits lead to. These steps follow all others.
    first_old: Option<usize>,
}

impl<'s, 'k> Search<'s, 'k> {
    fn new(tx: &'s Tx<'k>, waiting: Waiting<'s>, foreign: &'s ForeignWaits<'s>) -> Self {
        let (steps, seen) = (Vec::new(), BTreeSet::new());
        let (met, held, walked) = (BTreeSet::new(), BTreeSet::new(), BTreeMap::new());
        let mut wanted = Vec::new();
        if waiting.keys.len() > MAX_SCANNED {
            wanted.extend_from_slice(waiting.keys);
            wanted.sort_unstable();
        }
        Search { tx, waiting, wanted, foreign, steps, seen, met, held, walked, first_old: None }
    }

    fn of(tx: &'s Tx<'k>, waiting: Waiting<'s>, foreign: &'s ForeignWaits<'s>) -> Self {
        let mut search = Search::new(tx, waiting, foreign);
        for &key in waiting.keys {
            // A request for several locks waits only for the locks that its owner does not hold.
            if !(waiting.together && edges::has(tx, key, waiting.owner)) {
                search.come_upon(waiting.owner, key, None);
            }
        }
        search
    }

    /// Adds the owner's present waits if the request passes a waiter, which will wait for it. Whether it added any.
    fn turn_to_old_waits(&mut self) -> bool {
        let first_old = self.steps.len();
        if self.first_old.replace(first_old).is_none() && self.is_new_before_others() {
            self.come_upon_own_waits(self.waiting.owner);
        }
        self.steps.len() > first_old
    }

    /// Whether the request passes a waiter, which may then wait for its owner, which may wait by other requests.
    fn is_new_before_others(&self) -> bool {
        let (tx, waiting) = (self.tx, self.waiting);
        waiting.keys.iter().any(|key| waiting.is_before(tx.last_waiting(key)))
    }

    /// Whether the request wants a lock. O(log n), n the locks that it wants.
    fn wants(&self, key: &[u8]) -> bool {
        match self.wanted.is_empty() {
            true => self.waiting.keys.contains(&key),
            false => self.wanted.binary_search(&key).is_ok(),
        }
    }

    /// Whether a step is a wait of the request itself, not one of its owner's present waits.
    fn is_of_request(&self, at: usize) -> bool {
        let comes_first = self.first_old.is_none_or(|first_old| at < first_old);
        comes_first && self.steps[at].from.is_none() && !self.waiting.keys.is_empty()
    }

    fn come_upon_own_waits(&mut self, owner: &[u8]) {
        let tx = self.tx;
        for key in tx.waited_for_as(owner).filter(|key| !edges::has(tx, key, owner)) {
            self.come_upon(owner, key, None);
        }
    }

    /// Begins a search with all waits of an owner.
    fn of_owner(tx: &'s Tx<'k>, owner: &'s [u8], foreign: &'s ForeignWaits<'s>) -> Self {
        let waiting = Waiting { owner, keys: &[], place: Place::FRONT, shares: false, together: false };
        let mut search = Search::new(tx, waiting, foreign);
        search.come_upon_own_waits(owner);
        search
    }

    /// Returns the shortest cycle that the owner is in, or closes when it waits: one through the new wait, or else one
    /// through older waits of the owner and a waiter that it passes. O(n log n), n the owners and locks that can be
    /// reached. O(log n) if few locks are waited for, no Redisson client waits, and no owner waits for this one.
    fn cycle(mut self) -> Option<Cycle> {
        // Most paths are short, so the check of all locks is left for a long path. It costs much less than a step.
        let locks = self.tx.keys_waited_for();
        let mut long = if locks <= FEW_LOCKS { 0 } else { FEW_LOCKS.max(locks / LOCKS_PER_STEP) };
        let mut at = 0;
        while at < self.steps.len() || self.turn_to_old_waits() {
            if self.steps.len() > long {
                if !self.may_meet_owner() {
                    return None;
                }
                long = usize::MAX;
            }
            if self.meets_owner(at) {
                return Some(path(&self.steps, at, self.waiting.owner));
            }
            at += 1;
        }
        None
    }

    /// Whether any waiter may wait for the owner; if not, no cycle can close. O(n log n), n the locks waited for.
    fn may_meet_owner(&self) -> bool {
        let (tx, waiting) = (self.tx, self.waiting);
        self.foreign.len() > 0
            || tx.waited_for_as(waiting.owner).next().is_some()
            || self.is_new_before_others()
            || tx.all_waited_for().any(|key| edges::is_held_by(tx, key, waiting.owner))
    }

    fn come_upon(&mut self, owner: &[u8], key: &[u8], from: Option<usize>) {
        if self.seen.insert((owner.into(), key.into())) {
            self.steps.push(Step { owner: owner.into(), key: key.into(), from });
        }
    }

    /// Whether the waiter of a step waits for the owner, closing a cycle. If not, adds the waits of the owners ahead.
    fn meets_owner(&mut self, at: usize) -> bool {
        let (tx, waiting, step) = (self.tx, self.waiting, &self.steps[at]);
        let (owner, key, is_own) = (step.owner.clone(), step.key.clone(), step.from.is_none());
        let wait = if self.is_of_request(at) { waiting.wait() } else { Wait::of(tx, &key, &owner) };
        // A request of a higher rank passes present waiters.
        let passes = !is_own && waiting.is_before(wait.place) && self.wants(&key);
        let kept = wait.kept(tx, &key, (passes && !waiting.shares).then_some(waiting.place));
        let before = kept.by_those_before;
        let is_passed = passes && waiting.is_before(before) && waiting.keeps(tx, &key, &wait);
        let is_closed = match self.first_old.is_some_and(|first_old| at >= first_old) {
            false => is_passed || (!is_own && self.waits_already(&key, &wait, kept)),
            // A cycle of present waits alone is not the request's doing.
            true => is_passed && !self.waits_already(&key, &wait, wait.kept(tx, &key, None)),
        };
        if is_closed {
            return true;
        }
        let mut others = if kept.by_holders { self.more_holders(&key) } else { BTreeSet::new() };
        others.append(&mut self.more_ahead(&key, before));
        others.iter().filter(|other| ***other != *waiting.owner).for_each(|other| self.add_waits(other, at));
        false
    }

    /// Whether a wait for a lock is a wait for the owner, because of its hold or a present request of it.
    fn waits_already(&self, key: &[u8], wait: &Wait, kept: Blockers) -> bool {
        let (tx, owner) = (self.tx, self.waiting.owner);
        // The owner's own holds of the first locks are no reason for it to wait.
        kept.by_holders && edges::is_held_by(tx, key, owner)
            || edges::is_ahead(tx, key, owner, kept.by_those_before)
            || edges::has_passed(tx, key, owner, wait)
    }

    /// Adds the waits of an owner that a step waits for, unless they have been added.
    fn add_waits(&mut self, other: &[u8], at: usize) {
        if !self.met.insert(other.into()) {
            return;
        }
        let (tx, foreign) = (self.tx, self.foreign);
        for key in tx.waited_for_as(other).chain(foreign.of(tx, other)) {
            if !edges::has(tx, key, other) {
                self.come_upon(other, key, Some(at));
            }
        }
    }

    /// Returns the holders of a lock, unless they have been met.
    fn more_holders(&mut self, key: &[u8]) -> BTreeSet<Box<[u8]>> {
        match self.held.insert(key.into()) {
            true => edges::holders_that_wait(self.tx, key, self.foreign),
            false => BTreeSet::new(),
        }
    }

    /// Returns the owners before this place that keep a lock from it, except those in the walked part of the queue.
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

/// Returns the path from the first step to the step `last`, and back to the owner.
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

/// Returns a cycle as errors and LOCK.GRAPH show it: `a -> k2 -> b -> k1 -> a`.
pub(super) fn text(cycle: &Cycle) -> Vec<u8> {
    cycle.join(&b" -> "[..])
}
