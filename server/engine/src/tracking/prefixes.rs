//! Broadcasts: the prefixes that clients listen to, and the changed keys with these prefixes.

use lockwheel_store::memory::{block, tree_heap_bytes};
use std::collections::{BTreeMap, BTreeSet};

/// The keys with one prefix that have changed since the last broadcast, each with the client that has changed it last.
pub(crate) type ChangedKeys = BTreeMap<Box<[u8]>, Option<u64>>;

/// The prefixes of all clients, in the order in which Redis sends the messages of several prefixes.
#[derive(Debug, Default)]
pub(super) struct Prefixes {
    listeners: BTreeMap<Box<[u8]>, BTreeSet<u64>>,
    /// The number of prefixes of each length. A key is looked up once for each length, not for each prefix.
    lengths: BTreeMap<usize, usize>,
    changed: BTreeMap<Box<[u8]>, ChangedKeys>,
    /// Bytes of the prefixes, and the number of pairs of a prefix and a listening client.
    bytes: usize,
    listens: usize,
}

impl Prefixes {
    pub(super) fn len(&self) -> usize {
        self.listeners.len()
    }

    /// Makes a client listen to a prefix. O(log n).
    pub(super) fn add(&mut self, prefix: &[u8], client: u64) {
        let clients = self.listeners.entry(prefix.into()).or_insert_with(|| {
            *self.lengths.entry(prefix.len()).or_default() += 1;
            self.bytes += block(prefix.len());
            BTreeSet::new()
        });
        self.listens += usize::from(clients.insert(client));
    }

    /// Stops a client's listening to a prefix, whose changed keys go with the last listener. O(log n).
    pub(super) fn remove(&mut self, prefix: &[u8], client: u64) {
        let Some(clients) = self.listeners.get_mut(prefix) else { return };
        self.listens -= usize::from(clients.remove(&client));
        if !clients.is_empty() {
            return;
        }
        self.listeners.remove(prefix);
        self.changed.remove(prefix);
        self.bytes -= block(prefix.len());
        if let Some(of_length) = self.lengths.get_mut(&prefix.len()) {
            *of_length -= 1;
            if *of_length == 0 {
                self.lengths.remove(&prefix.len());
            }
        }
    }

    /// Records a changed key. Returns whether it is the first since the last broadcast. O(different prefix lengths).
    pub(super) fn changed(&mut self, key: &[u8], by: Option<u64>) -> bool {
        let was_empty = self.changed.is_empty();
        for &length in self.lengths.range(..=key.len()).map(|(length, _)| length) {
            let prefix = &key[..length];
            if self.listeners.contains_key(prefix) {
                let keys = match self.changed.get_mut(prefix) {
                    Some(keys) => keys,
                    None => self.changed.entry(prefix.into()).or_default(),
                };
                keys.insert(key.into(), by);
            }
        }
        was_empty && !self.changed.is_empty()
    }

    /// Takes the changed keys of each prefix, with the clients that listen to the prefix.
    pub(super) fn take_changed(&mut self) -> Vec<(ChangedKeys, Vec<u64>)> {
        let listeners = &self.listeners;
        let of = |prefix: &[u8]| listeners.get(prefix).into_iter().flatten().copied().collect();
        std::mem::take(&mut self.changed).into_iter().map(|(prefix, keys)| (keys, of(&prefix))).collect()
    }

    /// Approximate bytes of memory, without the clients' own copies of their prefixes. O(1).
    pub(super) fn memory(&self) -> usize {
        let (prefixes, trees) = (self.listeners.len(), usize::from(!self.listeners.is_empty()));
        let entry_bytes = size_of::<(Box<[u8]>, BTreeSet<u64>)>();
        self.bytes
            + tree_heap_bytes(trees, prefixes, entry_bytes)
            + tree_heap_bytes(prefixes, self.listens, size_of::<u64>())
    }
}
