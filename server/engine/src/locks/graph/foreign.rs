//! Which locks the owners of Redisson's wait for, as far as it is known when a request is about to wait behind them.
//!
//! One that waits for a fair lock stands in its queue, and its client listens to a channel of its own: that is certain.
//! Whom a subscription stands for that threads share only the history tells, which may be wrong.

use super::super::channel_waiters::{channel_waiters, listened_channels};
use super::super::redisson;
use super::inferred::Inferred;
use crate::keyspace::Tx;
use crate::pubsub::PubSub;
use crate::values::{Value, ZSet};
use std::collections::{BTreeMap, BTreeSet};

/// The locks that owners of Redisson's wait for.
#[derive(Debug, Default)]
pub(crate) struct ForeignWaits {
    by_owner: BTreeMap<Box<[u8]>, BTreeSet<Box<[u8]>>>,
}

impl ForeignWaits {
    /// Those of a database; with the inferred ones, too. O(n log n), n the channels of locks that are listened to and
    /// their listeners.
    pub(super) fn of_all(tx: &Tx<'_>, pubsub: &PubSub, inferred: Option<&Inferred>) -> Self {
        let mut waits = ForeignWaits::default();
        let keys: BTreeSet<&[u8]> =
            listened_channels(pubsub).filter_map(redisson::lock_of_channel).map(|(key, _)| key).collect();
        for key in keys {
            for waiter in channel_waiters(pubsub, key) {
                match (waiter.owner, inferred) {
                    (Some(owner), _) if stands_in_queue(tx, key, &owner) => waits.add(&owner, key),
                    (None, Some(inferred)) => {
                        let owners = inferred.owners(tx.db(), key, waiter.client);
                        owners.for_each(|owner| waits.add(owner, key));
                    }
                    _ => {}
                }
            }
        }
        waits
    }

    fn add(&mut self, owner: &[u8], key: &[u8]) {
        self.by_owner.entry(owner.into()).or_default().insert(key.into());
    }

    /// The locks that an owner waits for.
    pub(super) fn of(&self, owner: &[u8]) -> impl Iterator<Item = &[u8]> {
        self.by_owner.get(owner).into_iter().flatten().map(|key| &**key)
    }

    /// The owners that wait.
    pub(super) fn owners(&self) -> impl Iterator<Item = &[u8]> {
        self.by_owner.keys().map(|owner| &**owner)
    }

    /// How many do.
    pub(super) fn len(&self) -> usize {
        self.by_owner.len()
    }
}

/// Whether an owner stands in the queue of a fair lock.
fn stands_in_queue(tx: &Tx<'_>, key: &[u8], owner: &[u8]) -> bool {
    let timeouts = tx.peek(&redisson::queue_timeouts_key(key));
    matches!(timeouts, Some(Value::ZSet(timeouts)) if ZSet::score(timeouts, owner).is_some())
}
