//! The reading of the append-only file: the base, then the increments, whose requests run in order.

use super::super::engine::Engine;
use crate::clients::{Outbox, Peer, Slot};
use crate::config::AppendOnlyParameters;
use crate::finally::finally;
use crate::persistence::append_only::{
    AppendOnly, LoadFailure, LogEnd, LogFile, LogNames, LogPart, LogReader, read_manifest, upgrade_old_file,
};
use crate::propagation::Annotation;
use crate::replication::{is_streamed, to_be_run};
use crate::spec::Args;

impl Engine {
    /// Reads the data at the start. If this server `keeps_log`, it begins to keep the append-only file, if that is on.
    /// If the file is off, or has no data, the data are those of a saved file: the one at `path`, or the configured
    /// one. O(bytes of the files).
    ///
    /// # Errors
    /// Returns the reason why a file cannot be read or written, in lines as Redis logs them.
    pub fn begin_with_data(&mut self, path: Option<&str>, keeps_log: bool) -> Result<(), LoadFailure> {
        if !keeps_log {
            return load_saved(self, path);
        }
        let manifest = read_manifest(&self.environment.files(&self.config), &self.config.append_only)?;
        *self.append_only = AppendOnly::new(manifest);
        if !self.config.append_only.enabled {
            return load_saved(self, path);
        }
        let began_ns = self.environment.stopwatch_ns();
        if load(self)? {
            let took_ns = self.environment.stopwatch_ns().saturating_sub(began_ns);
            tracing::info!("DB loaded from append only file: {:.3} seconds", took_ns as f64 / 1e9);
        } else if path.is_some() {
            load_saved(self, path)?;
        }
        let is_rdb = self.config.append_only.use_rdb_preamble;
        let needs_base = self.append_only.manifest().is_empty();
        let base = needs_base.then(|| self.data_file().write_base(is_rdb));
        self.change_append_only(|control| control.open_at_start(base.as_deref())).unwrap_or(Ok(()))
    }
}

/// Loads the saved file at this path, or else the configured one if it exists. O(bytes of the file).
fn load_saved(engine: &mut Engine, path: Option<&str>) -> Result<(), LoadFailure> {
    let began_ns = engine.environment.stopwatch_ns();
    let name = path.unwrap_or(&engine.config.saves.dbfilename);
    let read = engine.environment.files(&engine.config).read(name);
    if engine.data_loader().begin_with(read, path)? {
        let took_ns = engine.environment.stopwatch_ns().saturating_sub(began_ns);
        tracing::info!("DB loaded from disk: {:.3} seconds", took_ns as f64 / 1e9);
    }
    Ok(())
}

/// Reads the files again, in place of the present data.
///
/// # Errors
/// Returns the reason why they cannot be read, or should not: they are older than the present data.
pub(in crate::core) fn reload(engine: &mut Engine) -> Result<(), LoadFailure> {
    if engine.append_only.lacks_base() {
        return Err("The AOF files have none of the present data until the first base is complete".to_owned());
    }
    engine.change_append_only(|control| control.sync());
    let manifest = read_manifest(&engine.environment.files(&engine.config), &engine.config.append_only)?;
    engine.append_only.set_manifest(manifest);
    set_loading(engine, true);
    let now = engine.clock.now();
    engine.keyspace.tx(0, now).flush_all();
    let loaded = load(engine);
    engine.commit();
    set_loading(engine, false);
    engine.keyspace.counters.dirty = 0;
    loaded?;
    tracing::warn!("Append Only File loaded by DEBUG LOADAOF");
    Ok(())
}

fn set_loading(engine: &mut Engine, is_loading: bool) {
    engine.append_only.set_loading(is_loading);
    engine.change_replication(|control| control.stream_changed());
}

/// Reads the files of the manifest. Returns whether there are any.
fn load(engine: &mut Engine) -> Result<bool, LoadFailure> {
    let parameters = engine.config.append_only.clone();
    let files = engine.environment.files(&engine.config);
    if let Some(manifest) = upgrade_old_file(engine.append_only.manifest(), &files, &parameters)? {
        engine.append_only.set_manifest(manifest);
    }
    if engine.append_only.manifest().is_empty() {
        return Ok(false);
    }
    let listed = LogNames::of(engine.append_only.manifest(), &files, &parameters)?;
    let slot = begin_session(engine);
    finally(
        engine,
        |engine| LogLoader { engine, slot, parameters }.load(&listed),
        |engine| end_session(engine, slot),
    )?;
    engine.append_only.set_sizes(listed.size, listed.base_size);
    Ok(true)
}

/// Creates the session that runs the requests. Keys expire only by these requests.
fn begin_session(engine: &mut Engine) -> Slot {
    let slot = engine.connect(Peer::default());
    engine.observers.stats.connections_received -= 1;
    engine.sessions.trust(slot);
    let session = engine.sessions.get_mut(slot);
    session.is_master = true;
    session.is_unrecorded = true;
    session.delivery.mode.turn_off();
    engine.watch_idle(slot);
    engine.keyspace.pause_expiry(true);
    slot
}

fn end_session(engine: &mut Engine, slot: Slot) {
    engine.sessions.get_mut(slot).multi = None;
    engine.disconnect(slot);
    engine.change_replication(|control| control.rules_changed());
}

fn warn_of_transaction(file: &str) {
    tracing::warn!("Revert incomplete MULTI/EXEC transaction in AOF file {file}");
}

/// The reader of the files into an engine.
struct LogLoader<'e> {
    engine: &'e mut Engine,
    /// The session that runs the requests.
    slot: Slot,
    parameters: AppendOnlyParameters,
}

impl LogLoader<'_> {
    fn load(&mut self, listed: &LogNames) -> Result<(), LoadFailure> {
        for (at, name) in listed.names.iter().enumerate() {
            let began_ns = self.engine.environment.stopwatch_ns();
            let files = self.engine.environment.files(&self.engine.config);
            let file = LogFile::read(&files, &self.parameters, (name, at + 1 == listed.names.len()))?;
            if file.bytes.is_empty() {
                continue;
            }
            self.load_file(&file)?;
            let took_ns = self.engine.environment.stopwatch_ns().saturating_sub(began_ns);
            let kind = if at < listed.bases { "base" } else { "incr" };
            tracing::info!("DB loaded from {kind} file {name}: {:.3} seconds", took_ns as f64 / 1e9);
        }
        Ok(())
    }

    /// Reads a file: what is in the format of saves, then requests.
    fn load_file(&mut self, file: &LogFile) -> Result<(), LoadFailure> {
        let mut reader = LogReader::new(&file.bytes, self.load_save(file)?);
        // Each file selects its databases itself.
        self.engine.sessions.get_mut(self.slot).db = 0;
        // The offsets behind the last whole request, and before the last MULTI. Annotations do not count.
        let (mut valid, mut before_multi) = (reader.offset(), reader.offset());
        let end = loop {
            match reader.next() {
                // What comes next must not continue the transaction.
                Err(LogEnd::CutOffAnnotation) if self.is_in_transaction() => {
                    warn_of_transaction(&file.name);
                    break LogEnd::CutOff;
                }
                Err(end) => break end,
                Ok(None) if self.is_in_transaction() => {
                    warn_of_transaction(&file.name);
                    break LogEnd::CutOff;
                }
                Ok(None) => return Ok(()),
                Ok(Some(LogPart::Annotation(text))) => {
                    if let Some(Annotation::LastGrant(number)) = Annotation::parse(text) {
                        self.engine.keyspace.numbers_go_on_after(number);
                    }
                }
                Ok(Some(LogPart::Request(words))) => {
                    if words[0].eq_ignore_ascii_case(b"multi") {
                        before_multi = valid;
                    }
                    self.run(&words, &file.name)?;
                    valid = reader.offset();
                }
            }
        };
        let files = self.engine.environment.files(&self.engine.config);
        match end {
            LogEnd::CutOff => {
                let offset = if self.is_in_transaction() { before_multi } else { valid };
                file.end_early(&files, &self.parameters, offset)
            }
            // An annotation is no data: what comes next must not continue the line.
            LogEnd::CutOffAnnotation => file.cut(&files, reader.offset()),
            LogEnd::BadFormat => Err(file.bad_format()),
        }
    }

    /// Reads the part of a file in the format of saves. Returns its length, in bytes.
    fn load_save(&mut self, file: &LogFile) -> Result<usize, LoadFailure> {
        if !file.begins_as_save() {
            return Ok(0);
        }
        let loaded = self.engine.data_loader().replace_by_base(&file.bytes);
        let loaded = loaded.map_err(|why| file.bad_save(&why))?;
        file.note_save();
        Ok(loaded.len)
    }

    fn is_in_transaction(&self) -> bool {
        self.engine.sessions.get(self.slot).multi.is_some()
    }

    /// Runs a request. Its errors are ignored, as in Redis.
    fn run(&mut self, words: &[&[u8]], file: &str) -> Result<(), LoadFailure> {
        let (engine, args) = (&mut *self.engine, Args::new(words));
        if engine.commands.resolve(args).is_none() {
            let name = String::from_utf8_lossy(words[0]);
            return Err(format!("Unknown command '{name}' reading the append only file {file}"));
        }
        if is_streamed(&engine.commands, args) {
            let hidden = engine.keyspace.set_expiry_backlog(None);
            // The limits of this server do not hold for what has been done already.
            let max_string = std::mem::replace(&mut engine.keyspace.max_string, i64::MAX as usize);
            engine.execute_request(self.slot, &to_be_run(words));
            engine.keyspace.max_string = max_string;
            engine.keyspace.set_expiry_backlog(hidden);
            engine.take_output(self.slot, &mut Outbox::default());
        }
        Ok(())
    }
}
