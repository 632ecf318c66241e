//! Which keys are in which slot: kept up to date by the changes of keys.

use super::slot::{SLOTS, slot_of};
use crate::keyspace::{Change, Context, Interests, Subscriber, What};
use crate::memory::block;
use std::collections::BTreeSet;

/// The keys of each slot, in order.
#[derive(Debug)]
pub(crate) struct SlotKeys {
    slots: Box<[BTreeSet<Box<[u8]>>]>,
    /// Bytes of memory of the names.
    names: usize,
    keys: usize,
}

impl SlotKeys {
    /// No keys.
    pub(crate) fn new() -> Self {
        let slots = (0..SLOTS).map(|_| BTreeSet::new()).collect();
        SlotKeys { slots, names: 0, keys: 0 }
    }

    /// The keys of a slot, in order.
    pub(crate) fn of(&self, slot: u16) -> &BTreeSet<Box<[u8]>> {
        &self.slots[usize::from(slot)]
    }

    /// A key is there. O(log keys of its slot).
    pub(crate) fn add(&mut self, key: &[u8]) {
        self.note(key, true);
    }

    /// A key is there, or is not. O(log keys of its slot).
    fn note(&mut self, key: &[u8], is_there: bool) {
        let slot = &mut self.slots[usize::from(slot_of(key))];
        if is_there {
            if !slot.contains(key) {
                slot.insert(key.into());
                self.names += block(key.len());
                self.keys += 1;
            }
        } else if slot.remove(key) {
            self.names -= block(key.len());
            self.keys -= 1;
        }
    }

    fn clear(&mut self) {
        *self = SlotKeys::new();
    }
}

impl Subscriber for SlotKeys {
    fn interests(&self) -> Interests {
        Interests::EVERY_CHANGE
    }

    fn changed(&mut self, change: &Change<'_>, context: &mut Context<'_>) {
        // A node of a cluster has one database.
        match change.what {
            _ if change.db != 0 => {}
            What::Changed { .. } => self.note(change.key, context.entry(change.key).is_some()),
            What::Flushed(_) => self.clear(),
            _ => {}
        }
    }

    fn memory(&self) -> usize {
        /// Bytes that a name takes in a set, about: its place, and its share of the set's free ones.
        const PLACE: usize = 24;
        block(self.slots.len() * size_of::<BTreeSet<Box<[u8]>>>()) + self.names + self.keys * PLACE
    }
}
