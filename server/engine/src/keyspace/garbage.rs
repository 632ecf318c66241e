//! Unreachable data that takes long to free.

use super::database::Database;
use crate::values::Value;

/// A value of more parts than this is freed later: a part takes some 50 ns to free.
const PARTS: usize = 4096;
/// So is a longer string: a page of memory takes about as long to give back as four parts to free.
const BYTES: usize = 4 << 20;

/// Flushed databases and large values of removed keys. Dropping it frees them, on any thread.
#[derive(Debug, Default)]
pub struct Garbage {
    databases: Vec<Database>,
    values: Vec<Value>,
}

impl Garbage {
    /// Whether there is nothing to free. O(1).
    pub fn is_empty(&self) -> bool {
        self.databases.is_empty() && self.values.is_empty()
    }

    /// How many keys and parts of values there are. O(databases and values).
    pub fn parts(&self) -> usize {
        let keys: usize = self.databases.iter().map(Database::len).sum();
        keys + self.values.iter().map(Value::parts).sum::<usize>()
    }

    /// Takes the value of a removed key, or frees it at once when that is quick.
    #[inline]
    pub(super) fn add(&mut self, value: Value) {
        if value.is_in_place() {
            return;
        }
        let late = match &value {
            Value::Str(text) => text.outside() > BYTES,
            collection => collection.parts() > PARTS,
        };
        if late {
            self.values.push(value);
        }
    }

    /// Takes the keys of a database.
    pub(super) fn add_database(&mut self, database: Database) {
        let parts = || database.entries(None).map(|entry| entry.value.parts()).sum::<usize>();
        if database.len() > PARTS || parts() > PARTS {
            self.databases.push(database);
        }
    }
}
