//! The search for a cycle of waits: breadth first, so that the shortest is found, and without recursion, since clients
//! decide how deep it goes.

use super::super::{records, wait_events};
use super::edges::{self, Kept, Wait};
use super::foreign::ForeignWaits;
use crate::spec::CommandError;
use lockwheel_store::keyspace::{CalledBy, Place, Tx, WaiterId};
use std::collections::{BTreeMap, BTreeSet};

/// Owners and the locks that they wait for, in turn: the first owner, a lock, its holder, a lock, … the first owner.
pub(super) type Cycle = Vec<Box<[u8]>>;

/// An owner, and a lock that it waits for.
type OwnersWait = (Box<[u8]>, Box<[u8]>);

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

/// A request that is about to wait.
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
        Waiting { owner, keys, place: Place::of_newcomer(rank), shares, together }
    }
}

impl Waiting<'_> {
    fn wait(&self) -> Wait {
        let shares = self.shares;
        Wait { place: Some(self.place), shares, asks_to_share: shares, several: self.together }
    }

    /// Whether it stands before who waits for a lock at a place.
    fn is_before(&self, key: &[u8], place: Option<Place>) -> bool {
        self.keys.contains(&key) && place.is_some_and(|place| self.place < place)
    }

    /// Whether it keeps a lock from one behind it.
    fn keeps(&self, tx: &Tx<'_>, key: &[u8], other: &Wait) -> bool {
        self.together || edges::keeps_back(tx, key, (self.place, self.shares), other)
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
    for key in newcomer.keys.iter().filter(|_| newcomer.together) {
        if edges::has(tx, key, newcomer.owner) {
            records::adopt(tx, key, newcomer.owner);
        }
    }
    check_waiting(tx, newcomer.into(), &ForeignWaits::default())
}

/// Checks that a request that is about to wait closes no cycle of waits, with those of Redisson's that are known.
///
/// The error names the cycle.
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

/// The shortest cycle in which an owner waits natively, in words, and the request by which it does.
///
/// O(n log n), n the owners and locks that can be reached.
pub(crate) fn closed_cycle(tx: &Tx<'_>, owner: &[u8]) -> Option<(WaiterId, Vec<u8>)> {
    let cycle = Search::of_owner(tx, owner, &ForeignWaits::default()).cycle()?;
    let (_, id) = tx.waiting_as(cycle.get(1)?, owner).next()?;
    Some((id, text(&cycle)))
}

/// How many locks are few enough to look first whether the owner holds one of them.
const FEW_LOCKS: usize = 64;

/// A search, from an owner's waits on to those whom they wait for, and so on.
struct Search<'s, 'k> {
    tx: &'s Tx<'k>,
    /// The owner's request that is about to wait; without keys there is none, and its waits are those that there are.
    waiting: Waiting<'s>,
    foreign: &'s ForeignWaits<'s>,
    /// The waits that have been come upon, the owner's own first.
    steps: Vec<Step>,
    seen: BTreeSet<OwnersWait>,
    /// The owners whose waits have been added.
    met: BTreeSet<Box<[u8]>>,
    /// The locks whose holders have been met.
    held: BTreeSet<Box<[u8]>>,
    /// Up to which place the queues have been walked, `None` for the end.
    walked: BTreeMap<Box<[u8]>, Option<Place>>,
    /// The first of the steps that only the owner's other waits lead to; they follow all others.
    first_old: Option<usize>,
}

impl<'s, 'k> Search<'s, 'k> {
    fn new(tx: &'s Tx<'k>, waiting: Waiting<'s>, foreign: &'s ForeignWaits<'s>) -> Self {
        let (steps, seen) = (Vec::new(), BTreeSet::new());
        let (met, held, walked) = (BTreeSet::new(), BTreeSet::new(), BTreeMap::new());
        Search { tx, waiting, foreign, steps, seen, met, held, walked, first_old: None }
    }

    /// From a request that is about to wait.
    fn of(tx: &'s Tx<'k>, waiting: Waiting<'s>, foreign: &'s ForeignWaits<'s>) -> Self {
        let mut search = Search::new(tx, waiting, foreign);
        for &key in waiting.keys {
            // The others of several are what it waits for.
            if !(waiting.together && edges::has(tx, key, waiting.owner)) {
                search.come_upon(waiting.owner, key, None);
            }
        }
        search
    }

    /// Goes on with the waits of the owner that there are already, if the request passes somebody: that one waits for
    /// the owner from now on. Returns whether there are any.
    fn turn_to_old_waits(&mut self) -> bool {
        let first_old = self.steps.len();
        if self.first_old.replace(first_old).is_none() && self.is_new_before_others() {
            self.come_upon_own_waits(self.waiting.owner);
        }
        self.steps.len() > first_old
    }

    /// Whether the request passes somebody. That one may wait for its owner from now on, which may wait already by
    /// other requests.
    fn is_new_before_others(&self) -> bool {
        let (tx, waiting) = (self.tx, self.waiting);
        waiting.keys.iter().any(|key| waiting.is_before(key, tx.last_waiting(key)))
    }

    /// Adds the waits of an owner that there are.
    fn come_upon_own_waits(&mut self, owner: &[u8]) {
        let tx = self.tx;
        for key in tx.waited_for_as(owner).filter(|key| !edges::has(tx, key, owner)) {
            self.come_upon(owner, key, None);
        }
    }

    /// From all by which an owner waits.
    fn of_owner(tx: &'s Tx<'k>, owner: &'s [u8], foreign: &'s ForeignWaits<'s>) -> Self {
        let waiting = Waiting { owner, keys: &[], place: Place::FRONT, shares: false, together: false };
        let mut search = Search::new(tx, waiting, foreign);
        search.come_upon_own_waits(owner);
        search
    }

    /// The shortest cycle of waits that the owner is in, or closes when it waits: one by what it waits for then, else
    /// one by those who wait for it then. O(n log n), n the owners and locks that can be reached; with few locks that
    /// are waited for, and no client of Redisson's that waits, O(log n) if nobody waits for the owner.
    fn cycle(mut self) -> Option<Cycle> {
        // Among many locks most ways are short, and it is only on a long one that all are looked at.
        let locks = self.tx.keys_waited_for();
        let mut long = if locks <= FEW_LOCKS { 0 } else { locks };
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

    /// Whether anybody may wait for the owner: without that no cycle closes, however many it waits for.
    /// O(n log n), n the locks that are waited for.
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

    /// Whether the one who waits in a step waits for the owner, in a way that closes a cycle. If not, the waits of
    /// those whom it waits for are added.
    fn meets_owner(&mut self, at: usize) -> bool {
        let (tx, waiting, step) = (self.tx, self.waiting, &self.steps[at]);
        let (owner, key, is_own) = (step.owner.clone(), step.key.clone(), step.from.is_none());
        let is_newcomer = is_own && waiting.keys.contains(&&*key);
        let wait = if is_newcomer { waiting.wait() } else { Wait::of(tx, &key, &owner) };
        // One of a higher rank passes those who wait already.
        let passes = !is_own && waiting.is_before(&key, wait.place);
        let kept = wait.kept(tx, &key, (passes && !waiting.shares).then_some(waiting.place));
        let before = kept.by_those_before;
        let is_passed = passes && waiting.is_before(&key, before) && waiting.keeps(tx, &key, &wait);
        let is_closed = match self.first_old.is_some_and(|first_old| at >= first_old) {
            false => is_passed || (!is_own && self.waits_already(&key, &wait, kept)),
            // A cycle of waits that there are is not the request's.
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

    /// Whether a wait for a lock is one for the owner, by its hold or by a request of its that there is.
    fn waits_already(&self, key: &[u8], wait: &Wait, kept: Kept) -> bool {
        let (tx, owner) = (self.tx, self.waiting.owner);
        // What it holds of the first locks itself is none that it waits for.
        kept.by_holders && edges::is_held_by(tx, key, owner)
            || edges::is_ahead(tx, key, owner, kept.by_those_before)
            || edges::has_passed(tx, key, owner, wait)
    }

    /// Adds what somebody waits for who is waited for in a step, unless that has been done.
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
