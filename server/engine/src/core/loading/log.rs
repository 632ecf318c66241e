//! The reading of the append-only file: the base, then the increments, whose requests run in order.

use super::super::engine::Engine;
use super::super::hooks::Hook;
use super::super::host::OwnFiles;
use super::access::{LoadAccess, LoadError, Unshared};
use super::saved_file::load_rdb;
use super::slice::Slice;
use crate::clients::{Outbox, Peer, Slot};
use crate::config::AppendOnlyParameters;
use crate::finally::finally;
use crate::persistence::LoadProgress;
use crate::persistence::append_only::{
    LoadFailure, LogEnd, LogFile, LogNames, LogPart, LogReader, read_manifest, upgrade_old_file,
};
use crate::propagation::Annotation;
use crate::replication::{is_streamed, to_be_run};
use crate::spec::Args;

/// Reads the files again, in place of the present data.
///
/// # Errors
/// Returns the reason why they cannot be read, or should not: they are older than the present data.
pub(in crate::core) fn reload(engine: &mut Engine) -> Result<(), LoadFailure> {
    if engine.append_only.lacks_base() {
        return Err("The AOF files have none of the present data until the first base is complete".to_owned());
    }
    if engine.append_only.is_working() {
        return Err("The AOF files are being replaced".to_owned());
    }
    engine.change_append_only(|control| control.sync());
    let manifest = read_manifest(&engine.environment.files(&engine.config), &engine.config.append_only)?;
    engine.append_only.set_manifest(manifest);
    set_loading(engine, true);
    let load = |engine: &mut Engine| {
        let now = engine.clock.now();
        engine.keyspace.tx(0, now).flush_all();
        let loaded = load_again(engine);
        engine.commit();
        loaded
    };
    let loaded = finally(engine, load, |engine| set_loading(engine, false));
    engine.keyspace.counters.dirty = 0;
    loaded?;
    tracing::warn!("Append Only File loaded by DEBUG LOADAOF");
    Ok(())
}

/// Sets whether the files are being read again. Requests that come while a script of a file is slow get `LOADING`.
fn set_loading(engine: &mut Engine, is_loading: bool) {
    let now_s = engine.clock.system().wall_second();
    engine.append_only.set_loading(is_loading);
    engine.loading = is_loading.then(|| LoadProgress::new(now_s, engine.append_only.figures().size));
    engine.hooks.set(Hook::Loading, is_loading);
    engine.change_replication(|control| control.rules_changed());
    engine.change_replication(|control| control.stream_changed());
    engine.rules_changed();
}

fn load_again(engine: &mut Engine) -> Result<(), LoadFailure> {
    let Some(listed) = LogLoad::names(engine)? else { return Ok(()) };
    let slot = begin_session(engine);
    let loaded = finally(
        engine,
        |engine| load_logs(&mut Unshared(engine), slot, &listed),
        |engine| end_session(engine, slot),
    );
    match loaded {
        Ok(()) | Err(LoadError::Ended) => Ok(()),
        Err(LoadError::Failed(why)) => Err(why),
    }
}

/// Creates the session that runs the requests. Keys expire only by these requests.
pub(super) fn begin_session(engine: &mut Engine) -> Slot {
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

/// Removes the session that has run the requests.
pub(super) fn end_session(engine: &mut Engine, slot: Slot) {
    engine.sessions.get_mut(slot).multi = None;
    engine.disconnect(slot);
    engine.change_replication(|control| control.rules_changed());
}

fn warn_of_transaction(file: &str) {
    tracing::warn!("Revert incomplete MULTI/EXEC transaction in AOF file {file}");
}

/// Loads the files, whose requests run in this session.
///
/// # Errors
/// Returns an error if a file cannot be read, or if the server ends.
pub(super) fn load_logs(
    access: &mut impl LoadAccess,
    slot: Slot,
    listed: &LogNames,
) -> Result<(), LoadError> {
    let (parameters, files) = access.with(|engine| {
        (engine.config.append_only.clone(), OwnFiles::of(&engine.environment, &engine.config))
    })?;
    let mut load = LogLoad { access, slot, parameters, files };
    for (at, name) in listed.names.iter().enumerate() {
        let began_ns = load.stopwatch_ns()?;
        let files = load.files.borrow();
        let file = LogFile::read(&files, &load.parameters, (name, at + 1 == listed.names.len()))?;
        if file.bytes.is_empty() {
            continue;
        }
        load.load_file(&file)?;
        let took_ns = load.stopwatch_ns()?.saturating_sub(began_ns);
        let kind = if at < listed.bases { "base" } else { "incr" };
        tracing::info!("DB loaded from {kind} file {name}: {:.3} seconds", took_ns as f64 / 1e9);
    }
    load.access.with(|engine| engine.append_only.set_sizes(listed.size, listed.base_size))
}

/// The reader of the files into an engine.
pub(super) struct LogLoad<'a, A> {
    access: &'a mut A,
    /// The session that runs the requests.
    slot: Slot,
    parameters: AppendOnlyParameters,
    files: OwnFiles,
}

impl LogLoad<'_, Unshared<'_>> {
    /// Returns the names of the files of the manifest, if there are any. A file of an older version is taken over.
    pub(super) fn names(engine: &mut Engine) -> Result<Option<LogNames>, LoadFailure> {
        let parameters = &engine.config.append_only;
        let files = engine.environment.files(&engine.config);
        if let Some(manifest) = upgrade_old_file(engine.append_only.manifest(), &files, parameters)? {
            engine.append_only.set_manifest(manifest);
        }
        if engine.append_only.manifest().is_empty() {
            return Ok(None);
        }
        LogNames::of(engine.append_only.manifest(), &files, parameters).map(Some)
    }
}

impl<A: LoadAccess> LogLoad<'_, A> {
    fn stopwatch_ns(&mut self) -> Result<u64, LoadError> {
        self.access.with(|engine| engine.environment.stopwatch_ns())
    }

    /// Reads a file: what is in the format of saves, then requests.
    fn load_file(&mut self, file: &LogFile) -> Result<(), LoadError> {
        let begin = self.load_save(file)?;
        let slot = self.slot;
        // Each file selects its databases itself.
        self.access.with(|engine| engine.sessions.get_mut(slot).db = 0)?;
        let mut requests = LoggedRequests::new(file, begin, slot);
        let end = loop {
            let (end, pause_us) = self.access.with(|engine| {
                let mut slice = Slice::begin(engine);
                let end = requests.run_slice(engine, &mut slice);
                if let Some(progress) = &mut engine.loading {
                    progress.reach(requests.reader.offset());
                }
                end.map(|end| (end, slice.pause_us))
            })??;
            match end {
                Some(end) => break end,
                None => self.access.pause(pause_us),
            }
        };
        let files = self.files.borrow();
        match end {
            RequestsEnd::Complete => {}
            RequestsEnd::Broken(LogEnd::CutOff) => {
                file.end_early(&files, &self.parameters, requests.whole)?
            }
            // An annotation is no data: what comes next must not continue the line.
            RequestsEnd::Broken(LogEnd::CutOffAnnotation) => file.cut(&files, requests.reader.offset())?,
            RequestsEnd::Broken(LogEnd::BadFormat) => return Err(file.bad_format().into()),
        }
        let len = file.bytes.len();
        self.access.with(|engine| engine.loading.iter_mut().for_each(|progress| progress.end_file(len)))
    }

    /// Reads the part of a file in the format of saves. Returns its length, in bytes.
    fn load_save(&mut self, file: &LogFile) -> Result<usize, LoadError> {
        if !file.begins_as_save() {
            return Ok(0);
        }
        // Expired keys stay until the rest has been read.
        let loaded = load_rdb(self.access, &file.bytes, i64::MIN).map_err(|error| match error {
            LoadError::Failed(why) => LoadError::Failed(file.bad_save(&why)),
            LoadError::Ended => LoadError::Ended,
        })?;
        file.note_save();
        Ok(loaded)
    }
}

/// The end of the requests of a file.
enum RequestsEnd {
    /// All have run.
    Complete,
    /// The next one cannot be read.
    Broken(LogEnd),
}

/// The requests of a file, on their way into an engine.
struct LoggedRequests<'f> {
    reader: LogReader<'f>,
    name: &'f str,
    /// The session that runs the requests.
    slot: Slot,
    /// The offset behind the last whole request. Annotations do not count.
    valid: usize,
    /// The offset before the last MULTI.
    before_multi: usize,
    /// At the end of a file that is cut off, the offset behind what is whole.
    whole: usize,
}

impl<'f> LoggedRequests<'f> {
    fn new(file: &'f LogFile, begin: usize, slot: Slot) -> Self {
        let reader = LogReader::new(&file.bytes, begin);
        LoggedRequests { reader, name: &file.name, slot, valid: begin, before_multi: begin, whole: begin }
    }

    /// Runs requests until the slice is over, or until none is left.
    fn run_slice(
        &mut self,
        engine: &mut Engine,
        slice: &mut Slice,
    ) -> Result<Option<RequestsEnd>, LoadFailure> {
        loop {
            let is_in_transaction = engine.sessions.get(self.slot).multi.is_some();
            let end = match self.reader.next() {
                // What comes next must not continue the transaction.
                Err(LogEnd::CutOffAnnotation) | Ok(None) if is_in_transaction => {
                    warn_of_transaction(self.name);
                    RequestsEnd::Broken(LogEnd::CutOff)
                }
                Err(end) => RequestsEnd::Broken(end),
                Ok(None) => RequestsEnd::Complete,
                Ok(Some(LogPart::Annotation(text))) => {
                    if let Some(Annotation::LastGrant(number)) = Annotation::parse(text) {
                        engine.keyspace.numbers_go_on_after(number);
                    }
                    continue;
                }
                Ok(Some(LogPart::Request(words))) => {
                    if words[0].eq_ignore_ascii_case(b"multi") {
                        self.before_multi = self.valid;
                    }
                    run(engine, self.slot, &words, self.name)?;
                    self.valid = self.reader.offset();
                    match slice.is_over() {
                        true => return Ok(None),
                        false => continue,
                    }
                }
            };
            self.whole = if is_in_transaction { self.before_multi } else { self.valid };
            return Ok(Some(end));
        }
    }
}

/// Runs a request. Its errors are ignored, as in Redis.
fn run(engine: &mut Engine, slot: Slot, words: &[&[u8]], file: &str) -> Result<(), LoadFailure> {
    let args = Args::new(words);
    if engine.commands.resolve(args).is_none() {
        let name = String::from_utf8_lossy(words[0]);
        return Err(format!("Unknown command '{name}' reading the append only file {file}"));
    }
    if is_streamed(&engine.commands, args) {
        let hidden = engine.keyspace.set_expiry_backlog(None);
        // The limits of this server do not hold for what has been done already.
        let max_string = std::mem::replace(&mut engine.keyspace.max_string, i64::MAX as usize);
        engine.execute_request(slot, &to_be_run(words));
        engine.keyspace.max_string = max_string;
        engine.keyspace.set_expiry_backlog(hidden);
        engine.take_output(slot, &mut Outbox::default());
    }
    Ok(())
}
