//! The locks that Redisson owners wait for, as far as known when a request is about to wait behind them.
//!
//! An owner in the queue of a fair lock, whose client listens to the owner's channel, certainly waits. Only the
//! history, which may be wrong, shows the owners behind a subscription that threads share.

use super::super::redisson;
use super::listeners::Listeners;
use crate::pubsub::PubSub;
use lockwheel_store::keyspace::Tx;
use lockwheel_store::values::{Value, ZSet};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The locks that Redisson owners wait for. Places in fair queues are looked up only when a search reaches them.
#[derive(Debug, Default)]
pub(crate) struct ForeignWaits<'p> {
    /// The subscriptions. `None`: no listener matters.
    pubsub: Option<&'p PubSub>,
    /// The locks with inferred waits, by owner.
    inferred: BTreeMap<Box<[u8]>, BTreeSet<Box<[u8]>>>,
}

impl<'p> ForeignWaits<'p> {
    /// Returns the waits of a database, including inferred ones if given. O(1), plus O(n log n) for n inferred waits.
    pub(super) fn of_all(tx: &Tx<'_>, pubsub: &'p PubSub, inferred: Option<&Listeners>) -> Self {
        let mut waits = ForeignWaits { pubsub: Some(pubsub), inferred: BTreeMap::new() };
        // Clients of one instance share their owners, which are added once.
        let mut taken_in = BTreeSet::new();
        for (key, client, owners) in inferred.into_iter().flat_map(|inferred| inferred.of_db(tx.db())) {
            let channels = [redisson::lock_channel(key), redisson::read_write_channel(key)];
            let listens = channels.iter().any(|channel| pubsub.listens(channel, client));
            if listens && taken_in.insert((key, Arc::as_ptr(owners))) {
                for owner in &**owners {
                    waits.inferred.entry(owner.clone()).or_default().insert(key.into());
                }
            }
        }
        waits
    }

    /// Returns the locks that an owner waits for, in order. O(n log n), n the locks.
    pub(super) fn of(&self, tx: &Tx<'_>, owner: &[u8]) -> BTreeSet<&[u8]> {
        let channels = self.pubsub.into_iter().flat_map(|pubsub| pubsub.with_ending(owner));
        let named = channels.filter_map(redisson::lock_of_channel).map(|(key, _)| key);
        let queued = named.filter(|key| stands_in_queue(tx, key, owner));
        queued.chain(self.inferred.get(owner).into_iter().flatten().map(|key| &**key)).collect()
    }

    /// Returns the owners that wait, and perhaps others that listen in the same way. An owner may occur twice.
    pub(super) fn owners(&self) -> impl Iterator<Item = &[u8]> {
        let named = self.pubsub.into_iter().flat_map(PubSub::endings);
        named.chain(self.inferred.keys().map(|owner| &**owner))
    }

    /// Returns the number of these owners. O(1).
    pub(super) fn len(&self) -> usize {
        self.pubsub.map_or(0, |pubsub| pubsub.endings().len()) + self.inferred.len()
    }
}

fn stands_in_queue(tx: &Tx<'_>, key: &[u8], owner: &[u8]) -> bool {
    let timeouts = tx.peek(&redisson::queue_timeouts_key(key));
    matches!(timeouts, Some(Value::ZSet(timeouts)) if ZSet::score(timeouts, owner).is_some())
}
