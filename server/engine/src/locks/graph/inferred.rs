//! The owners behind subscriptions to a lock's channel. Redisson's threads share one subscription for each instance and
//! lock, so it does not name them.
//!
//! The history shows them: a script that names its owner is refused, and then its client subscribes. Other threads do
//! not subscribe again. So the waiting owners are those of the instance whose last script for that lock was refused.

use super::super::history::{Entry, Event, Name, Ring};
use super::super::redisson;
use super::askers::Askers;
use lockwheel_store::memory::{block, map_heap_bytes, set_heap_bytes};
use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};

/// The refusals and subscriptions of a lock.
#[derive(Debug, Default)]
pub(in crate::locks) struct Asked {
    /// The owners whose last script was refused.
    refused: BTreeSet<Name>,
    askers: Askers,
    /// The clients that listen, each with the owner whose instance is assumed to have subscribed.
    listeners: BTreeMap<u64, Name>,
    /// The number of listeners, by that owner, and by the instance of that owner.
    by_first: BTreeMap<Name, usize>,
    by_instance: BTreeMap<Box<[u8]>, usize>,
    instance_bytes: usize,
}

impl Asked {
    /// Updates the state by an entry of the lock. O(log n).
    pub(in crate::locks) fn follow(&mut self, ring: &Ring, entry: &Entry) {
        let is_listener = entry.is_of_listener();
        match entry.event {
            Event::Refused if entry.native().is_none() => {
                self.refused.insert(entry.owner);
                self.askers.push(entry.owner);
            }
            Event::Acquired | Event::Reentered => {
                self.refused.remove(&entry.owner);
            }
            Event::Queued if is_listener => {
                self.stops_listening(ring, entry.client);
                if let Some(first) = self.askers.subscriber(|owner| self.listens(ring, owner)) {
                    self.listeners.insert(entry.client, first);
                    *self.by_first.entry(first).or_default() += 1;
                    if let Some(instance) = redisson::instance_of(ring.text(first)) {
                        let count = self.by_instance.entry(instance.into()).or_default();
                        self.instance_bytes += if *count == 0 { block(instance.len()) } else { 0 };
                        *count += 1;
                    }
                }
            }
            Event::LeftQueue if is_listener => self.stops_listening(ring, entry.client),
            _ => {}
        }
    }

    /// Removes a client's subscription. Its owners' refusals stay: they wait by other subscriptions. O(log n).
    pub(in crate::locks) fn stops_listening(&mut self, ring: &Ring, client: u64) {
        let Some(first) = self.listeners.remove(&client) else { return };
        count_down(&mut self.by_first, &first);
        if let Some(instance) = redisson::instance_of(ring.text(first)) {
            let is_last = count_down(&mut self.by_instance, instance);
            self.instance_bytes -= if is_last { block(instance.len()) } else { 0 };
        }
    }

    /// Returns the owned memory in bytes. O(1).
    pub(in crate::locks) fn memory(&self) -> usize {
        let counts = map_heap_bytes(&self.by_first) + map_heap_bytes(&self.by_instance) + self.instance_bytes;
        set_heap_bytes(&self.refused) + self.askers.memory() + map_heap_bytes(&self.listeners) + counts
    }

    /// Whether the instance of an owner listens. O(log n).
    fn listens(&self, ring: &Ring, owner: Name) -> bool {
        let instance = redisson::instance_of(ring.text(owner));
        instance.is_some_and(|instance| self.by_instance.contains_key(instance))
    }

    /// Whether an owner was refused, and its instance listens. O(log n).
    pub(in crate::locks) fn is_waiting(&self, ring: &Ring, owner: Name) -> bool {
        self.refused.contains(&owner) && (self.listens(ring, owner) || self.by_first.contains_key(&owner))
    }

    /// Returns the owner whose instance is assumed to have subscribed by a client. O(log n).
    pub(in crate::locks) fn first_of(&self, client: u64) -> Option<Name> {
        self.listeners.get(&client).copied()
    }
}

/// Decrements a count. Returns whether it was the last.
pub(super) fn count_down<K: Ord + Borrow<Q>, Q: Ord + ?Sized>(
    counts: &mut BTreeMap<K, usize>,
    of: &Q,
) -> bool {
    let Some(count) = counts.get_mut(of) else { return false };
    *count -= 1;
    let is_last = *count == 0;
    if is_last {
        counts.remove(of);
    }
    is_last
}
