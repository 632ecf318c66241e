//! The waits of a database, grouped by lock: each of a lock's holders and waiters occurs once, so the graph is linear.

use super::super::channel_waiters::{
    ChannelWaiter, MatchBudget, channel_waiters_within, listened_channels, named_channel_waiters,
};
use super::super::redisson;
use super::edges::{self, Wait};
use super::listeners::Listeners;
use super::room::Room;
use crate::pubsub::PubSub;
use lockwheel_store::keyspace::{Place, Tx};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The kinds of a wait: native, a subscription to the owner's channel, and one to a channel that names no owner.
const NATIVE: &str = "native";
const FOREIGN: &str = "foreign";
const INFERRED: &str = "inferred";

#[derive(Debug)]
pub(super) struct LockWait {
    pub(super) owner: Box<[u8]>,
    pub(super) kind: &'static str,
    /// The number of holders that the owner waits for: all but itself, or none.
    pub(super) holders: usize,
    /// The number of the first [`LockWaits::ahead`] that keep the lock from this one.
    pub(super) ahead: usize,
}

#[derive(Debug)]
pub(super) struct LockWaits {
    pub(super) key: Box<[u8]>,
    /// The owners that hold it, in the order of their names.
    pub(super) holders: Vec<Box<[u8]>>,
    /// The owners that wait for this lock together with others, in queue order; they keep it from waiters behind them.
    pub(super) ahead: Vec<Box<[u8]>>,
    /// The owners that wait for any of these, native waiters first, in the order of the queue.
    pub(super) waiters: Vec<LockWait>,
}

#[derive(Debug)]
pub(super) struct WaitGraph {
    /// The locks that owners wait for, in the order of their names.
    pub(super) locks: Vec<LockWaits>,
    /// The number of locks whose pattern subscriptions were not examined, since there are too many.
    without_patterns: usize,
}

impl WaitGraph {
    /// Returns the present waits. `with_inferred` adds those that only the history or a channel shows. O(n log n), n
    /// the waiters, the holders of the locks, and the channels. One limit applies to all matches of patterns.
    pub(super) fn of_tx(tx: &Tx<'_>, pubsub: &PubSub, with_inferred: bool) -> Self {
        let listened = redisson::listened_keys(listened_channels(pubsub));
        let listeners = if listened.is_empty() { Listeners::default() } else { Listeners::of_tx(tx, None) };
        let keys: BTreeSet<Box<[u8]>> = tx.waited_for().into_iter().chain(listened).collect();
        let mut budget = with_inferred.then(MatchBudget::new);
        let locks = keys.into_iter().map(|key| {
            // A foreign waiter waits for holders alone.
            let foreign = match tx.exists(&key) {
                true => foreign_waits((tx, pubsub), &key, &listeners, budget.as_mut()),
                false => BTreeSet::new(),
            };
            LockWaits::new(tx, key, foreign)
        });
        let locks = locks.filter(|lock| !lock.waiters.is_empty()).collect();
        WaitGraph { locks, without_patterns: budget.map_or(0, |budget| budget.left_out()) }
    }

    /// Leaves out names that do not fit into a reply. Each lock has a share for its waiters, the owners ahead and its
    /// holders; the rest goes to these in that order. A lock without a shown waiter is left out.
    pub(super) fn leave_out(&mut self, room: &mut Room) {
        let mut shown: Vec<Shown> = self.locks.iter().map(Shown::nothing).collect();
        let mut each = |work: &mut dyn FnMut(&mut Shown, &LockWaits)| {
            self.locks.iter().zip(&mut shown).for_each(|(lock, shown)| work(shown, lock));
        };
        let share = room.share(3 * self.locks.len().max(1));
        each(&mut |shown, lock| shown.add_waiters(lock, room, &mut share.clone()));
        each(&mut |shown, lock| {
            shown.add_ahead(lock, room, &mut share.clone());
            shown.add_holders(lock, room, &mut share.clone());
        });
        each(&mut |shown, lock| {
            let mut rest = room.share(1);
            shown.add_waiters(lock, room, &mut rest);
        });
        each(&mut |shown, lock| {
            let mut rest = room.share(1);
            shown.add_ahead(lock, room, &mut rest);
        });
        each(&mut |shown, lock| {
            let mut rest = room.share(1);
            shown.add_holders(lock, room, &mut rest);
        });
        self.locks.iter_mut().zip(shown).for_each(|(lock, shown)| room.leave_out(shown.cut(lock)));
        room.leave_out(self.without_patterns);
        self.locks.retain(|lock| !lock.waiters.is_empty());
    }
}

/// The names of a lock that a reply shows.
struct Shown {
    waiters: Vec<bool>,
    /// The number of owners ahead that are shown: waiters count them from the front.
    ahead: usize,
    holders: Vec<bool>,
    /// Whether a waiter is shown, and the key with it.
    has_key: bool,
}

impl Shown {
    fn nothing(lock: &LockWaits) -> Self {
        let none = |count: usize| vec![false; count];
        let (waiters, holders) = (none(lock.waiters.len()), none(lock.holders.len()));
        Shown { waiters, ahead: 0, holders, has_key: false }
    }

    /// Shows the waiters that fit. The key takes room with the first of them.
    fn add_waiters(&mut self, lock: &LockWaits, room: &mut Room, share: &mut Room) {
        for (waiter, is_shown) in lock.waiters.iter().zip(&mut self.waiters).filter(|(_, shown)| !**shown) {
            let key = if self.has_key { &[][..] } else { &[&*lock.key] };
            *is_shown = room.take_of(share, &[&waiter.owner], key);
            self.has_key |= *is_shown;
        }
    }

    fn add_ahead(&mut self, lock: &LockWaits, room: &mut Room, share: &mut Room) {
        if self.has_key {
            let more = &lock.ahead[self.ahead..];
            self.ahead += more.iter().take_while(|owner| room.take_of(share, &[owner], &[])).count();
        }
    }

    fn add_holders(&mut self, lock: &LockWaits, room: &mut Room, share: &mut Room) {
        if self.has_key {
            let hidden = lock.holders.iter().zip(&mut self.holders).filter(|(_, shown)| !**shown);
            hidden.for_each(|(holder, is_shown)| *is_shown = room.take_of(share, &[holder], &[]));
        }
    }

    /// Removes the other names of a lock. Returns their number.
    fn cut(self, lock: &mut LockWaits) -> usize {
        let names = |lock: &LockWaits| lock.waiters.len() + lock.ahead.len() + lock.holders.len();
        let before = names(lock);
        let (mut waiters, mut holders) = (self.waiters.into_iter(), self.holders.into_iter());
        lock.waiters.retain(|_| waiters.next().unwrap_or(false));
        lock.ahead.truncate(self.ahead);
        lock.holders.retain(|_| holders.next().unwrap_or(false));
        before - names(lock)
    }
}

impl LockWaits {
    /// Returns the waits for a lock, with the known Redisson waits. O(n log n), n the holders and the waiters.
    fn new(tx: &Tx<'_>, key: Box<[u8]>, foreign: BTreeSet<(Box<[u8]>, &'static str)>) -> Self {
        let holders = edges::holders(tx, &key);
        let (ahead, places) = first_places(edges::several(tx, &key));
        let kept_by = |owner: &[u8], by_holders: bool| {
            if by_holders { holders.len() - usize::from(holders.contains(owner)) } else { 0 }
        };
        let mut waiters = Vec::new();
        let mut seen: BTreeSet<&[u8]> = BTreeSet::new();
        for owner in tx.waiting(&key).map(|waiter| &*waiter.label) {
            if owner.is_empty() || !seen.insert(owner) || edges::has(tx, &key, owner) {
                continue;
            }
            let kept = Wait::of(tx, &key, owner).kept(tx, &key, None);
            let before = kept.by_those_before;
            let ahead = before.map_or(places.len(), |before| places.partition_point(|place| *place < before));
            let holders = kept_by(owner, kept.by_holders);
            waiters.push(LockWait { owner: owner.into(), kind: NATIVE, holders, ahead });
        }
        waiters.extend(foreign.into_iter().map(|(owner, kind)| {
            let holders = kept_by(&owner, true);
            LockWait { owner, kind, holders, ahead: 0 }
        }));
        waiters.retain(|waiter| waiter.holders + waiter.ahead > 0);
        LockWaits { key, holders: holders.into_iter().collect(), ahead, waiters }
    }
}

/// Returns the owners of requests, each once, and the first place of each.
fn first_places(requests: BTreeMap<Place, Box<[u8]>>) -> (Vec<Box<[u8]>>, Vec<Place>) {
    let mut seen = BTreeSet::new();
    let first = requests.into_iter().filter(|(_, owner)| seen.insert(owner.clone()));
    first.map(|(place, owner)| (owner, place)).unzip()
}

/// Returns the Redisson waits for a lock: owner and kind. A budget includes the inferred waits.
fn foreign_waits(
    (tx, pubsub): (&Tx<'_>, &PubSub),
    key: &[u8],
    listeners: &Listeners,
    inferring: Option<&mut MatchBudget>,
) -> BTreeSet<(Box<[u8]>, &'static str)> {
    let mut waits = BTreeSet::new();
    // Clients of one instance share their owners, which are added once.
    let mut taken_in = BTreeSet::new();
    let is_wait = |waiter: &ChannelWaiter| listeners.waits(tx.db(), key, waiter);
    let waiters = match inferring {
        Some(budget) => channel_waiters_within(pubsub, key, budget),
        None => named_channel_waiters(pubsub, key),
    };
    for waiter in waiters.into_iter().filter(is_wait) {
        if let Some(owner) = waiter.owner {
            waits.insert((owner, FOREIGN));
        } else {
            match listeners.owners(tx.db(), key, waiter.client).filter(|owners| !owners.is_empty()) {
                None => {
                    waits.insert((format!("client {}", waiter.client).into_bytes().into(), INFERRED));
                }
                Some(owners) if taken_in.insert(Arc::as_ptr(owners)) => {
                    waits.extend(owners.iter().map(|owner| (owner.clone(), INFERRED)));
                }
                Some(_) => {}
            }
        }
    }
    waits
}
