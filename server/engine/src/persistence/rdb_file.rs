//! The file of a save: metadata, libraries and keys.

use lockwheel_store::keyspace::{AccessClock, Accesses, KeyWriter, Measure};
use lockwheel_store::rdb::file::{Access, FileWriter};
use lockwheel_store::values::Value;

/// The options for writing a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FileRules {
    /// The kind of access data that the file keeps, if any.
    pub(crate) accesses: Option<Measure>,
    /// Whether strings are compressed.
    pub(crate) compresses: bool,
    /// Whether the file ends with a checksum.
    pub(crate) has_checksum: bool,
    /// Whether a server as old as Redis 7.0 must be able to read the file.
    pub(crate) for_7_0: bool,
}

/// A file that is being written.
#[derive(Debug)]
pub(crate) struct RdbFile {
    file: FileWriter,
    accesses: Option<Measure>,
}

impl RdbFile {
    /// Begins a file with this metadata and these libraries of functions.
    pub(crate) fn new<'l>(
        rules: FileRules,
        about: &[(&str, &[u8])],
        libraries: impl Iterator<Item = &'l [u8]>,
    ) -> Self {
        let begin = if rules.for_7_0 { FileWriter::for_7_0 } else { FileWriter::new };
        let mut file = begin(about, rules.has_checksum);
        if !rules.compresses {
            file.compress_nothing();
        }
        libraries.for_each(|library| file.library(library));
        RdbFile { file, accesses: rules.accesses }
    }
}

impl KeyWriter for RdbFile {
    fn database(&mut self, db: usize, keys: usize, with_deadline: usize) {
        self.file.database(db, keys, with_deadline);
    }

    fn key(
        &mut self,
        (db, key): (usize, &[u8]),
        deadline_ms: Option<i64>,
        (clock, accesses): (AccessClock, &Accesses),
        value: &Value,
    ) {
        let access = match self.accesses {
            None => Access::Unknown,
            Some(Measure::IdleTime) => Access::Idle(accesses.idle_seconds(clock).try_into().unwrap_or(0)),
            Some(Measure::Frequency) => Access::Frequency(accesses.frequency(clock)),
        };
        self.file.key(db, key, deadline_ms, access, value);
    }

    fn written(&self) -> usize {
        self.file.bytes_written()
    }

    fn finish(self: Box<Self>) -> Vec<u8> {
        self.file.finish()
    }
}
