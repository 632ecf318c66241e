//! Keys with their dumped values, for a comparison with those of another server.

use lockwheel_store::keyspace::Keyspace;
use lockwheel_store::rdb::{self, Writer};
use lockwheel_store::time::Now;
use lockwheel_store::values::Value;

/// A key: its database, its name, and its dumped value.
pub(crate) type DumpedKey = (usize, Vec<u8>, Vec<u8>);

/// The keys of a server at an instant.
pub(crate) struct KeyDumps<'e> {
    keyspace: &'e mut Keyspace,
    now: Now,
}

impl<'e> KeyDumps<'e> {
    /// Returns the keys of a keyspace at an instant.
    pub(crate) fn new(keyspace: &'e mut Keyspace, now: Now) -> Self {
        KeyDumps { keyspace, now }
    }

    /// Returns each key with its dumped value. O(all keys and values).
    pub(crate) fn all(&mut self) -> Vec<DumpedKey> {
        let mut all = Vec::new();
        for db in 0..self.keyspace.databases() {
            let tx = self.keyspace.tx(db, self.now);
            let mut cursor = 0;
            loop {
                let see = &mut |key: &[u8], value: &Value| all.push((db, key.to_vec(), dumped(value)));
                cursor = tx.scan(cursor, 1000, see);
                if cursor == 0 {
                    break;
                }
            }
        }
        all
    }

    /// Whether the keyspace has a key with this value.
    pub(crate) fn has(&mut self, (db, key, value): &DumpedKey) -> bool {
        self.keyspace.tx(*db, self.now).peek(key).is_some_and(|its| dumped(its) == *value)
    }
}

/// Whether the dumps of two values are equal.
pub(crate) fn have_same_dump(one: &Value, other: &Value) -> bool {
    dumped(one) == dumped(other)
}

/// Returns the dump of a value.
fn dumped(value: &Value) -> Vec<u8> {
    let mut writer = Writer::new();
    rdb::write_value(value, &mut writer);
    writer.written().to_vec()
}
