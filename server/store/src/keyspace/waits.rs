//! The keys that are waited for under each label, which is the name of a waiter.

use super::db_key::DbKey;
use crate::memory::{block, tree_heap_bytes};
use std::collections::BTreeMap;

#[derive(Debug, Default)]
pub(super) struct WaitsByLabel {
    labels: BTreeMap<Box<[u8]>, BTreeMap<DbKey, u32>>,
    /// The number of keys under all labels, and the bytes of all names.
    keys: usize,
    name_bytes: usize,
}

impl WaitsByLabel {
    /// Adds a wait with this label for a key. O(log n).
    pub(super) fn add(&mut self, label: &[u8], db: usize, key: &[u8]) {
        let keys = self.labels.entry(label.into()).or_default();
        if keys.is_empty() {
            self.name_bytes += block(label.len());
        }
        let waits = keys.entry((db, key.into())).or_default();
        if *waits == 0 {
            self.keys += 1;
            self.name_bytes += block(key.len());
        }
        *waits += 1;
    }

    /// Removes a wait with this label for a key. O(log n).
    pub(super) fn remove(&mut self, label: &[u8], db: usize, key: &[u8]) {
        let Some(keys) = self.labels.get_mut(label) else { return };
        let place = (db, Box::from(key));
        let Some(waits) = keys.get_mut(&place) else { return };
        *waits -= 1;
        if *waits > 0 {
            return;
        }
        keys.remove(&place);
        self.keys -= 1;
        self.name_bytes -= block(key.len());
        if keys.is_empty() {
            self.labels.remove(label);
            self.name_bytes -= block(label.len());
        }
    }

    /// The keys that are waited for under a label, in order. O(log n), and its keys in other databases.
    pub(super) fn of(&self, db: usize, label: &[u8]) -> impl Iterator<Item = &[u8]> {
        let keys = self.labels.get(label).into_iter().flatten();
        keys.filter(move |((of, _), _)| *of == db).map(|((_, key), _)| &**key)
    }

    /// The labels of all waits, in order.
    pub(super) fn labels(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.labels.keys().map(|label| &**label)
    }

    /// Bytes of memory, with the nodes of the trees estimated. O(1).
    pub(super) fn memory(&self) -> usize {
        let labels = self.labels.len();
        tree_heap_bytes(usize::from(labels > 0), labels, size_of::<(Box<[u8]>, BTreeMap<DbKey, u32>)>())
            + tree_heap_bytes(labels, self.keys, size_of::<(DbKey, u32)>())
            + self.name_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_found_until_it_is_removed_as_often_as_added() {
        let mut waits = WaitsByLabel::default();
        for (label, db, key) in
            [(b"a", 0, b"x"), (b"a", 0, b"x"), (b"a", 0, b"y"), (b"a", 1, b"x"), (b"b", 0, b"x")]
        {
            waits.add(label, db, key);
        }
        let of = |waits: &WaitsByLabel, db, label: &[u8]| {
            waits.of(db, label).map(|key| String::from_utf8_lossy(key).into_owned()).collect::<Vec<_>>()
        };
        assert_eq!(of(&waits, 0, b"a"), ["x", "y"]);
        waits.remove(b"a", 0, b"x");
        assert_eq!(of(&waits, 0, b"a"), ["x", "y"]);
        for (label, db, key) in [(b"a", 0, b"x"), (b"a", 0, b"y"), (b"a", 1, b"x"), (b"c", 1, b"x")] {
            waits.remove(label, db, key);
        }
        assert_eq!((of(&waits, 0, b"a"), of(&waits, 0, b"b")), (Vec::new(), vec!["x".to_owned()]));
        waits.remove(b"b", 0, b"x");
        assert_eq!((waits.memory(), waits.labels().len()), (0, 0));
    }
}
