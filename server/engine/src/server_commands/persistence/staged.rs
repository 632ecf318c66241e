//! The parsed contents of a file, complete before any of them is applied.

use crate::persistence::{LAST_GRANT, Loaded};
use foldhash::fast::FixedState;
use hashbrown::HashSet;
use lockwheel_store::keyspace::{AccessClock, Accesses, Measure};
use lockwheel_store::rdb::file::{Access, FileError, FileReader, Part};
use lockwheel_store::values::{Encodings, Value};
use std::borrow::Cow;

#[derive(Debug)]
pub(super) struct StagedKey<'f> {
    pub(super) db: usize,
    pub(super) key: Cow<'f, [u8]>,
    pub(super) value: Value,
    pub(super) deadline_ms: Option<i64>,
    pub(super) access: Access,
}

impl StagedKey<'_> {
    /// Returns the access clock of the key, if the file has the measure that is in use.
    pub(super) fn access_clock(&self, accesses: &Accesses) -> Option<AccessClock> {
        match (self.access, accesses.measure()) {
            (Access::Idle(seconds), Measure::IdleTime) => {
                Some(accesses.clock_of_idle(seconds.try_into().unwrap_or(i64::MAX)))
            }
            (Access::Frequency(frequency), Measure::Frequency) => {
                Some(accesses.clock_of_frequency(frequency))
            }
            _ => None,
        }
    }
}

/// The contents of a file.
#[derive(Debug, Default)]
pub(super) struct Staged<'f> {
    pub(super) libraries: Vec<Cow<'f, [u8]>>,
    pub(super) keys: Vec<StagedKey<'f>>,
    pub(super) loaded: Loaded,
    /// The database in which a stream continues after a master's snapshot.
    pub(super) selected: Option<usize>,
    /// A number that no grant of a lock has exceeded.
    pub(super) last_grant: Option<u64>,
}

/// The parameters for reading a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading<'e> {
    pub(super) encodings: &'e Encodings,
    pub(super) databases: usize,
    /// The current time, in wall-clock milliseconds.
    pub(super) now_ms: i64,
    /// Whether a key may occur more than once; the last occurrence counts.
    pub(super) may_repeat: bool,
}

impl<'f> Staged<'f> {
    /// Reads a file, without expired keys. O(bytes).
    pub(super) fn read(file: &'f [u8], reading: Reading<'_>) -> Result<Self, FileError> {
        let mut staged = Staged::default();
        let mut reader = FileReader::new(file)?;
        while let Some(part) = reader.next(reading.encodings)? {
            match part {
                Part::About(name, value) => {
                    let text = std::str::from_utf8(&value);
                    if &*name == b"repl-stream-db" {
                        staged.selected = text.ok().and_then(|text| text.parse().ok());
                    } else if &*name == LAST_GRANT.as_bytes() {
                        staged.last_grant = text.ok().and_then(|text| text.parse().ok());
                    }
                    log_header(&name, &value, reading.now_ms);
                }
                Part::Library(text) => staged.libraries.push(text),
                Part::Key { db, .. } if db >= reading.databases => {
                    return Err(too_many_databases(&reader, reading.databases));
                }
                Part::Key { deadline_ms: Some(deadline_ms), .. } if deadline_ms < reading.now_ms => {
                    staged.loaded.expired += 1;
                }
                Part::Key { db, key, value, deadline_ms, access } => {
                    staged.keys.push(StagedKey { db, key, value, deadline_ms, access });
                }
            }
        }
        staged.loaded.keys = staged.keys.len() as u64;
        match staged.repeated(reading.encodings.seed) {
            Some((db, key)) if !reading.may_repeat => {
                let key = key.escape_ascii();
                Err(reader.fail(format!("RDB has duplicated key '{key}' in DB {db}")))
            }
            _ => Ok(staged),
        }
    }

    /// Returns a key that occurs twice.
    fn repeated(&self, seed: u64) -> Option<(usize, &[u8])> {
        let mut seen = HashSet::with_capacity_and_hasher(self.keys.len(), FixedState::with_seed(seed));
        self.keys.iter().map(|key| (key.db, &*key.key)).find(|key| !seen.insert(*key))
    }
}

/// Returns the error of a file with more databases than the server has.
pub(super) fn too_many_databases(reader: &FileReader<'_>, databases: usize) -> FileError {
    reader.fail(format!(
        "FATAL: Data file was created with a Redis server configured to handle more than {databases} databases. \
         Exiting"
    ))
}

/// Logs the metadata of a file.
pub(in crate::server_commands) fn log_header(name: &[u8], value: &[u8], now_ms: i64) {
    let text = String::from_utf8_lossy(value);
    match name {
        b"redis-ver" => tracing::info!("Loading RDB produced by version {text}"),
        b"valkey-ver" => tracing::info!("Loading RDB produced by Valkey version {text}"),
        b"ctime" => {
            let age = text.parse::<i64>().map_or(0, |created| (now_ms / 1000).saturating_sub(created).max(0));
            tracing::info!("RDB age {age} seconds");
        }
        b"used-mem" => {
            let bytes = text.parse::<f64>().unwrap_or(0.0);
            tracing::info!("RDB memory usage when created {:.2} Mb", bytes / f64::from(1 << 20));
        }
        b"aof-base" if value == b"1" => tracing::info!("RDB is base AOF"),
        _ => {}
    }
}
