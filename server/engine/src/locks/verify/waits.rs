//! Who waits for which lock, by owner, and the cycles among them.
//!
//! Certain is the wait of a native request, and of who stands in a fair lock's queue. Others of Redisson's are
//! inferred, as `graph::listeners` says: the instance listens to the lock's channel, and the thread has asked twice and
//! done nothing else since. It asks again when it has subscribed; who does not want to wait asks once.

use super::super::graph::{Asked, is_one_instance};
use super::super::history::{Cause, Entry, Event, Mode, Name, Ring};
use super::super::redisson::{instance_of, owner_of};
use super::locks::View;
use std::collections::{BTreeMap, BTreeSet};

/// That one owner waits for a lock that the next one holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) owner: Name,
    pub(super) key: Name,
    /// The entry of its wait; 0: it was refused.
    pub(super) waits: u64,
    /// The entry of the hold of the next one.
    pub(super) holds: u64,
}

/// Owners that wait for each other: each step's lock is held by the next one's owner, the last one's by the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cycle {
    pub(super) steps: Vec<Step>,
}

/// A wait that is certain.
#[derive(Clone, Copy, Debug)]
struct Wait {
    key: Name,
    client: u64,
    is_fair: bool,
    seq: u64,
}

/// The last that an owner was refused without waiting natively: the lock, how often in a row, and the entry.
#[derive(Clone, Copy, Debug)]
struct Refusals {
    key: Name,
    /// As the script names it.
    owner: Name,
    count: u32,
    seq: u64,
}

/// Who waits, by owner. A writer's field and the reader's of one owner are one.
#[derive(Debug, Default)]
pub(super) struct Waits {
    /// By bare names, the name that stands for it here.
    owners: BTreeMap<Box<[u8]>, Name>,
    certain: BTreeMap<Name, Vec<Wait>>,
    asked: BTreeMap<Name, Asked>,
    refused: BTreeMap<Name, Refusals>,
    /// Which locks clients have asked for, or listen to.
    by_client: BTreeSet<(u64, Name)>,
    gone: BTreeSet<u64>,
}

/// A wait that a search has come upon.
struct Reached {
    step: Step,
    /// Whose lock's holder this is.
    from: Option<usize>,
}

impl Waits {
    /// Takes an entry in. O(log n), but for owners that wait for much at once.
    pub(super) fn take_in(&mut self, ring: &Ring, seq: u64, entry: &Entry) {
        if entry.event == Event::Disconnect {
            return self.is_gone(entry.client);
        }
        if entry.key == Name::NONE {
            return;
        }
        self.follow_asked(entry);
        if entry.owner == Name::NONE {
            return;
        }
        let is_fair = entry.mode == Mode::Fair;
        match entry.event {
            Event::Queued if is_fair || entry.native() == Some(true) => {
                let owner = self.stands_for(ring, entry.owner);
                let wait = Wait { key: entry.key, client: entry.client, is_fair, seq };
                self.certain.entry(owner).or_default().push(wait);
            }
            Event::LeftQueue => {
                let is_both = is_fair && entry.native() == Some(true);
                self.left(ring, entry, |wait| is_both || wait.is_fair == is_fair);
            }
            Event::Permits if entry.cause == Cause::Acquire => self.left(ring, entry, |wait| !wait.is_fair),
            Event::Acquired | Event::Reentered => {
                self.left(ring, entry, |wait| !wait.is_fair);
                self.does_something(ring, entry);
            }
            Event::Released => self.does_something(ring, entry),
            Event::Refused if entry.native().is_none() => self.refused(ring, seq, entry),
            _ => {}
        }
    }

    fn follow_asked(&mut self, entry: &Entry) {
        let begins = matches!(entry.event, Event::Refused | Event::Queued) && entry.native() != Some(true);
        if begins {
            self.by_client.insert((entry.client, entry.key));
            self.asked.entry(entry.key).or_default().follow(entry);
        } else if let Some(asked) = self.asked.get_mut(&entry.key) {
            asked.follow(entry);
        }
    }

    fn is_gone(&mut self, client: u64) {
        self.gone.insert(client);
        let of_client: Vec<_> =
            self.by_client.range((client, Name::NONE)..(client + 1, Name::NONE)).copied().collect();
        for of in of_client {
            self.by_client.remove(&of);
            if let Some(asked) = self.asked.get_mut(&of.1) {
                asked.is_gone(client);
            }
        }
    }

    /// The waits of an owner for a lock, of those that are meant, are over.
    fn left(&mut self, ring: &Ring, entry: &Entry, is_meant: impl Fn(&Wait) -> bool) {
        let owner = self.known(ring, entry.owner);
        let Some(waits) = self.certain.get_mut(&owner) else { return };
        let is_it = |wait: &Wait| {
            wait.key == entry.key && is_meant(wait) && (wait.is_fair || wait.client == entry.client)
        };
        waits.retain(|wait| !is_it(wait));
        if waits.is_empty() {
            self.certain.remove(&owner);
        }
    }

    /// A thread that acts waits no more. What time alone does is not its doing.
    fn does_something(&mut self, ring: &Ring, entry: &Entry) {
        if entry.client != 0 {
            self.refused.remove(&self.known(ring, entry.owner));
        }
    }

    fn refused(&mut self, ring: &Ring, seq: u64, entry: &Entry) {
        let owner = self.stands_for(ring, entry.owner);
        let new = Refusals { key: entry.key, owner: entry.owner, count: 0, seq };
        let last = self.refused.entry(owner).or_insert(new);
        if last.key != entry.key {
            *last = new;
        }
        last.count += 1;
    }

    /// The name that stands for an owner that waits.
    fn stands_for(&mut self, ring: &Ring, owner: Name) -> Name {
        let bare = owner_of(ring.text(owner));
        match self.owners.get(bare) {
            Some(known) => *known,
            None => *self.owners.entry(bare.into()).or_insert(owner),
        }
    }

    /// The same of one that may not wait.
    pub(super) fn known(&self, ring: &Ring, owner: Name) -> Name {
        self.owners.get(owner_of(ring.text(owner))).copied().unwrap_or(owner)
    }

    /// The locks that an owner waits for, each with the entry.
    fn of(&self, ring: &Ring, owner: Name) -> Vec<(Name, u64)> {
        let certain = self.certain.get(&owner).into_iter().flatten();
        let certain = certain.filter(|wait| !self.gone.contains(&wait.client));
        let inferred = self.refused.get(&owner).filter(|last| {
            let asked = self.asked.get(&last.key);
            let is_again = last.count > 1 || !is_thread(ring, last.owner);
            is_again && asked.is_some_and(|asked| asked.is_waiting(ring, last.owner))
        });
        certain.map(|wait| (wait.key, wait.seq)).chain(inferred.map(|last| (last.key, last.seq))).collect()
    }

    /// Whether who listens to a lock's channel by a client, or to that of an owner, waits for the lock, as far as is
    /// known. O(owners that were refused).
    ///
    /// A thread of Redisson's asks again when it has subscribed. One that is interrupted before does not, and leaves
    /// the subscription behind until its client ends: by that nobody waits.
    pub(super) fn listener_waits(&self, ring: &Ring, key: Name, client: u64, owner: Name) -> bool {
        if owner != Name::NONE {
            // The first time that it asks it joins the queue of a fair lock, which is no refusal.
            let last = self.refused.get(&self.known(ring, owner));
            return !is_thread(ring, owner) || last.is_some_and(|last| last.key == key);
        }
        let first = self.asked.get(&key).and_then(|asked| asked.first_of(client));
        let Some(first) = first.filter(|first| is_thread(ring, *first)) else { return true };
        let mut of_key = self.refused.values().filter(|last| last.key == key && last.count > 1);
        of_key.any(|last| is_one_instance(ring, last.owner, first))
    }

    /// Whether an owner waits for a lock.
    pub(super) fn waits_for(&self, ring: &Ring, owner: Name, key: Name) -> bool {
        self.of(ring, owner).iter().any(|(of, _)| *of == key)
    }

    /// The shortest cycle of waits that an owner is in; with a lock, that it would be in if it waited for that alone.
    ///
    /// O(n log n), n the owners and locks that can be reached.
    pub(super) fn cycle(&self, view: View<'_>, owner: Name, wanted: Option<Name>) -> Option<Cycle> {
        let ring = view.ring;
        let owner = self.known(ring, owner);
        let first = wanted.map_or_else(|| self.of(ring, owner), |key| vec![(key, 0)]);
        let step = |owner, (key, waits)| Step { owner, key, waits, holds: 0 };
        let mut reached: Vec<Reached> =
            first.into_iter().map(|wait| Reached { step: step(owner, wait), from: None }).collect();
        let mut seen: BTreeSet<(Name, Name)> = reached.iter().map(|one| (owner, one.step.key)).collect();
        let mut at = 0;
        while let Some(&Reached { step: Step { owner: waiter, key, .. }, .. }) = reached.get(at) {
            for (&field, hold) in view.lock(key).into_iter().flat_map(|lock| &lock.holds) {
                let holder = self.known(ring, field);
                if holder == waiter {
                    continue;
                }
                if holder == owner {
                    return Some(way(&reached, at, hold.seq));
                }
                for wait in self.of(ring, holder) {
                    if seen.insert((holder, wait.0)) {
                        reached.push(Reached {
                            step: Step { holds: hold.seq, ..step(holder, wait) },
                            from: Some(at),
                        });
                    }
                }
            }
            at += 1;
        }
        None
    }
}

/// Whether an owner is named as Redisson names its threads.
fn is_thread(ring: &Ring, owner: Name) -> bool {
    instance_of(ring.text(owner)).is_some()
}

/// The way to a step whose lock the first owner holds, by this entry. On the way each step has the entry of its owner's
/// hold, for which the one before waits.
fn way(reached: &[Reached], last: usize, closing: u64) -> Cycle {
    let (mut steps, mut holds, mut at) = (Vec::new(), closing, Some(last));
    while let Some(one) = at.and_then(|at| reached.get(at)) {
        steps.push(Step { holds, ..one.step });
        (holds, at) = (one.step.holds, one.from);
    }
    steps.reverse();
    Cycle { steps }
}
