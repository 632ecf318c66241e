//! The keys that the running command has changed.

use lockwheel_resp::allocation;
use std::collections::BTreeSet;
use std::ops::Range;

/// A change that the running command has made, without its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Touch {
    /// A key of a database has changed. The range is that of its name.
    Key(usize, Range<usize>),
    /// All keys of a database are gone.
    Flushed(usize),
    /// All keys of all databases are gone.
    AllFlushed,
    /// The keys of two databases have been exchanged.
    Swapped(usize, usize),
}

/// The changes that the running command has made, in order.
#[derive(Debug, Default)]
pub(super) struct Touched {
    /// The names of the keys, one after the other.
    names: Vec<u8>,
    changes: Vec<Touch>,
}

impl Touched {
    /// Whether there is no change.
    pub(super) fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Adds a change of a key, unless it is the key of the change before. Returns false if there is no memory.
    pub(super) fn add_key(&mut self, db: usize, key: &[u8]) -> bool {
        if let Some(Touch::Key(last, name)) = self.changes.last()
            && *last == db
            && self.names[name.clone()] == *key
        {
            return true;
        }
        if allocation::try_reserve(&mut self.names, key.len()).is_err() {
            return false;
        }
        let from = self.names.len();
        self.names.extend_from_slice(key);
        self.add(Touch::Key(db, from..self.names.len()))
    }

    /// Whether no key but this one has changed.
    pub(super) fn is_only_of(&self, db: usize, key: &[u8]) -> bool {
        match self.changes.as_slice() {
            [] => true,
            [Touch::Key(of, name)] => *of == db && self.names[name.clone()] == *key,
            _ => false,
        }
    }

    /// Moves all changes of another list behind those of this one. Returns false if there is no memory.
    pub(super) fn append(&mut self, other: &mut Touched) -> bool {
        let has_room = other.changes.iter().all(|change| match change {
            Touch::Key(db, name) => self.add_key(*db, &other.names[name.clone()]),
            structure => self.add(structure.clone()),
        });
        other.clear();
        has_room
    }

    /// Forgets the last change if it is of this key.
    pub(super) fn forget_last(&mut self, db: usize, key: &[u8]) {
        if let Some(Touch::Key(last, name)) = self.changes.last()
            && *last == db
            && self.names[name.clone()] == *key
        {
            self.names.truncate(name.start);
            self.changes.pop();
        }
    }

    /// Adds a change of whole databases. Returns false if there is no memory.
    pub(super) fn add(&mut self, change: Touch) -> bool {
        let has_room = allocation::try_reserve(&mut self.changes, 1).is_ok();
        if has_room {
            self.changes.push(change);
        }
        has_room
    }

    /// Forgets all changes, and keeps the memory for the next ones.
    pub(super) fn clear(&mut self) {
        const MAX_KEPT: usize = 4096;
        if self.names.capacity() > MAX_KEPT || self.changes.len() > MAX_KEPT {
            *self = Touched::default();
        }
        self.names.clear();
        self.changes.clear();
    }

    /// Returns the changes of whole databases, in order, then the keys that have changed since, each once and in the
    /// database that holds at the end. O(n log n), and O(n) for each change of whole databases.
    pub(super) fn distinct(&self) -> (Vec<Touch>, Vec<(usize, &[u8])>) {
        let (mut structure, mut keys) = (Vec::new(), Vec::<(usize, &[u8])>::new());
        for change in &self.changes {
            match change {
                Touch::Key(db, name) => {
                    keys.push((*db, &self.names[name.clone()]));
                    continue;
                }
                Touch::Flushed(db) => keys.retain(|(of, _)| of != db),
                Touch::AllFlushed => keys.clear(),
                Touch::Swapped(one, other) => keys.iter_mut().for_each(|(db, _)| swap(db, *one, *other)),
            }
            structure.push(change.clone());
        }
        if keys.len() > 1 {
            let mut seen = BTreeSet::new();
            keys.retain(|key| seen.insert(*key));
        }
        (structure, keys)
    }
}

/// Exchanges a number of one of two databases for the other.
fn swap(db: &mut usize, one: usize, other: usize) {
    *db = match *db {
        db if db == one => other,
        db if db == other => one,
        db => db,
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touched(keys: &[(usize, &[u8])]) -> Touched {
        let mut touched = Touched::default();
        assert!(keys.iter().all(|(db, key)| touched.add_key(*db, key)));
        touched
    }

    #[test]
    fn each_touched_key_occurs_once_in_its_last_database() {
        let mut all = touched(&[(0, b"a"), (0, b"b"), (0, b"b"), (0, b"a"), (1, b"a")]);
        assert_eq!(all.distinct(), (vec![], vec![(0, &b"a"[..]), (0, b"b"), (1, b"a")]));
        assert!(all.add(Touch::Swapped(0, 1)) && all.add_key(0, b"b"));
        let swapped = vec![Touch::Swapped(0, 1)];
        let keys: Vec<(usize, &[u8])> = vec![(1, b"a"), (1, b"b"), (0, b"a"), (0, b"b")];
        assert_eq!(all.distinct(), (swapped, keys));
        assert!(all.add(Touch::Flushed(1)) && all.add_key(1, b"c"));
        assert_eq!(all.distinct().1, [(0, &b"a"[..]), (0, b"b"), (1, b"c")]);
        assert!(all.add(Touch::AllFlushed));
        assert_eq!(all.distinct().1, []);
        all.clear();
        assert!(all.is_empty());
    }
}
