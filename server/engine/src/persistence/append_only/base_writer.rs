//! A base in the form of requests: each key as the request that restores it.

use crate::propagation::Annotation;
use lockwheel_resp::{number, write_request};
use lockwheel_store::keyspace::{AccessClock, Accesses, KeyWriter};
use lockwheel_store::rdb;
use lockwheel_store::values::Value;

/// The file of a rewrite without the format of saves.
#[derive(Debug, Default)]
pub(crate) struct RequestBase {
    bytes: Vec<u8>,
    selected: Option<usize>,
}

impl RequestBase {
    /// Begins a file with these annotations and libraries of functions.
    pub(crate) fn new<'l>(
        annotations: impl Iterator<Item = Annotation>,
        libraries: impl Iterator<Item = &'l [u8]>,
    ) -> Self {
        let mut bytes = Vec::new();
        annotations.for_each(|line| line.write(&mut bytes));
        libraries.for_each(|code| write_request(&[b"FUNCTION", b"LOAD", code], &mut bytes));
        RequestBase { bytes, selected: None }
    }
}

impl KeyWriter for RequestBase {
    fn database(&mut self, _: usize, _: usize, _: usize) {}

    fn key(
        &mut self,
        (db, key): (usize, &[u8]),
        deadline_ms: Option<i64>,
        _: (AccessClock, &Accesses),
        value: &Value,
    ) {
        if self.selected != Some(db) {
            write_request(&[b"SELECT", db.to_string().as_bytes()], &mut self.bytes);
            self.selected = Some(db);
        }
        let mut at = Vec::new();
        // In RESTORE, a deadline of 0 means none.
        number::write_i64(deadline_ms.map_or(0, |at_ms| at_ms.max(1)), &mut at);
        let payload = rdb::dump_for_file(value);
        write_request(&[b"RESTORE", key, &at, &payload, b"REPLACE", b"ABSTTL"], &mut self.bytes);
    }

    fn written(&self) -> usize {
        self.bytes.len()
    }

    fn finish(self: Box<Self>) -> Vec<u8> {
        self.bytes
    }
}
