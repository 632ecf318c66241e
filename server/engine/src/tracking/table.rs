//! The table of the keys that clients have read.

use foldhash::quality::FixedState;
use hashbrown::HashTable;
use lockwheel_resp::allocation;
use lockwheel_store::keyspace::Rng;
use lockwheel_store::memory::{block, shrink_table, vec_heap_bytes};
use std::hash::BuildHasher;

/// A key, and the clients that have read it.
#[derive(Debug)]
struct TrackedKey {
    name: Box<[u8]>,
    /// The numbers of the clients, in ascending order. Some clients may be gone.
    clients: Vec<u64>,
}

impl TrackedKey {
    fn memory(&self) -> usize {
        block(self.name.len()) + vec_heap_bytes(&self.clients)
    }
}

/// The keys that clients have read since the last change of each key.
#[derive(Debug)]
pub(super) struct TrackingTable {
    keys: Vec<TrackedKey>,
    /// Indices into `keys`.
    by_name: HashTable<u32>,
    hasher: FixedState,
    /// The number of pairs of a key and a client that has read it.
    items: usize,
    /// Bytes of names and clients.
    bytes: usize,
}

impl TrackingTable {
    /// An empty table. The seed drives the hash function.
    pub(super) fn new(seed: u64) -> Self {
        let hasher = FixedState::with_seed(seed);
        TrackingTable { keys: Vec::new(), by_name: HashTable::new(), hasher, items: 0, bytes: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    /// The number of pairs of a key and a client that has read it, including clients that are gone.
    pub(super) fn items(&self) -> usize {
        self.items
    }

    /// Bytes of the names and the clients of all keys. O(1).
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Records that a client has read a key. Before its list grows, clients that are not `alive` are dropped, to bound
    /// it by the living. O(clients of the key) if the client is new to the key, else O(log n).
    pub(super) fn remember(&mut self, name: &[u8], client: u64, alive: impl Fn(u64) -> bool) {
        let index = self.find_or_add(name);
        let key = &mut self.keys[index];
        let Err(_) = key.clients.binary_search(&client) else { return };
        let (items, bytes) = (key.clients.len(), key.memory());
        if items == key.clients.capacity() {
            key.clients.retain(|&id| alive(id));
            let room = key.clients.len() * 2;
            allocation::shrink_to(&mut key.clients, room);
        }
        let at = key.clients.partition_point(|&id| id < client);
        key.clients.insert(at, client);
        self.items = self.items + key.clients.len() - items;
        self.bytes = self.bytes + key.memory() - bytes;
    }

    fn find_or_add(&mut self, name: &[u8]) -> usize {
        let hash = self.hasher.hash_one(name);
        let TrackingTable { keys, by_name, hasher, .. } = self;
        if let Some(&index) = by_name.find(hash, |&index| *keys[index as usize].name == *name) {
            return index as usize;
        }
        let index = keys.len();
        keys.push(TrackedKey { name: name.into(), clients: Vec::new() });
        self.bytes += keys[index].memory();
        by_name.insert_unique(hash, index as u32, |&index| hasher.hash_one(&*keys[index as usize].name));
        index
    }

    /// Removes a key. Returns the clients that have read it. O(1).
    pub(super) fn forget(&mut self, name: &[u8]) -> Option<Vec<u64>> {
        let hash = self.hasher.hash_one(name);
        let TrackingTable { keys, by_name, .. } = self;
        let entry = by_name.find_entry(hash, |&index| *keys[index as usize].name == *name).ok()?;
        let index = *entry.get();
        entry.remove();
        Some(self.take(index as usize).clients)
    }

    /// Removes a random key. Returns it with the clients that have read it. O(1).
    pub(super) fn forget_random(&mut self, rng: &mut Rng) -> Option<(Box<[u8]>, Vec<u64>)> {
        let index = rng.below(self.keys.len().max(1) as u64) as usize;
        let hash = self.hasher.hash_one(&*self.keys.get(index)?.name);
        if let Ok(entry) = self.by_name.find_entry(hash, |&at| at as usize == index) {
            entry.remove();
        }
        let TrackedKey { name, clients } = self.take(index);
        Some((name, clients))
    }

    /// Removes a key from the list, after its removal from `by_name`. The last key takes its place.
    fn take(&mut self, index: usize) -> TrackedKey {
        let TrackingTable { keys, by_name, hasher, .. } = &mut *self;
        let last = keys.len() - 1;
        if index != last {
            let hash = hasher.hash_one(&*keys[last].name);
            if let Some(moved) = by_name.find_mut(hash, |&at| at as usize == last) {
                *moved = index as u32;
            }
        }
        let key = keys.swap_remove(index);
        self.items -= key.clients.len();
        self.bytes -= key.memory();
        self.give_back();
        key
    }

    /// Gives memory back when most of it is free. O(1) amortised.
    fn give_back(&mut self) {
        let TrackingTable { keys, by_name, hasher, .. } = self;
        if keys.capacity() > 64 && keys.len() < keys.capacity() / 4 {
            let room = keys.len() * 2;
            allocation::shrink_to(keys, room);
            shrink_table(by_name, room, |&index| hasher.hash_one(&*keys[index as usize].name));
        }
    }

    pub(super) fn clear(&mut self) {
        *self = TrackingTable { hasher: self.hasher.clone(), ..TrackingTable::new(0) };
    }

    /// Bytes of memory. O(1).
    pub(super) fn memory(&self) -> usize {
        self.bytes + vec_heap_bytes(&self.keys) + self.by_name.allocation_size()
    }
}
