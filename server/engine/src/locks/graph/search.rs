//! The search for a cycle of waits: breadth first, so that the shortest is found, and without recursion, since clients
//! decide how deep it goes.

use super::super::events;
use super::edges;
use crate::keyspace::{CalledBy, Tx};
use crate::spec::CommandError;
use std::collections::BTreeSet;

/// Owners and the locks that they wait for, in turn: the first owner, a lock, its holder, a lock, … the first owner.
pub(super) type Cycle = Vec<Box<[u8]>>;

/// One wait that was come upon.
struct Step {
    /// Who waits.
    owner: Box<[u8]>,
    /// For which lock.
    key: Box<[u8]>,
    /// The step to whose lock's holder this owner belongs.
    from: Option<usize>,
}

/// Checks that an owner may wait for locks: that none who would have to go first waits, in the end, for this owner.
///
/// The error names the cycle. Scripts and transactions never wait.
pub(in crate::locks) fn check(tx: &mut Tx<'_>, owner: &[u8], keys: &[&[u8]]) -> Result<(), CommandError> {
    if !matches!(tx.called_by(), CalledBy::Client) {
        return Ok(());
    }
    match cycle(tx, owner, keys.iter().copied()) {
        None => Ok(()),
        Some(cycle) => {
            let cycle = text(&cycle);
            keys.iter().for_each(|key| events::deadlock(tx, key, owner, &cycle));
            Err(CommandError::new([b"DEADLOCK ", &*cycle].concat()))
        }
    }
}

/// The shortest cycle of waits that an owner is part of when it waits for these locks. O(n log n), n the owners and
/// locks that can be reached.
pub(super) fn cycle<'k>(tx: &Tx<'_>, owner: &[u8], keys: impl Iterator<Item = &'k [u8]>) -> Option<Cycle> {
    let mut seen = BTreeSet::new();
    let mut steps: Vec<Step> = Vec::new();
    for key in keys {
        if seen.insert((Box::<[u8]>::from(owner), Box::<[u8]>::from(key))) {
            steps.push(Step { owner: owner.into(), key: key.into(), from: None });
        }
    }
    let mut at = 0;
    while let Some(step) = steps.get(at) {
        let is_first = step.from.is_none();
        let before = edges::last_place(tx, &step.key, &step.owner).filter(|_| !is_first);
        let mut others = edges::holders_that_wait(tx, &step.key, owner);
        others.append(&mut edges::ahead(tx, &step.key, before));
        for other in others {
            if *other == *owner {
                // What it holds of the first locks itself is none that it waits for.
                if !is_first {
                    return Some(path(&steps, at, owner));
                }
                continue;
            }
            for key in tx.waited_for_as(&other) {
                if seen.insert((other.clone(), key.into())) {
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
