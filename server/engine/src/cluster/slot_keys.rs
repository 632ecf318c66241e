//! An index of the keys in each slot, kept up to date by key changes.

use super::slot::{SLOTS, slot_of};
use lockwheel_store::keyspace::{Change, Context, Interests, Keyspace, Subscriber, What};
use lockwheel_store::memory::block;
use lockwheel_store::time::Now;
use std::collections::BTreeSet;

/// The number of slots in a page. A node without keys has only one pointer for each page.
const PAGE: usize = 64;

/// The maximum number of keys that one step scans.
const PIECE: usize = 1000;

type Keys = BTreeSet<Box<[u8]>>;

static NONE: Keys = BTreeSet::new();

#[derive(Debug)]
pub(crate) struct SlotKeys {
    /// The pages of slots, in order. A page in which there has never been a key is not allocated.
    pages: Box<[Option<Box<[Keys; PAGE]>>]>,
    /// Heap bytes of the key names.
    names: usize,
    keys: usize,
}

impl SlotKeys {
    pub(crate) fn new() -> Self {
        let pages = (0..usize::from(SLOTS).div_ceil(PAGE)).map(|_| None).collect();
        SlotKeys { pages, names: 0, keys: 0 }
    }

    /// Indexes the keys of a keyspace by slot, and keeps the index up to date. O(keys).
    pub(crate) fn index(keyspace: &mut Keyspace, now: Now) {
        let mut keys = SlotKeys::new();
        let tx = keyspace.tx(0, now);
        let mut cursor = 0;
        loop {
            cursor = tx.scan(cursor, PIECE, &mut |key, _| keys.add(key));
            if cursor == 0 {
                break;
            }
        }
        keyspace.subscribe(Box::new(keys));
    }

    /// Returns the index of a keyspace, if it has one.
    pub(crate) fn in_keyspace(keyspace: &Keyspace) -> Option<&SlotKeys> {
        keyspace.subscriber()
    }

    /// Deletes the keys of slots that belong to another node. O(keys).
    pub(crate) fn delete(keyspace: &mut Keyspace, slots: &[u16], now: Now) {
        let Some(index) = Self::in_keyspace(keyspace) else { return };
        let keys = slots.iter().flat_map(|slot| index.of(*slot)).map(|key| key.to_vec());
        let keys: Vec<Vec<u8>> = keys.collect();
        let mut tx = keyspace.tx(0, now);
        for key in keys {
            tx.delete(&key);
        }
    }

    pub(crate) fn of(&self, slot: u16) -> &Keys {
        let (page, place) = place_of(slot);
        self.pages[page].as_ref().map_or(&NONE, |page| &page[place])
    }

    /// Adds a key. O(log keys of its slot).
    pub(crate) fn add(&mut self, key: &[u8]) {
        self.note(key, true);
    }

    /// Records whether a key exists. O(log keys of its slot).
    fn note(&mut self, key: &[u8], is_there: bool) {
        let (page, place) = place_of(slot_of(key));
        let page = &mut self.pages[page];
        if is_there {
            let slot = &mut page.get_or_insert_with(|| Box::new([const { BTreeSet::new() }; PAGE]))[place];
            if !slot.contains(key) {
                slot.insert(key.into());
                self.names += block(key.len());
                self.keys += 1;
            }
        } else if page.as_mut().is_some_and(|page| page[place].remove(key)) {
            self.names -= block(key.len());
            self.keys -= 1;
        }
    }

    fn clear(&mut self) {
        *self = SlotKeys::new();
    }
}

/// Returns the page of a slot, and the position within the page.
fn place_of(slot: u16) -> (usize, usize) {
    (usize::from(slot) / PAGE, usize::from(slot) % PAGE)
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
        /// Approximate bytes of a name in a set: its entry, and its share of the set's unused entries.
        const PLACE: usize = 24;
        let pages = self.pages.iter().flatten().count() * block(size_of::<[Keys; PAGE]>());
        block(size_of_val(&*self.pages)) + pages + self.names + self.keys * PLACE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_slots_with_keys_take_memory() {
        let mut keys = SlotKeys::new();
        let empty = keys.memory();
        assert!(empty < 8 << 10, "{empty}");
        let slot = slot_of(b"foo");
        keys.note(b"foo", false);
        assert_eq!((keys.of(slot).len(), keys.memory()), (0, empty));
        ["foo", "{foo}2", "{foo}2", "bar"].iter().for_each(|key| keys.add(key.as_bytes()));
        assert!(keys.of(slot).iter().map(|key| &**key).eq([&b"foo"[..], b"{foo}2"]));
        assert_eq!((keys.keys, keys.of(slot ^ 1).len(), keys.of(0).len()), (3, 0, 0));
        assert!(keys.memory() > empty + 2 * PAGE * size_of::<Keys>(), "{}", keys.memory());
        keys.note(b"foo", false);
        assert_eq!((keys.keys, keys.of(slot).len()), (2, 1));
        keys.clear();
        assert_eq!((keys.keys, keys.of(slot).len(), keys.memory()), (0, 0, empty));
    }
}
