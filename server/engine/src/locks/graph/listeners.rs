//! The owners that wait for locks by subscriptions to the channels of these: Redisson's threads, which share one for
//! each instance and lock.
//!
//! A thread of Redisson's asks for the lock, is refused, subscribes and asks again; then it waits for a message. So it
//! waits once it was refused twice in a row and its instance listens, also when the connection that asked is closed.
//! Before that it may have been interrupted, which leaves the subscription behind; and a thread that does not want to
//! wait asks once. The history knows the refusals. While it is off, every subscription stands for one that waits, as it
//! does where no owner is known, and where its owner is no thread of Redisson's and may wait for the message at once.
//!
//! This is the one meaning of such a wait: that of AWAIT.WAITERS, LOCK.INFO, LOCK.SCAN, LOCK.GRAPH, of deadlocks that
//! are refused, and of LOCK.VERIFY, whose `waits` follow the same entries.

use super::super::channel_waiters::{ChannelWaiter, channel_waiters};
use super::super::history::{Entry, Event, Mode, Name, Names, Ring, shown};
use super::super::records::LockRecords;
use super::super::redisson::{instance_of, owner_of};
use crate::pubsub::PubSub;
use lockwheel_store::keyspace::{DbKey, Tx};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The most owners that a new subscription is looked for among.
const MAX_CANDIDATES: usize = 64;

/// The last refusals of an owner in a row.
#[derive(Debug)]
pub(super) struct Refusals {
    pub(super) key: Name,
    /// As the script names it.
    owner: Name,
    pub(super) count: u32,
}

/// The state of refusals and subscriptions after a part of the entries.
#[derive(Debug, Default)]
pub(super) struct Reader {
    /// By bare names: a writer's field has a suffix.
    pub(super) refused: BTreeMap<Box<[u8]>, Refusals>,
    /// The owners that were refused a lock last, in order.
    asked: BTreeMap<Name, Vec<Name>>,
    /// The subscriptions of clients to channels of locks, with the owner whose instance each is taken for.
    pub(super) listeners: BTreeMap<(Name, u64), Name>,
    /// The instances that listen, by lock.
    instances: BTreeSet<(Name, Box<[u8]>)>,
}

impl Reader {
    /// Takes an entry in; `is_wanted`: its lock matters. O(log n).
    pub(super) fn take_in(&mut self, names: &Names, entry: &Entry, is_wanted: bool) {
        let is_listener =
            entry.native() == Some(false) && entry.mode != Mode::Fair && entry.owner == Name::NONE;
        match entry.event {
            Event::Refused if entry.native().is_none() && entry.owner != Name::NONE => {
                self.refuse(names, entry, is_wanted);
            }
            Event::Acquired | Event::Reentered | Event::Released
                if entry.client != 0 && !self.refused.is_empty() =>
            {
                self.refused.remove(owner_of(names.text_of(entry.owner)));
            }
            Event::Queued if is_listener && is_wanted => {
                if let Some(first) = self.subscriber(names, entry.key) {
                    self.listeners.insert((entry.key, entry.client), first);
                    if let Some(instance) = instance_of(names.text_of(first)) {
                        self.instances.insert((entry.key, instance.into()));
                    }
                }
            }
            Event::LeftQueue if is_listener && is_wanted => {
                if let Some(first) = self.listeners.remove(&(entry.key, entry.client))
                    && let Some(instance) = instance_of(names.text_of(first))
                {
                    self.instances.remove(&(entry.key, instance.into()));
                }
            }
            _ => {}
        }
    }

    /// The owner whose instance a new subscription is taken for: the last that was refused, of those whose instances do
    /// not listen yet. Which of two instances that ask at once has which subscription does not matter.
    fn subscriber(&self, names: &Names, key: Name) -> Option<Name> {
        let asked = self.asked.get(&key)?;
        let listens = |owner: Name| {
            let instance = instance_of(names.text_of(owner));
            instance.is_some_and(|instance| self.instances.contains(&(key, instance.into())))
        };
        let mut last = asked.iter().rev().take(MAX_CANDIDATES).copied();
        last.find(|owner| !listens(*owner)).or_else(|| asked.last().copied())
    }

    fn refuse(&mut self, names: &Names, entry: &Entry, is_wanted: bool) {
        let owner = owner_of(names.text_of(entry.owner));
        let before = self.refused.get(owner).filter(|before| before.key == entry.key);
        let count = before.map_or(0, |before| before.count) + 1;
        if !is_wanted {
            self.refused.remove(owner);
            return;
        }
        let asked = self.asked.entry(entry.key).or_default();
        if asked.last() != Some(&entry.owner) {
            if asked.len() == 2 * MAX_CANDIDATES {
                asked.drain(..MAX_CANDIDATES);
            }
            asked.push(entry.owner);
        }
        self.refused.insert(owner.into(), Refusals { key: entry.key, owner: entry.owner, count });
    }
}

/// Names of owners.
pub(super) type OwnerNames = BTreeSet<Box<[u8]>>;

/// The locks that owners wait for by subscriptions.
#[derive(Debug, Default)]
pub(in crate::locks) struct Listeners {
    /// By lock and client, the owners that wait by its subscription, by bare names. None: it is not of a thread of
    /// Redisson's, or has nothing to do with a refusal. Clients of one instance share the owners.
    by_client: BTreeMap<(DbKey, u64), Option<Arc<OwnerNames>>>,
    /// The lock that each owner was refused last.
    refused: BTreeMap<Box<[u8]>, DbKey>,
    /// Whether there is a history.
    is_known: bool,
}

impl Listeners {
    /// As the history tells, of all locks or of one. O(n log n), n its entries; of one lock it is little more than
    /// looking at each.
    pub(super) fn of(ring: &Ring, wanted: Option<(usize, &[u8])>) -> Self {
        let (mut reader, mut name) = (Reader::default(), Name::NONE);
        let wanted = wanted.map(|(db, text)| (db, shown(text)));
        let mut is_wanted = |key: Name| {
            wanted.as_ref().is_none_or(|(db, text)| {
                if name == Name::NONE && ring.text(key) == &**text && ring.db(key) == Some(*db) {
                    name = key;
                }
                name == key
            })
        };
        for (_, entry) in ring.after(ring.first_of_waits() - 1) {
            let is_wanted = entry.key != Name::NONE && is_wanted(entry.key);
            reader.take_in(ring.names(), entry, is_wanted);
        }
        let key_of = |key: Name| -> DbKey { (ring.db(key).unwrap_or(0), ring.text(key).into()) };
        let mut again: BTreeMap<(Name, &[u8]), OwnerNames> = BTreeMap::new();
        for refusals in reader.refused.values().filter(|refusals| refusals.count > 1) {
            if let Some(instance) = instance_of(ring.text(refusals.owner)) {
                let owner = owner_of(ring.text(refusals.owner));
                again.entry((refusals.key, instance)).or_default().insert(owner.into());
            }
        }
        let again: BTreeMap<_, _> = again.into_iter().map(|(of, owners)| (of, Arc::new(owners))).collect();
        let by_client = reader.listeners.iter().map(|(&(key, client), &first)| {
            let instance = instance_of(ring.text(first));
            let owners = instance.map(|instance| again.get(&(key, instance)).cloned().unwrap_or_default());
            ((key_of(key), client), owners)
        });
        let by_client = by_client.collect();
        let refused = reader.refused.iter().map(|(owner, refusals)| (owner.clone(), key_of(refusals.key)));
        Listeners { by_client, refused: refused.collect(), is_known: true }
    }

    /// Returns the listeners of a transaction's keyspace: of all locks, or of one in its database.
    pub(in crate::locks) fn of_tx(tx: &Tx<'_>, wanted: Option<&[u8]>) -> Self {
        Listeners::of_records(LockRecords::of(tx), wanted.map(|key| (tx.db(), key)))
    }

    fn of_records(records: &LockRecords, wanted: Option<(usize, &[u8])>) -> Self {
        let history = records.history();
        history.map_or_else(Listeners::default, |history| Listeners::of(history.ring(), wanted))
    }

    /// Whether a client that listens to a channel of a lock waits for it. O(log n).
    pub(in crate::locks) fn waits(&self, db: usize, key: &[u8], waiter: &ChannelWaiter) -> bool {
        if !self.is_known {
            return true;
        }
        let key = shown(key);
        match &waiter.owner {
            // A thread that joins the queue of a fair lock is not refused; when it listens it asks again.
            Some(owner) => {
                let is_refused = |of: &DbKey| of.0 == db && *of.1 == *key;
                let owner = &*shown(owner);
                instance_of(owner).is_none() || self.refused.get(owner_of(owner)).is_some_and(is_refused)
            }
            None => match self.by_client.get(&((db, (*key).into()), waiter.client)) {
                Some(Some(owners)) => !owners.is_empty(),
                _ => true,
            },
        }
    }

    /// The owners that wait for a lock by a client's subscription, where they are known. O(log n).
    pub(super) fn owners(&self, db: usize, key: &[u8], client: u64) -> Option<&Arc<OwnerNames>> {
        self.by_client.get(&((db, (*shown(key)).into()), client))?.as_ref()
    }

    /// The locks of a database with the clients by whose subscriptions owners wait for them, and these owners.
    pub(super) fn of_db(&self, db: usize) -> impl Iterator<Item = (&[u8], u64, &Arc<OwnerNames>)> {
        let from = self.by_client.range(((db, Box::default()), 0)..);
        let of_db = from.take_while(move |(((of, _), _), _)| *of == db);
        of_db.filter_map(|(((_, key), client), owners)| Some((&**key, *client, owners.as_ref()?)))
    }
}

/// The clients that wait for a lock by subscriptions. O(n), n the patterns, the listeners and the entries of the
/// history.
pub(in crate::locks) fn waiting_listeners(
    tx: &Tx<'_>,
    pubsub: &PubSub,
    key: &[u8],
) -> BTreeSet<ChannelWaiter> {
    let mut waiters = channel_waiters(pubsub, key);
    if !waiters.is_empty() {
        let listeners = Listeners::of_tx(tx, Some(key));
        waiters.retain(|waiter| listeners.waits(tx.db(), key, waiter));
    }
    waiters
}

#[cfg(test)]
mod tests {
    use super::super::super::history::{Happening, History};
    use super::*;
    use lockwheel_store::time::Now;

    /// Not as many names as there are clients and owners.
    #[test]
    fn clients_of_one_instance_share_the_names_of_their_owners() {
        let mut history = History::new(1 << 16, 7);
        let mut record = |what: Happening<'_>| history.record(Now { wall_us: 0, monotonic_us: 0 }, what);
        for thread in 0..100 {
            let owner = format!("8743c9c0-0795-4907-87fd-6c719a6b4586:{thread}");
            for _ in 0..2 {
                record(Happening::new(Event::Refused, b"lock", owner.as_bytes()));
            }
        }
        for client in 1..=50 {
            let queued = Happening::new(Event::Queued, b"lock", b"");
            record(Happening { client: Some(client), native: Some(false), ..queued });
        }
        let listeners = Listeners::of(history.ring(), None);
        let owners: Vec<_> = listeners.of_db(0).map(|(_, _, owners)| owners).collect();
        assert_eq!((owners.len(), owners[0].len()), (50, 100));
        assert!(owners.iter().all(|one| Arc::ptr_eq(one, owners[0])));
    }
}
