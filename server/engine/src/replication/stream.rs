//! The encoding of changes as requests for replicas.

use super::effect::ReplicationEffect;
use super::feed::{Structure, Unit, WORD_FRAME};
use super::state::Replication;
use crate::clients::Sessions;
use lockwheel_resp::{allocation, number, write_request};
use lockwheel_store::keyspace::Keyspace;
use lockwheel_store::memory::BufferBytes;
use lockwheel_store::rdb::{self, payload};
use lockwheel_store::time::Now;
use lockwheel_store::values::Value;

/// A writer of a part of the stream, for all effects of a command.
#[derive(Debug, Default)]
pub(crate) struct StreamWriter {
    bytes: Vec<u8>,
    /// The selected database of the stream.
    db: Option<usize>,
    /// Whether values are written without the forms that Redis 7.0 lacks.
    for_7_0: bool,
    /// Whether a value has a form that Redis 7.0 cannot read.
    has_newer_forms: bool,
}

impl StreamWriter {
    /// Creates a writer; `db` is the selected database of the stream, if known. `for_7_0`: replicas may be as old as
    /// Redis 7.0.
    pub(crate) fn new(db: Option<usize>, for_7_0: bool) -> Self {
        StreamWriter { bytes: Vec::new(), db, for_7_0, has_newer_forms: false }
    }

    /// Writes a request.
    pub(crate) fn request(&mut self, words: &[&[u8]]) {
        allocation::reserve(&mut self.bytes, words.iter().map(|word| word.len() + WORD_FRAME).sum());
        write_request(words, &mut self.bytes);
    }

    /// Appends a request that is already encoded.
    pub(crate) fn written(&mut self, request: &[u8]) {
        allocation::append(&mut self.bytes, request);
    }

    /// Writes a change of whole databases.
    pub(crate) fn structure(&mut self, structure: Structure) {
        match structure {
            Structure::AllFlushed => self.request(&[b"FLUSHALL"]),
            Structure::Flushed(db) => {
                self.select(db);
                self.request(&[b"FLUSHDB"]);
            }
            Structure::Swapped(one, other) => {
                let [one, other] = [one, other].map(|db| db.to_string());
                self.request(&[b"SWAPDB", one.as_bytes(), other.as_bytes()]);
            }
        }
    }

    /// Writes the value of a key, if there is one, with its deadline in wall-clock milliseconds. O(value).
    pub(crate) fn key(&mut self, (db, key): (usize, &[u8]), value: Option<(&Value, Option<i64>)>) {
        self.select(db);
        let Some((value, deadline_ms)) = value else { return self.request(&[b"DEL", key]) };
        let payload = match self.for_7_0 {
            true => rdb::dump_for_7_0(value),
            false => rdb::dump_for_any(value),
        };
        self.has_newer_forms |= is_newer(&payload);
        let mut at = Vec::new();
        // In RESTORE, a deadline of 0 means none.
        number::write_i64(deadline_ms.map_or(0, |at_ms| at_ms.max(1)), &mut at);
        self.request(&[b"RESTORE", key, &at, &payload, b"REPLACE", b"ABSTTL"]);
    }

    fn select(&mut self, db: usize) {
        if self.db != Some(db) {
            self.db = Some(db);
            self.request(&[b"SELECT", db.to_string().as_bytes()]);
        }
    }
}

impl Replication {
    /// Encodes a unit of changes as requests for replicas. Unwinds if there is no memory for them.
    pub(crate) fn write_unit(&self, unit: &Unit, keyspace: &mut Keyspace, now: Now) -> StreamWriter {
        let mut writer = StreamWriter::new(self.selected, self.for_7_0);
        let is_several = unit.structure.len() + unit.keys.len() + unit.requests.len() > 1;
        if is_several {
            writer.request(&[b"MULTI"]);
        }
        unit.structure.iter().for_each(|structure| writer.structure(*structure));
        for (db, key) in &unit.keys {
            let tx = keyspace.tx(*db, now);
            let value = tx.peek(key).map(|value| (value, tx.deadline(key)));
            writer.key((*db, key), value);
        }
        unit.requests.iter().for_each(|request| writer.written(request));
        if is_several {
            writer.request(&[b"EXEC"]);
        }
        writer
    }

    /// Appends the encoded requests of a unit to the stream and sends them.
    pub(crate) fn send_unit(
        &mut self,
        unit: &Unit,
        writer: StreamWriter,
        sessions: &mut Sessions,
        account: &BufferBytes,
    ) -> Vec<ReplicationEffect> {
        let StreamWriter { bytes, db, has_newer_forms, .. } = writer;
        self.selected = db;
        let effects = self.send_changes((&bytes, has_newer_forms), sessions, account);
        unit.by.iter().for_each(|session| _ = self.written.insert(*session, self.offset));
        effects
    }

    /// Appends these bytes to the stream. They change the data, perhaps in forms that Redis 7.0 cannot read.
    pub(crate) fn send_changes(
        &mut self,
        (bytes, has_newer_forms): (&[u8], bool),
        sessions: &mut Sessions,
        account: &BufferBytes,
    ) -> Vec<ReplicationEffect> {
        let effects = self.send(bytes, sessions, account);
        self.changed_at = self.offset;
        if has_newer_forms {
            self.note_newer_forms();
        }
        effects
    }
}

/// Whether a payload has a form that Redis 7.0 cannot read.
fn is_newer(payload: &[u8]) -> bool {
    payload::version(payload).is_some_and(|version| version > payload::VERSION_7_0)
}

/// Whether a request of a stream has a form that Redis 7.0 cannot read.
pub(crate) fn is_newer_request(words: &[Vec<u8>]) -> bool {
    matches!(words, [name, _, _, payload, ..] if name.eq_ignore_ascii_case(b"restore") && is_newer(payload))
}
