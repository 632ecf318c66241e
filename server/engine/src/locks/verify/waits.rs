//! The waits of owners for locks, and the cycles among them.
//!
//! The wait of a native request, or of an owner in a fair lock's queue, is certain. Other Redisson waits are inferred,
//! as `graph::listeners` says: the instance must listen to the lock's channel, and the thread must have asked twice,
//! since it asks again once it has subscribed, and done nothing else since.

use super::super::graph::Asked;
use super::super::history::{Cause, Entry, Event, Mode, Name, Ring};
use super::super::redisson::instance_of;
use super::holds::after;
use super::locks::{Lock, View, wants_several};
use super::own_channels::{OwnChannels, is_of_channel};
use lockwheel_store::memory::{block, map_heap_bytes, set_heap_bytes, tree_heap_bytes, vec_heap_bytes};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound::Unbounded;
use std::task::Poll;

/// The steps that all searches for cycles may take: an initial number, and more for each entry.
const FIRST_STEPS: u64 = 4_000_000;
const STEPS_PER_ENTRY: u64 = 256;
/// The maximum number of held locks that are checked for waiters. An owner of more is always searched for.
const MAX_HELD: usize = 64;
/// The maximum number of waits that a search begins with. With more waits, it begins with the newest alone.
const MAX_WAITS: usize = 64;

/// A step of a cycle: an owner waits for a lock that the owner of the next step holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CycleStep {
    pub(super) owner: Name,
    pub(super) key: Name,
    /// The entry of the wait. 0: the request was refused.
    pub(super) waits: u64,
    /// The entry of the next owner's hold.
    pub(super) holds: u64,
}

/// Owners that wait for each other: each next step's owner holds the step's lock, and the first the last lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cycle {
    pub(super) steps: Vec<CycleStep>,
}

/// A certain wait: its lock, whether it is a place in a fair queue, its client, and its entry.
type Wait = (Name, bool, u64, u64);

#[derive(Clone, Copy, Debug)]
struct Refusals {
    key: Name,
    /// The name of the owner in the script.
    owner: Name,
    count: u32,
    seq: u64,
}

/// The waits by owner. The writer's field and the reader's field of one owner count as one.
#[derive(Debug)]
pub(super) struct Waits {
    /// The name that represents each owner here, by its first field.
    owners: BTreeMap<Name, Name>,
    certain: BTreeMap<Name, BTreeSet<Wait>>,
    /// The number of certain waits.
    certain_count: usize,
    /// Places in fair queues whose client is gone while no client listens for the owner, by lock and owner.
    left: BTreeMap<(Name, Name), Wait>,
    asked: BTreeMap<Name, Asked>,
    /// The locks that have ever had a certain waiter.
    waited_for: BTreeSet<Name>,
    refused: BTreeMap<Name, Refusals>,
    /// The number of owners that were refused more than once, by lock and instance.
    refused_again: BTreeMap<(Name, Box<[u8]>), usize>,
    /// Bytes of memory of the names in `refused_again`, and of the data that `asked` owns.
    owned_bytes: usize,
    /// The clients with the locks whose channels they listen to.
    by_client: BTreeSet<(u64, Name)>,
    channels: OwnChannels,
    running: Option<Search>,
    /// The steps that searches may still take.
    steps: u64,
    /// The number of searches that were given up since no steps were left.
    pub(super) given_up: u64,
}

impl Default for Waits {
    /// Returns the state in which no owner waits.
    fn default() -> Self {
        Waits {
            owners: BTreeMap::new(),
            certain: BTreeMap::new(),
            certain_count: 0,
            left: BTreeMap::new(),
            asked: BTreeMap::new(),
            waited_for: BTreeSet::new(),
            refused: BTreeMap::new(),
            refused_again: BTreeMap::new(),
            owned_bytes: 0,
            by_client: BTreeSet::new(),
            channels: OwnChannels::default(),
            running: None,
            steps: FIRST_STEPS,
            given_up: 0,
        }
    }
}

/// A wait that a search has reached.
#[derive(Clone, Copy, Debug)]
struct Reached {
    step: CycleStep,
    /// The index of the wait whose lock this owner holds.
    from: Option<usize>,
}

/// A walk through the fields that may hold a lock. The fields up to `last` have been examined.
#[derive(Debug)]
enum Walk {
    /// A list of fields, with the next one at the end.
    Fields(Vec<Name>),
    Holders {
        key: Name,
        last: Option<Name>,
    },
    /// The fields of owners with certain waits, then with inferred ones; `fields` are left of the owner `last`.
    Waiting {
        is_inferred: bool,
        last: Option<Name>,
        fields: Vec<Name>,
    },
}

#[derive(Debug)]
struct Search {
    owner: Name,
    reached: Vec<Reached>,
    /// The number of reached waits whose locks have been examined.
    looked_at: usize,
    /// The fields of the last examined lock that are still to be examined.
    walk: Walk,
    /// The reached waits: owners with the locks that they wait for.
    seen: BTreeSet<(Name, Name)>,
    /// The holders whose waits are all in `seen`.
    followed: BTreeSet<Name>,
    /// The locks whose holders have been examined. The value is the waiter whose own hold of the lock was left out.
    walked: BTreeMap<Name, Option<Name>>,
}

impl Search {
    /// Begins a search with these waits of an owner: the locks with the entries of the waits.
    fn new(owner: Name, waits: &[(Name, u64)]) -> Self {
        let mut search = Search {
            owner,
            reached: Vec::new(),
            looked_at: 0,
            walk: Walk::Fields(Vec::new()),
            seen: BTreeSet::new(),
            followed: BTreeSet::new(),
            walked: BTreeMap::new(),
        };
        for &(key, waits) in waits {
            search.reach(CycleStep { owner, key, waits, holds: 0 }, None);
        }
        search
    }

    fn memory(&self) -> usize {
        vec_heap_bytes(&self.reached)
            + set_heap_bytes(&self.seen)
            + set_heap_bytes(&self.followed)
            + map_heap_bytes(&self.walked)
    }

    /// Adds a wait unless it has been reached before.
    fn reach(&mut self, step: CycleStep, from: Option<usize>) {
        if self.seen.insert((step.owner, step.key)) {
            self.reached.push(Reached { step, from });
        }
    }
}

impl Walk {
    fn of_owner(view: View<'_>, owner: Name) -> Self {
        let mut fields: Vec<Name> = view.locks.owners.fields_of(owner).collect();
        fields.reverse();
        Walk::Fields(fields)
    }
}

impl Waits {
    pub(super) fn memory(&self) -> usize {
        let certain = tree_heap_bytes(self.certain.len(), self.certain_count, size_of::<Wait>());
        let sets = set_heap_bytes(&self.waited_for) + set_heap_bytes(&self.by_client);
        map_heap_bytes(&self.owners)
            + map_heap_bytes(&self.certain)
            + certain
            + map_heap_bytes(&self.left)
            + map_heap_bytes(&self.asked)
            + map_heap_bytes(&self.refused)
            + map_heap_bytes(&self.refused_again)
            + sets
            + self.owned_bytes
            + self.channels.memory()
            + self.running.as_ref().map_or(0, Search::memory)
    }

    /// Updates the waits by an entry. O(log n).
    pub(super) fn take_in(&mut self, view: View<'_>, seq: u64, entry: &Entry) {
        self.steps += STEPS_PER_ENTRY;
        let owner = if is_of_channel(entry) { self.stands_for(view, entry.owner) } else { entry.owner };
        self.channels.take_in(entry, owner);
        self.return_wait(entry.key, owner, entry.event);
        if entry.event == Event::Disconnect {
            return self.is_gone(view.ring, entry.client);
        }
        if entry.key == Name::NONE {
            return;
        }
        self.follow_asked(view.ring, entry);
        if entry.owner == Name::NONE {
            return;
        }
        let is_fair = entry.mode == Mode::Fair;
        match entry.event {
            Event::Queued if is_fair || entry.native() == Some(true) => {
                let owner = self.stands_for(view, entry.owner);
                self.waited_for.insert(entry.key);
                self.waits_certainly(owner, (entry.key, is_fair, entry.client, seq));
            }
            Event::LeftQueue => {
                let is_both = is_fair && entry.native() == Some(true);
                [false, true]
                    .into_iter()
                    .filter(|of| is_both || *of == is_fair)
                    .for_each(|of| self.left(view, entry, of));
            }
            Event::Permits if entry.cause == Cause::Acquire => self.left(view, entry, false),
            Event::Acquired | Event::Reentered => {
                self.left(view, entry, false);
                self.does_something(view, entry);
            }
            Event::Released => self.does_something(view, entry),
            Event::Refused if entry.native().is_none() => self.refused(view, seq, entry),
            _ => {}
        }
    }

    fn follow_asked(&mut self, ring: &Ring, entry: &Entry) {
        let begins = matches!(entry.event, Event::Refused | Event::Queued) && entry.native() != Some(true);
        if begins {
            if entry.event == Event::Queued {
                self.by_client.insert((entry.client, entry.key));
            }
            self.asked.entry(entry.key).or_default();
        }
        if let Some(asked) = self.asked.get_mut(&entry.key) {
            self.owned_bytes -= asked.memory();
            asked.follow(ring, entry);
            self.owned_bytes += asked.memory();
        }
    }

    fn is_gone(&mut self, ring: &Ring, client: u64) {
        let of_client: Vec<_> =
            self.by_client.range((client, Name::NONE)..(client + 1, Name::NONE)).copied().collect();
        for of in of_client {
            self.by_client.remove(&of);
            if let Some(asked) = self.asked.get_mut(&of.1) {
                self.owned_bytes -= asked.memory();
                asked.stops_listening(ring, client);
                self.owned_bytes += asked.memory();
            }
        }
    }

    /// Removes the waits of an owner for a lock: its place in the fair queue, or the other waits.
    fn left(&mut self, view: View<'_>, entry: &Entry, is_fair: bool) {
        let owner = self.known(view, entry.owner);
        if is_fair {
            self.left.remove(&(entry.key, owner));
        }
        let Some(waits) = self.certain.get_mut(&owner) else { return };
        let from = if is_fair { 0 } else { entry.client };
        while let Some(&wait) = waits.range((entry.key, is_fair, from, 0)..).next() {
            if (wait.0, wait.1) != (entry.key, is_fair) || !(is_fair || wait.2 == entry.client) {
                break;
            }
            waits.remove(&wait);
            self.certain_count -= 1;
        }
        if waits.is_empty() {
            self.certain.remove(&owner);
        }
    }

    /// Removes the waits of an owner that are over because their clients are gone. Stops after `most` other waits.
    fn take_out(&mut self, owner: Name, most: usize) {
        let Some(waits) = self.certain.get(&owner) else { return };
        let (mut others, mut over) = (0, Vec::new());
        for wait in waits {
            if self.is_over(owner, wait) {
                over.push(*wait);
            } else if others == most {
                break;
            } else {
                others += 1;
            }
        }
        let Some(waits) = self.certain.get_mut(&owner).filter(|_| !over.is_empty()) else { return };
        self.certain_count -= over.len();
        for wait in over {
            waits.remove(&wait);
            if wait.1 {
                self.left.entry((wait.0, owner)).or_insert(wait);
            }
        }
        if waits.is_empty() {
            self.certain.remove(&owner);
        }
    }

    /// Restores the wait of an owner with an abandoned place in a fair queue, if a client listens for the owner again.
    fn return_wait(&mut self, key: Name, owner: Name, event: Event) {
        if event == Event::Queued
            && let Some(wait) = self.left.get(&(key, owner)).copied()
            && !self.is_over(owner, &wait)
        {
            self.left.remove(&(key, owner));
            self.waits_certainly(owner, wait);
        }
    }

    fn waits_certainly(&mut self, owner: Name, wait: Wait) {
        let is_new = self.certain.entry(owner).or_default().insert(wait);
        self.certain_count += usize::from(is_new);
    }

    /// Whether a wait of an owner is over because its client is gone. O(log n).
    fn is_over(&self, owner: Name, &(key, is_fair, client, _): &Wait) -> bool {
        match is_fair {
            true => self.channels.is_left(key, owner, client),
            false => self.channels.has_lost(client),
        }
    }

    /// Ends the inferred wait of a thread that acts. An effect of time alone is not an act of the thread.
    fn does_something(&mut self, view: View<'_>, entry: &Entry) {
        if entry.client != 0
            && let Some(last) = self.refused.remove(&self.known(view, entry.owner))
        {
            self.count_refused_again(view.ring, last, false);
        }
    }

    fn refused(&mut self, view: View<'_>, seq: u64, entry: &Entry) {
        let owner = self.stands_for(view, entry.owner);
        let mut last = Refusals { key: entry.key, owner: entry.owner, count: 1, seq };
        if let Some(before) = self.refused.remove(&owner) {
            self.count_refused_again(view.ring, before, false);
            if before.key == entry.key {
                last = Refusals { count: before.count + 1, ..before };
            }
        }
        self.count_refused_again(view.ring, last, true);
        self.refused.insert(owner, last);
    }

    /// Adds or removes an owner in the count for its lock and instance, if it was refused more than once.
    fn count_refused_again(&mut self, ring: &Ring, last: Refusals, is_new: bool) {
        let Some(instance) = instance_of(ring.text(last.owner)).filter(|_| last.count > 1) else { return };
        let count = self.refused_again.entry((last.key, instance.into())).or_default();
        self.owned_bytes += if *count == 0 { block(instance.len()) } else { 0 };
        *count = if is_new { *count + 1 } else { count.saturating_sub(1) };
        if *count == 0 {
            self.refused_again.remove(&(last.key, instance.into()));
            self.owned_bytes -= block(instance.len());
        }
    }

    /// Returns the name that represents a waiting owner. The first name seen becomes that name.
    fn stands_for(&mut self, view: View<'_>, owner: Name) -> Name {
        *self.owners.entry(view.locks.owners.first_field(owner)).or_insert(owner)
    }

    /// Returns the name that represents an owner, or the given name if the owner has never waited.
    pub(super) fn known(&self, view: View<'_>, owner: Name) -> Name {
        self.owners.get(&view.locks.owners.first_field(owner)).copied().unwrap_or(owner)
    }

    /// Returns the locks that an owner waits for, and the entries of the waits; with `wanted`, only that lock.
    fn of<'a>(
        &'a self,
        ring: &'a Ring,
        owner: Name,
        wanted: Option<Name>,
    ) -> impl Iterator<Item = (Name, u64)> + 'a {
        let from = wanted.unwrap_or(Name::NONE);
        let is_wanted = move |key: Name| wanted.is_none_or(|wanted| wanted == key);
        let certain =
            self.certain.get(&owner).into_iter().flat_map(move |of| of.range((from, false, 0, 0)..));
        let certain = certain.take_while(move |wait| is_wanted(wait.0));
        let certain = certain.filter(move |wait| !self.is_over(owner, wait)).map(|wait| (wait.0, wait.3));
        let inferred = self.refused.get(&owner).filter(move |last| {
            let asked = self.asked.get(&last.key);
            let is_again = is_wanted(last.key) && (last.count > 1 || !is_thread(ring, last.owner));
            is_again && asked.is_some_and(|asked| asked.is_waiting(ring, last.owner))
        });
        certain.chain(inferred.map(|last| (last.key, last.seq)))
    }

    /// Whether a listener waits for the lock, as far as is known. With an `owner`, the listener subscribes to the
    /// owner's channel, otherwise to the lock's. O(log n).
    ///
    /// A Redisson thread asks again once it has subscribed. A thread that is interrupted before that does not ask, and
    /// its subscription stays until its client ends. Such a subscription is not a wait.
    pub(super) fn listener_waits(&self, view: View<'_>, key: Name, client: u64, owner: Name) -> bool {
        if owner != Name::NONE {
            // The first request of a thread joins the queue of a fair lock, which is not a refusal.
            let last = self.refused.get(&self.known(view, owner));
            return !is_thread(view.ring, owner) || last.is_some_and(|last| last.key == key);
        }
        let first = self.asked.get(&key).and_then(|asked| asked.first_of(client));
        let instance = first.and_then(|first| instance_of(view.ring.text(first)));
        instance.is_none_or(|instance| self.refused_again.contains_key(&(key, instance.into())))
    }

    /// Whether an owner waits for a lock. O(log n), plus waits of clients that are gone.
    pub(super) fn waits_for(&self, ring: &Ring, owner: Name, key: Name) -> bool {
        self.of(ring, owner, Some(key)).next().is_some()
    }

    /// Whether an owner holds a lock that has been waited for. If not, the owner is in no cycle. O(log n).
    fn may_be_waited_for(&self, view: View<'_>, owner: Name) -> bool {
        let mut held = view.locks.held_by(owner).enumerate();
        held.any(|(at, key)| {
            at == MAX_HELD || self.waited_for.contains(&key) || self.asked.contains_key(&key)
        })
    }

    /// Continues the search for the shortest cycle that an owner is in; of many waits only that for this lock counts.
    /// Takes at most `steps` steps. After `Pending`, the caller must ask again before anything changes.
    pub(super) fn cycle(
        &mut self,
        view: View<'_>,
        (owner, key): (Name, Name),
        steps: &mut u64,
    ) -> Poll<Option<Cycle>> {
        if self.running.is_none() && !self.may_be_waited_for(view, owner) {
            return Poll::Ready(None);
        }
        let owner = self.known(view, owner);
        if self.running.is_none() {
            self.take_out(owner, MAX_WAITS);
        }
        let search = self.running.take().unwrap_or_else(|| {
            let waits: Vec<(Name, u64)> = self.of(view.ring, owner, None).take(MAX_WAITS + 1).collect();
            let waits = match waits.len() {
                ..=MAX_WAITS => waits,
                _ => self.of(view.ring, owner, Some(key)).take(1).collect(),
            };
            Search::new(owner, &waits)
        });
        self.search_on(view, search, steps)
    }

    /// Continues the search for the cycle that an owner would be in if it waited for a lock, like [`Self::cycle`].
    pub(super) fn cycle_by(
        &mut self,
        view: View<'_>,
        (owner, key): (Name, Name),
        steps: &mut u64,
    ) -> Poll<Option<Cycle>> {
        let owner = self.known(view, owner);
        let search = self.running.take().unwrap_or_else(|| Search::new(owner, &[(key, 0)]));
        self.search_on(view, search, steps)
    }

    /// Whether a search has begun and has not ended.
    pub(super) fn is_searching(&self) -> bool {
        self.running.is_some()
    }

    /// Continues a search until it ends, has taken `steps`, or all searches have taken too many. O(n log n), n the
    /// owners and locks that can be reached.
    fn search_on(&mut self, view: View<'_>, mut search: Search, steps: &mut u64) -> Poll<Option<Cycle>> {
        loop {
            if self.steps == 0 {
                self.given_up += 1;
                return Poll::Ready(None);
            }
            if *steps == 0 {
                self.running = Some(search);
                return Poll::Pending;
            }
            let taken = match self.next_field(view, &mut search) {
                Some(field) => self.follow(view, &mut search, field),
                None => {
                    let at = search.looked_at;
                    let Some(&Reached { step, .. }) = search.reached.get(at) else {
                        return Poll::Ready(None);
                    };
                    search.looked_at += 1;
                    if let Some(lock) = view.lock(step.key) {
                        let (fields, holders) = (view.locks.owners.fields_of(search.owner), lock.holds.len());
                        let own = fields.filter_map(|field| lock.holds.get(field)).next();
                        if !passes_holders(view.ring, lock, step) {
                            if let Some(hold) = own.filter(|_| step.owner != search.owner) {
                                return Poll::Ready(Some(way(&search.reached, at, hold.seq)));
                            }
                            self.walk(view, holders, &mut search, step);
                        }
                    }
                    1
                }
            };
            self.steps = self.steps.saturating_sub(taken);
            *steps = steps.saturating_sub(taken);
        }
    }

    /// Begins to examine the holders of a lock that a step waits for. Only holders that wait themselves matter.
    fn walk(
        &self,
        view: View<'_>,
        holders: usize,
        search: &mut Search,
        CycleStep { owner: waiter, key, .. }: CycleStep,
    ) {
        let (walked, is_waiter) = match search.walked.get(&key) {
            None => (holders, false),
            Some(left_out) if left_out.is_some_and(|left_out| left_out != waiter) => (1, true),
            Some(_) => return,
        };
        let left_out = search.walked.insert(key, (!is_waiter).then_some(waiter)).flatten();
        let waiting = self.certain.len() + self.refused.len();
        search.walk = match left_out {
            Some(left_out) => Walk::of_owner(view, left_out),
            None if walked > waiting => Walk::Waiting { is_inferred: false, last: None, fields: Vec::new() },
            None => Walk::Holders { key, last: None },
        };
    }

    /// Returns the next field of a lock that a search examines, if there is one. O(log n).
    fn next_field(&self, view: View<'_>, search: &mut Search) -> Option<Name> {
        match &mut search.walk {
            Walk::Fields(fields) => fields.pop(),
            Walk::Holders { key, last } => {
                *last = Some(view.lock(*key)?.holds.field_after(*last)?);
                *last
            }
            Walk::Waiting { is_inferred, last, fields } => {
                while fields.is_empty() {
                    let from = (after(*last), Unbounded);
                    let owner = match is_inferred {
                        false => self.certain.range(from).next().map(|(owner, _)| *owner),
                        true => self.refused.range(from).next().map(|(owner, _)| *owner),
                    };
                    match owner {
                        Some(owner) => {
                            fields.extend(view.locks.owners.fields_of(owner));
                            fields.reverse();
                        }
                        None if *is_inferred => return None,
                        None => *is_inferred = true,
                    }
                    *last = owner;
                }
                fields.pop()
            }
        }
    }

    /// Examines a field of the last lock; if it holds the lock, adds its owner's waits. Returns the steps, at least 1.
    fn follow(&mut self, view: View<'_>, search: &mut Search, field: Name) -> u64 {
        let at = search.looked_at - 1;
        let CycleStep { owner: waiter, key, .. } = search.reached[at].step;
        let Some(hold) = view.lock(key).and_then(|lock| lock.holds.get(field)) else { return 1 };
        let holder = self.known(view, field);
        if holder == waiter || !search.followed.insert(holder) {
            return 1;
        }
        let (mut steps, hold) = (1, hold.seq);
        self.take_out(holder, usize::MAX);
        for (key, waits) in self.of(view.ring, holder, None) {
            steps += 1;
            search.reach(CycleStep { owner: holder, key, waits, holds: hold }, Some(at));
        }
        steps
    }
}

/// Whether a step's owner waits in the queue of a lock, but not for its holders. The holders share the lock, and the
/// owner would share it too, but waits for other locks. O(log n).
fn passes_holders(ring: &Ring, lock: &Lock, step: CycleStep) -> bool {
    let is_sharer = |entry: &Entry| {
        entry.mode == Mode::Shared && entry.event == Event::Queued && wants_several(ring, entry)
    };
    lock.holds.are_shared()
        && ring.get(step.waits).is_some_and(is_sharer)
        && !lock.waiting.has_alone_before(step.waits)
}

fn is_thread(ring: &Ring, owner: Name) -> bool {
    instance_of(ring.text(owner)).is_some()
}

/// Returns the cycle that ends with the step `last`, whose lock the first owner holds by the entry `closing`. A reached
/// step has the entry of its owner's hold, for which the step before it waits.
fn way(reached: &[Reached], last: usize, closing: u64) -> Cycle {
    let (mut steps, mut holds, mut at) = (Vec::new(), closing, Some(last));
    while let Some(one) = at.and_then(|at| reached.get(at)) {
        steps.push(CycleStep { holds, ..one.step });
        (holds, at) = (one.step.holds, one.from);
    }
    steps.reverse();
    Cycle { steps }
}
