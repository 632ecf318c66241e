//! The loading of a file: either all of it becomes keys and libraries, or nothing does.

use super::super::functions::Loader;
use super::staged::{Reading, Staged};
use crate::config::system_reason;
use crate::core::{Engine, Environment};
use crate::persistence::Persistence;
use crate::propagation::Feed;
use crate::scripts::{RestorePolicy, Scripts};
use lockwheel_store::keyspace::Keyspace;
use lockwheel_store::time::Now;
use std::io;

/// The log line before the reason why a truncated file cannot be read.
const SHORT_READ: &str = "Short read or OOM loading DB. Unrecoverable error, aborting now.";

/// The treatment of existing data when a file is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::server_commands) struct LoadMode {
    /// Whether existing data are deleted first.
    pub(in crate::server_commands) flush: bool,
    /// Whether existing keys are replaced. Otherwise a file with an existing key is refused.
    pub(in crate::server_commands) merge: bool,
}

/// The facts that a loaded file states beside its keys and libraries.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoadedFile {
    /// The database in which a stream continues after a master's snapshot.
    selected: Option<usize>,
    /// The number of bytes that were read.
    pub(crate) len: usize,
}

impl Engine {
    /// Returns the parts of the engine into which a file is loaded.
    pub(crate) fn data_loader(&mut self) -> DataLoader<'_> {
        let instants = (self.clock().now(), self.clock().system());
        let Engine { environment, keyspace, scripts, persistence, .. } = self;
        DataLoader::new(environment, instants, (keyspace, scripts, persistence))
    }
}

pub(crate) struct DataLoader<'e> {
    keyspace: &'e mut Keyspace,
    scripts: &'e mut Scripts,
    saves: &'e mut Persistence,
    library_host: Loader,
    now: Now,
}

impl<'e> DataLoader<'e> {
    /// Returns a loader into these parts, at the present instant of the server and of the system's clocks.
    pub(in crate::server_commands) fn new(
        environment: &Environment,
        (now, system): (Now, Now),
        (keyspace, scripts, saves): (&'e mut Keyspace, &'e mut Scripts, &'e mut Persistence),
    ) -> Self {
        let library_host = Loader::new(&environment.host, system);
        DataLoader { keyspace, scripts, saves, library_host, now }
    }

    /// Loads the saved file of the start from `path`. Returns false if there is no file. Fails, with an empty server,
    /// with the reason why it cannot be read, in lines as Redis logs them. O(bytes of the file).
    pub(crate) fn begin_with(
        &mut self,
        read: io::Result<Vec<u8>>,
        path: Option<&str>,
    ) -> Result<bool, String> {
        let file = match read {
            Ok(file) => file,
            Err(error) if path.is_none() && error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => {
                let name = path.map(|path| format!(" '{path}'")).unwrap_or_default();
                return Err(format!("Fatal error loading the DB{name}: {}. Exiting.", system_reason(&error)));
            }
        };
        self.load(&file, LoadMode { flush: true, merge: false }).map_err(|why| match path {
            Some(path) => format!("{why}\nFatal error loading the DB '{path}': Invalid argument. Exiting."),
            None => why,
        })?;
        Ok(true)
    }

    /// Replaces all data by a master's snapshot; expired keys stay until the master deletes them. Returns the database
    /// of the stream, if named. Fails, without a change, with the refusal. O(file's bytes, and the deleted data).
    pub(crate) fn replace(&mut self, file: &[u8]) -> Result<Option<usize>, String> {
        self.load_until(file, LoadMode { flush: true, merge: false }, i64::MIN).map(|loaded| loaded.selected)
    }

    /// Replaces all data by a base of the append-only file. Expired keys stay until the rest has been read. Fails,
    /// without a change, with the reason for a refusal. O(bytes of the base).
    pub(crate) fn replace_by_base(&mut self, file: &[u8]) -> Result<LoadedFile, String> {
        self.load_until(file, LoadMode { flush: true, merge: false }, i64::MIN)
    }

    /// Loads a file, or returns, without a change, the reason for a refusal. O(bytes of the file and of deleted data).
    pub(in crate::server_commands) fn load(&mut self, file: &[u8], mode: LoadMode) -> Result<(), String> {
        if mode.flush {
            // A replica that waits for a snapshot gets the former data, since the stream does not have the flush.
            self.keyspace.keep_flushed_keys();
        }
        self.load_until(file, mode, self.now.wall_ms()).map(drop)
    }

    /// Loads a file without the keys that have expired at `now_ms`, in wall-clock milliseconds.
    fn load_until(&mut self, file: &[u8], mode: LoadMode, now_ms: i64) -> Result<LoadedFile, String> {
        let reading = Reading {
            encodings: &self.keyspace.encodings,
            databases: self.keyspace.databases(),
            now_ms,
            may_repeat: mode.merge,
        };
        let staged = Staged::read(file, reading).map_err(|error| match error.is_cut_off() {
            true => format!("{SHORT_READ}\n{error}"),
            false => error.to_string(),
        })?;
        if !mode.flush && !mode.merge {
            self.check_new(&staged)?;
        }
        self.load_libraries(&staged, mode)?;
        let facts = LoadedFile { selected: staged.selected, len: staged.len };
        let (changes, loaded) = (self.keyspace.counters.dirty, staged.loaded);
        // A load does not change the data of replicas, as in Redis.
        let collected = Feed::set_aside(self.keyspace);
        self.keyspace.numbers_go_on_after(staged.last_grant.unwrap_or(0));
        self.load_keys(staged, mode);
        Feed::put_back(self.keyspace, collected);
        self.keyspace.counters.dirty = changes;
        self.saves.loaded = loaded;
        tracing::info!("Done loading RDB, keys loaded: {}, keys expired: {}.", loaded.keys, loaded.expired);
        Ok(facts)
    }

    /// Checks that no key of a file exists already.
    fn check_new(&mut self, staged: &Staged<'_>) -> Result<(), String> {
        let mut tx = self.keyspace.tx(0, self.now);
        for key in &staged.keys {
            tx.select(key.db);
            if tx.peek(&key.key).is_some() {
                let (key, db) = (key.key.escape_ascii(), key.db);
                return Err(format!("RDB has duplicated key '{key}' in DB {db}"));
            }
        }
        Ok(())
    }

    fn load_libraries(&mut self, staged: &Staged<'_>, mode: LoadMode) -> Result<(), String> {
        let policy = match mode {
            LoadMode { flush: true, .. } => RestorePolicy::Flush,
            LoadMode { merge: true, .. } => RestorePolicy::Replace,
            _ => RestorePolicy::Append,
        };
        let texts = staged.libraries.iter().map(|text| Ok((&**text).into()));
        let restored = self.scripts.restore(texts, policy, &mut self.library_host);
        restored.map_err(|error| {
            let why = String::from_utf8_lossy(error.as_bytes()).into_owned();
            format!("Failed creating the library: {}", why.strip_prefix("ERR ").unwrap_or(&why))
        })
    }

    fn load_keys(&mut self, staged: Staged<'_>, mode: LoadMode) {
        let mut tx = self.keyspace.tx(0, self.now);
        if mode.flush {
            tx.flush_all();
        }
        for key in staged.keys {
            tx.select(key.db);
            let clock = key.access_clock(tx.accesses());
            let at = tx.load(&key.key, key.value, key.deadline_ms);
            if let Some(clock) = clock {
                tx.set_access_clock(at, clock);
            }
        }
    }
}
