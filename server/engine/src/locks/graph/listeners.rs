//! The owners that wait for locks by subscriptions to the channels of the locks. Redisson's threads share one
//! subscription for each instance and lock.
//!
//! A Redisson thread asks for the lock, is refused, subscribes, asks again and waits for a message. So a thread waits
//! once it was refused twice in a row and its instance listens, even if the connection that asked is closed. After only
//! one refusal it may have been interrupted, which leaves the subscription behind. A thread that does not want to wait
//! asks once.
//!
//! The history records the refusals. While it is off, every subscription counts as a wait. A subscription also counts
//! if no owner is known, or if its owner is not a Redisson thread, which may wait for the message at once.
//!
//! All readers of waits use this definition. The `waits` module of LOCK.VERIFY follows the same entries.

use super::super::channel_waiters::{ChannelWaiter, channel_waiters};
use super::super::history::{Entry, Event, Name, Names, Ring, shown};
use super::super::records::LockRecords;
use super::super::redisson::{instance_of, owner_of};
use super::askers::Askers;
use super::inferred::count_down;
use crate::pubsub::PubSub;
use lockwheel_store::keyspace::{DbKey, Tx};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

#[derive(Debug)]
pub(super) struct Refusals {
    pub(super) key: Name,
    /// The name of the owner in the script.
    owner: Name,
    pub(super) count: u32,
}

/// The state of refusals and subscriptions after a part of the entries.
#[derive(Debug, Default)]
pub(super) struct ListenerState {
    /// The refusals by the bare name of the owner. The field of a writer has a suffix.
    pub(super) refused: BTreeMap<Box<[u8]>, Refusals>,
    /// The owners that were refused each lock last, in order.
    asked: BTreeMap<Name, Askers>,
    /// The subscriptions by lock and client, each with the owner whose instance is assumed to have subscribed.
    pub(super) listeners: BTreeMap<(Name, u64), Name>,
    /// The number of subscriptions of each instance, by lock.
    instances: BTreeMap<(Name, Box<[u8]>), usize>,
}

impl ListenerState {
    /// Updates the state by an entry. `is_wanted`: its lock matters. O(log n).
    pub(super) fn take_in(&mut self, names: &Names, entry: &Entry, is_wanted: bool) {
        let is_listener = entry.is_of_listener();
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
                self.stops_listening(names, entry);
                if let Some(first) = self.subscriber(names, entry.key) {
                    self.listeners.insert((entry.key, entry.client), first);
                    if let Some(instance) = instance_of(names.text_of(first)) {
                        *self.instances.entry((entry.key, instance.into())).or_default() += 1;
                    }
                }
            }
            Event::LeftQueue if is_listener && is_wanted => self.stops_listening(names, entry),
            _ => {}
        }
    }

    /// Removes the subscription of an entry's client to the channels of its lock, if there is one.
    fn stops_listening(&mut self, names: &Names, entry: &Entry) {
        if let Some(first) = self.listeners.remove(&(entry.key, entry.client))
            && let Some(instance) = instance_of(names.text_of(first))
        {
            count_down(&mut self.instances, &(entry.key, instance.into()));
        }
    }

    /// Returns the owner whose instance is assumed to have made a new subscription: see [`Askers::subscriber`].
    fn subscriber(&self, names: &Names, key: Name) -> Option<Name> {
        self.asked.get(&key)?.subscriber(|owner| {
            let instance = instance_of(names.text_of(owner));
            instance.is_some_and(|instance| self.instances.contains_key(&(key, instance.into())))
        })
    }

    fn refuse(&mut self, names: &Names, entry: &Entry, is_wanted: bool) {
        let owner = owner_of(names.text_of(entry.owner));
        let before = self.refused.get(owner).filter(|before| before.key == entry.key);
        let count = before.map_or(0, |before| before.count) + 1;
        if !is_wanted {
            self.refused.remove(owner);
            return;
        }
        self.asked.entry(entry.key).or_default().push(entry.owner);
        self.refused.insert(owner.into(), Refusals { key: entry.key, owner: entry.owner, count });
    }
}

pub(super) type OwnerNames = BTreeSet<Box<[u8]>>;

#[derive(Debug, Default)]
pub(in crate::locks) struct Listeners {
    /// The owners that wait by a subscription, by lock and client, as bare names. `None`: the subscription does not
    /// belong to a Redisson thread, or no refusal preceded it. Clients of one instance share the owners.
    by_client: BTreeMap<(DbKey, u64), Option<Arc<OwnerNames>>>,
    /// The lock that each owner was refused last.
    refused: BTreeMap<Box<[u8]>, DbKey>,
    /// Whether there is a history.
    is_known: bool,
}

impl Listeners {
    /// Returns the waits that the history shows, of all locks or of one lock. O(n log n), n its entries. For one lock
    /// the cost is little more than reading each entry.
    pub(super) fn of(ring: &Ring, wanted: Option<(usize, &[u8])>) -> Self {
        let (mut reader, mut name) = (ListenerState::default(), Name::NONE);
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
            // A thread that joins the queue of a fair lock is not refused. It asks again once it listens.
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

    /// Returns the owners that wait for a lock by a client's subscription, if they are known. O(log n).
    pub(super) fn owners(&self, db: usize, key: &[u8], client: u64) -> Option<&Arc<OwnerNames>> {
        self.by_client.get(&((db, (*shown(key)).into()), client))?.as_ref()
    }

    /// Returns the locks of a database, each with a subscribed client and the owners that wait by the subscription.
    pub(super) fn of_db(&self, db: usize) -> impl Iterator<Item = (&[u8], u64, &Arc<OwnerNames>)> {
        let from = self.by_client.range(((db, Box::default()), 0)..);
        let of_db = from.take_while(move |(((of, _), _), _)| *of == db);
        of_db.filter_map(|(((_, key), client), owners)| Some((&**key, *client, owners.as_ref()?)))
    }
}

/// Returns the clients that wait for a lock by subscriptions. O(n), n the patterns, listeners and history entries.
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

    /// The names take less memory than one name for each client and owner.
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
