//! The loading of a file. At the start, it is loaded in slices. Otherwise, either all of it becomes keys and libraries,
//! or nothing does.

use super::super::functions::Loader;
use super::staged::{Reading, Staged, StagedKey, log_header, too_many_databases};
use crate::core::{Engine, Environment};
use crate::persistence::{LAST_GRANT, Loaded, Persistence};
use crate::propagation::Feed;
use crate::scripts::{RestorePolicy, Scripts};
use lockwheel_store::keyspace::{Keyspace, Tx};
use lockwheel_store::rdb::file::{FileError, FileReader, Part};
use lockwheel_store::time::Now;

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

/// A file that is being loaded in slices, into a server without data.
pub(crate) struct FileLoad<'f> {
    reader: FileReader<'f>,
    /// The instant at which keys have expired, in wall milliseconds.
    now_ms: i64,
    /// The memory that the server used when it wrote the file, in bytes.
    used_bytes: u64,
    loaded: Loaded,
}

impl FileLoad<'_> {
    /// Returns the number of bytes that were read.
    pub(crate) fn offset(&self) -> usize {
        self.reader.offset()
    }

    /// Returns the memory that the server used when it wrote the file, in bytes. 0: unknown.
    pub(crate) fn used_bytes(&self) -> u64 {
        self.used_bytes
    }
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

    /// Replaces all data by those of a master's snapshot. Expired keys stay until the master deletes them. Returns the
    /// database in which the stream continues, if the snapshot names it. O(bytes of the file, and the deleted data).
    ///
    /// # Errors
    /// Returns the reason why the snapshot is refused. Nothing has changed then.
    pub(crate) fn replace(&mut self, file: &[u8]) -> Result<Option<usize>, String> {
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
    /// Returns the database in which a stream continues after a master's snapshot.
    fn load_until(&mut self, file: &[u8], mode: LoadMode, now_ms: i64) -> Result<Option<usize>, String> {
        let reading = Reading {
            encodings: &self.keyspace.encodings,
            databases: self.keyspace.databases(),
            now_ms,
            may_repeat: mode.merge,
        };
        let staged = Staged::read(file, reading).map_err(reason)?;
        if !mode.flush && !mode.merge {
            self.check_new(&staged)?;
        }
        self.load_libraries(&staged, mode)?;
        let (selected, loaded, changes) = (staged.selected, staged.loaded, self.keyspace.counters.dirty);
        // A load does not change the data of replicas, as in Redis.
        let collected = Feed::set_aside(self.keyspace);
        self.keyspace.numbers_go_on_after(staged.last_grant.unwrap_or(0));
        self.load_keys(staged, mode);
        Feed::put_back(self.keyspace, collected);
        self.keyspace.counters.dirty = changes;
        self.saves.loaded = loaded;
        log_end(loaded);
        Ok(selected)
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
        self.restore_libraries(staged.libraries.iter().map(|text| &**text), policy)
    }

    fn restore_libraries<'t>(
        &mut self,
        texts: impl Iterator<Item = &'t [u8]>,
        policy: RestorePolicy,
    ) -> Result<(), String> {
        let texts = texts.map(|text| Ok(text.into()));
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
        staged.keys.into_iter().for_each(|key| load_key(&mut tx, key));
    }
}

impl DataLoader<'_> {
    /// Begins to load a file in slices, without the keys that have expired at `now_ms`, in wall milliseconds.
    ///
    /// # Errors
    /// Returns the reason why the file is refused, in lines as Redis logs them.
    pub(crate) fn open<'f>(&self, file: &'f [u8], now_ms: i64) -> Result<FileLoad<'f>, String> {
        let reader = FileReader::new(file).map_err(reason)?;
        Ok(FileLoad { reader, now_ms, used_bytes: 0, loaded: Loaded::default() })
    }

    /// Loads keys until `is_over`, which is called after each of them. Returns whether all have been loaded. O(keys).
    ///
    /// # Errors
    /// Returns the reason why the file is refused, in lines as Redis logs them. Some of its keys are there then.
    pub(crate) fn load_slice(
        &mut self,
        load: &mut FileLoad<'_>,
        is_over: &mut dyn FnMut() -> bool,
    ) -> Result<bool, String> {
        let changes = self.keyspace.counters.dirty;
        // A load does not change the data of replicas, as in Redis.
        let collected = Feed::set_aside(self.keyspace);
        let loaded = self.load_parts(load, is_over);
        Feed::put_back(self.keyspace, collected);
        self.keyspace.counters.dirty = changes;
        self.saves.loaded = load.loaded;
        if let Ok(true) = loaded {
            log_end(load.loaded);
        }
        loaded
    }

    fn load_parts(
        &mut self,
        load: &mut FileLoad<'_>,
        is_over: &mut dyn FnMut() -> bool,
    ) -> Result<bool, String> {
        let encodings = self.keyspace.encodings.clone();
        while let Some(part) = load.reader.next(&encodings).map_err(reason)? {
            match part {
                Part::About(name, value) => self.note_header(load, &name, &value),
                Part::Library(text) => {
                    self.restore_libraries(std::iter::once(&*text), RestorePolicy::Append)?;
                }
                Part::Key { db, .. } if db >= self.keyspace.databases() => {
                    return Err(reason(too_many_databases(&load.reader, self.keyspace.databases())));
                }
                Part::Key { deadline_ms: Some(deadline_ms), .. } if deadline_ms < load.now_ms => {
                    load.loaded.expired += 1;
                }
                Part::Key { db, key, value, deadline_ms, access } => {
                    let mut tx = self.keyspace.tx(db, self.now);
                    if tx.peek(&key).is_some() {
                        let key = key.escape_ascii();
                        let why = format!("RDB has duplicated key '{key}' in DB {db}");
                        return Err(reason(load.reader.fail(why)));
                    }
                    load_key(&mut tx, StagedKey { db, key, value, deadline_ms, access });
                    load.loaded.keys += 1;
                    if is_over() {
                        return Ok(false);
                    }
                }
            }
        }
        Ok(true)
    }

    fn note_header(&mut self, load: &mut FileLoad<'_>, name: &[u8], value: &[u8]) {
        let number = std::str::from_utf8(value).ok().and_then(|text| text.parse::<u64>().ok());
        match name {
            b"used-mem" => load.used_bytes = number.unwrap_or(0),
            _ if name == LAST_GRANT.as_bytes() => self.keyspace.numbers_go_on_after(number.unwrap_or(0)),
            _ => {}
        }
        log_header(name, value, load.now_ms);
    }
}

fn load_key(tx: &mut Tx<'_>, key: StagedKey<'_>) {
    tx.select(key.db);
    let clock = key.access_clock(tx.accesses());
    let at = tx.load(&key.key, key.value, key.deadline_ms);
    if let Some(clock) = clock {
        tx.set_access_clock(at, clock);
    }
}

fn log_end(loaded: Loaded) {
    tracing::info!("Done loading RDB, keys loaded: {}, keys expired: {}.", loaded.keys, loaded.expired);
}

/// Returns the reason why a file cannot be read, in lines as Redis logs them.
fn reason(error: FileError) -> String {
    if error.is_cut_off() { format!("{SHORT_READ}\n{error}") } else { error.to_string() }
}
