//! Which locks the owners of Redisson's wait for, as far as it is known when a request is about to wait behind them.
//!
//! One that waits for a fair lock stands in its queue, and its client listens to a channel of its own: that is certain.
//! Whom a subscription stands for that threads share only the history tells, which may be wrong.

use super::super::redisson;
use super::listeners::Listeners;
use crate::pubsub::PubSub;
use lockwheel_store::keyspace::Tx;
use lockwheel_store::values::{Value, ZSet};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The locks that owners of Redisson's wait for. Those that stand in queues are looked up when they are come upon:
/// there may be many that have nothing to do with a request.
#[derive(Debug, Default)]
pub(crate) struct ForeignWaits<'p> {
    /// Who listens; none: nobody that matters.
    pubsub: Option<&'p PubSub>,
    /// The locks that are inferred to be waited for, by owner.
    inferred: BTreeMap<Box<[u8]>, BTreeSet<Box<[u8]>>>,
}

impl<'p> ForeignWaits<'p> {
    /// Those of a database; with the inferred ones, too. O(1), but O(n log n) with n inferred ones.
    pub(super) fn of_all(tx: &Tx<'_>, pubsub: &'p PubSub, inferred: Option<&Listeners>) -> Self {
        let mut waits = ForeignWaits { pubsub: Some(pubsub), inferred: BTreeMap::new() };
        // Clients of one instance share their owners, which are taken in once.
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

    /// The locks that an owner waits for, in order. O(n log n), n these.
    pub(super) fn of(&self, tx: &Tx<'_>, owner: &[u8]) -> BTreeSet<&[u8]> {
        let channels = self.pubsub.into_iter().flat_map(|pubsub| pubsub.with_ending(owner));
        let named = channels.filter_map(redisson::lock_of_channel).map(|(key, _)| key);
        let queued = named.filter(|key| stands_in_queue(tx, key, owner));
        queued.chain(self.inferred.get(owner).into_iter().flatten().map(|key| &**key)).collect()
    }

    /// The owners that wait, and perhaps others that listen as if they did. An owner may come twice.
    pub(super) fn owners(&self) -> impl Iterator<Item = &[u8]> {
        let named = self.pubsub.into_iter().flat_map(PubSub::endings);
        named.chain(self.inferred.keys().map(|owner| &**owner))
    }

    /// How many these are. O(1).
    pub(super) fn len(&self) -> usize {
        self.pubsub.map_or(0, |pubsub| pubsub.endings().len()) + self.inferred.len()
    }
}

/// Whether an owner stands in the queue of a fair lock.
fn stands_in_queue(tx: &Tx<'_>, key: &[u8], owner: &[u8]) -> bool {
    let timeouts = tx.peek(&redisson::queue_timeouts_key(key));
    matches!(timeouts, Some(Value::ZSet(timeouts)) if ZSet::score(timeouts, owner).is_some())
}
