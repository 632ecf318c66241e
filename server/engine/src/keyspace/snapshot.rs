//! What databases held at an instant, to go back to.

use super::actor::Actor;
use super::keyspace::Keyspace;
use crate::time::Now;
use crate::values::Value;
use std::collections::BTreeMap;

/// A key's value and deadline.
type Kept = (Value, Option<i64>);

/// Keys with their values and deadlines, of all databases.
#[derive(Debug)]
pub struct Snapshot {
    databases: Vec<BTreeMap<Box<[u8]>, Kept>>,
    /// The keys that it is of; all without one.
    pattern: Option<Box<[u8]>>,
    memory: usize,
}

impl Snapshot {
    /// The pattern of its keys; without one they are all.
    pub fn pattern(&self) -> Option<&[u8]> {
        self.pattern.as_deref()
    }

    /// Bytes of memory that it takes. O(1).
    pub fn memory(&self) -> usize {
        self.memory
    }
}

impl Keyspace {
    /// What all databases hold of the keys that are wanted. O(keys and their values).
    pub fn snapshot(
        &mut self,
        now: Now,
        pattern: Option<Box<[u8]>>,
        wanted: impl Fn(&[u8]) -> bool,
    ) -> Snapshot {
        let mut memory = 0;
        let mut tx = self.tx(0, now);
        let mut databases = Vec::with_capacity(tx.databases());
        for db in 0..tx.databases() {
            tx.select(db);
            let kept = |(key, value): (&[u8], &Value)| {
                memory += key.len() + size_of::<Kept>() + value.heap_bytes();
                (Box::from(key), (value.clone(), tx.deadline(key)))
            };
            databases.push(tx.iter().filter(|(key, _)| wanted(key)).map(kept).collect());
        }
        Snapshot { databases, pattern, memory }
    }

    /// Makes the keys that are wanted what they were, as this actor: what has come since is deleted, what has gone or
    /// changed is restored. Keys that are as they were, as far as `is_same` sees, stay untouched. O(keys and their
    /// values).
    pub fn go_back_to(
        &mut self,
        snapshot: &Snapshot,
        wanted: impl Fn(&[u8]) -> bool,
        is_same: impl Fn(&Value, &Value) -> bool,
        actor: &Actor<'_>,
        now: Now,
    ) {
        let mut tx = self.tx_by(actor, 0, now);
        for (db, kept) in snapshot.databases.iter().enumerate() {
            tx.select(db);
            let mut new: Vec<Box<[u8]>> = tx.iter().map(|(key, _)| Box::from(key)).collect();
            new.retain(|key| wanted(key) && !kept.contains_key(key));
            new.sort();
            for key in &new {
                tx.delete(key);
            }
            for (key, (value, deadline)) in kept {
                let is_as_it_was = tx.deadline(key) == *deadline
                    && tx.peek(key).is_some_and(|present| is_same(present, value));
                if !is_as_it_was {
                    tx.restore(key, value.clone(), *deadline);
                }
            }
        }
    }
}
