//! The values of changed keys, as requests.

use super::annotation::Annotation;
use super::touched::Touch;
use super::unit::{Receivers, Unit};
use lockwheel_resp::{allocation, number};
use lockwheel_store::keyspace::Keyspace;
use lockwheel_store::rdb::{self, payload};
use lockwheel_store::time::Now;
use lockwheel_store::values::Value;

/// The commands for deadlines of fields, which Redis 7.0 lacks.
const OF_FIELDS: [&[u8]; 2] = [b"HPEXPIREAT", b"HPERSIST"];

/// Whether a payload has a form that Redis 7.0 cannot read.
fn is_newer(payload: &[u8]) -> bool {
    payload::version(payload).is_some_and(|version| version > payload::VERSION_7_0)
}

/// Whether a command is for deadlines of fields, which Redis 7.0 lacks.
pub(super) fn is_of_fields(name: &[u8]) -> bool {
    OF_FIELDS.iter().any(|of_fields| name.eq_ignore_ascii_case(of_fields))
}

/// Whether a request of a stream has a form that Redis 7.0 cannot read.
pub(crate) fn is_newer_request(words: &[Vec<u8>]) -> bool {
    is_newer_words(&words.iter().map(Vec::as_slice).collect::<Vec<_>>())
}

fn is_restore(name: &[u8]) -> bool {
    [&b"RESTORE"[..], b"RESTORE-ASKING"].iter().any(|restore| name.eq_ignore_ascii_case(restore))
}

/// Whether a request has a form that Redis 7.0 cannot read.
pub(super) fn is_newer_words(words: &[&[u8]]) -> bool {
    match words {
        [name, _, _, payload, ..] if is_restore(name) => is_newer(payload),
        [name, ..] => is_of_fields(name) || Annotation::is_request(name),
        [] => false,
    }
}

impl Unit {
    /// Adds a change of whole databases.
    pub(super) fn add_structure(&mut self, change: &Touch, receivers: Receivers) {
        match change {
            Touch::Key(..) => {}
            Touch::AllFlushed => self.add(0, &[b"FLUSHALL"], receivers),
            Touch::Flushed(db) => self.add(*db, &[b"FLUSHDB"], receivers),
            Touch::Swapped(one, other) => {
                let [first, second] = [one, other].map(|db| db.to_string());
                self.add(*one, &[b"SWAPDB", first.as_bytes(), second.as_bytes()], receivers);
            }
        }
    }

    /// Adds the present value of a key, with its deadline. `for_7_0`: replicas get a form that Redis 7.0 can read.
    /// O(value).
    pub(super) fn add_value(
        &mut self,
        keyspace: &mut Keyspace,
        (db, key): (usize, &[u8]),
        (now, for_7_0): (Now, bool),
        receivers: Receivers,
    ) {
        let tx = keyspace.tx(db, now);
        let Some(value) = tx.peek(key) else { return self.add(db, &[b"DEL", key], receivers) };
        let dumped = allocation::contain(|| {
            let for_file = receivers.file.then(|| rdb::dump_for_file(value));
            let for_replicas = receivers.replicas.then(|| payload_of(value, for_7_0));
            (for_file, for_replicas)
        });
        let Ok((for_file, for_replicas)) = dumped else { return self.lose() };
        if for_replicas.as_deref().is_some_and(is_newer) {
            self.note_newer_form();
        }
        let mut at = Vec::new();
        // In RESTORE, a deadline of 0 means none.
        number::write_i64(tx.deadline(key).map_or(0, |at_ms| at_ms.max(1)), &mut at);
        let parts = match (for_file, for_replicas) {
            (Some(payload), same) if same.as_ref().is_none_or(|same| *same == payload) => {
                [Some((payload, receivers)), None]
            }
            (for_file, for_replicas) => [
                for_file.map(|payload| (payload, Receivers::FILE)),
                for_replicas.map(|payload| (payload, Receivers::REPLICAS)),
            ],
        };
        for (payload, receivers) in parts.into_iter().flatten() {
            self.add(db, &[b"RESTORE", key, &at, &payload, b"REPLACE", b"ABSTTL"], receivers);
        }
    }
}

fn payload_of(value: &Value, for_7_0: bool) -> Vec<u8> {
    if for_7_0 { rdb::dump_for_7_0(value) } else { rdb::dump_for_any(value) }
}
