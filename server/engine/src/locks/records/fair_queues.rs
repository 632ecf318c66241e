//! The queues of Redisson's fair locks, as the history follows them: the owners that join and leave each queue.

use lockwheel_store::keyspace::DbKey;
use lockwheel_store::memory::{block, tree_heap_bytes};
use std::collections::{BTreeMap, VecDeque};

pub(super) type Owner = Box<[u8]>;

/// The queues as they were when they last changed, by the keys of their lists.
#[derive(Debug, Default)]
pub(super) struct FairQueues {
    by_key: BTreeMap<DbKey, VecDeque<Owner>>,
    /// Bytes of the names of owners.
    names: usize,
    /// The number of owners that wait.
    owners: usize,
}

impl FairQueues {
    /// Returns the bytes of all queues, approximately. O(1).
    pub(super) fn memory(&self) -> usize {
        let entry_bytes = size_of::<(DbKey, VecDeque<Owner>)>();
        let trees = tree_heap_bytes(usize::from(!self.by_key.is_empty()), self.by_key.len(), entry_bytes);
        trees + self.names + self.owners * size_of::<Owner>()
    }

    pub(super) fn swap(&mut self, one: usize, other: usize) {
        for ((db, key), queue) in std::mem::take(&mut self.by_key) {
            let db = match db {
                db if db == one => other,
                db if db == other => one,
                db => db,
            };
            self.by_key.insert((db, key), queue);
        }
    }

    /// Returns the queues of a database, by the keys of their lists and in the order of these keys. O(queues).
    pub(super) fn of_database(&self, db: usize) -> Vec<(Box<[u8]>, VecDeque<Owner>)> {
        let from = self.by_key.range((db, Box::default())..).take_while(|((of, _), _)| *of == db);
        from.map(|((_, key), queue)| (key.clone(), queue.clone())).collect()
    }

    /// Removes and returns the queue of a list; empty if there was none.
    pub(super) fn take(&mut self, db: usize, key: &[u8]) -> VecDeque<Owner> {
        let place: DbKey = (db, key.into());
        let queue = self.by_key.remove(&place).unwrap_or_default();
        self.owners -= queue.len();
        self.names -= queue.iter().map(|owner| block(owner.len())).sum::<usize>();
        queue
    }

    /// Adds the queue of a list, unless the queue is empty.
    pub(super) fn put(&mut self, db: usize, key: &[u8], queue: VecDeque<Owner>) {
        if !queue.is_empty() {
            self.owners += queue.len();
            self.names += queue.iter().map(|owner| block(owner.len())).sum::<usize>();
            self.by_key.insert((db, key.into()), queue);
        }
    }
}

/// Returns the owners that have left a queue and those that have joined it; a changed place is both. O(n).
pub(super) fn difference(before: &VecDeque<Owner>, after: &VecDeque<Owner>) -> (Vec<Owner>, Vec<Owner>) {
    let (mut left, mut kept) = (Vec::new(), 0);
    for owner in before {
        if after.get(kept) == Some(owner) {
            kept += 1;
        } else {
            left.push(owner.clone());
        }
    }
    (left, after.iter().skip(kept).cloned().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_that_left_or_joined_a_fair_queue_are_found() {
        let queue =
            |names: &str| -> VecDeque<Owner> { names.bytes().map(|name| Owner::from([name])).collect() };
        for (before, after, left, joined) in [
            ("", "a", "", "a"),
            ("abc", "bc", "a", ""),
            ("abc", "ac", "b", ""),
            ("abc", "abcd", "", "d"),
            ("abc", "bcd", "a", "d"),
            ("ab", "", "ab", ""),
        ] {
            let text = |names: Vec<Owner>| String::from_utf8(names.concat()).unwrap();
            let (gone, new) = difference(&queue(before), &queue(after));
            assert_eq!((text(gone).as_str(), text(new).as_str()), (left, joined), "{before} {after}");
        }
    }
}
