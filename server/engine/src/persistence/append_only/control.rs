//! The steps of the append-only file: its begin and end, and its rewrites.

use super::file_work::{FileWork, FileWorkDone, ManifestFiles};
use super::state::{Rewrite, Stage};
use super::{AppendLog, AppendOnly, FileChange, LogFiles, LogSync, Manifest};
use crate::config::{AppendFsync, AppendOnlyParameters, Config, system_reason};
use crate::spec::CommandError;
use lockwheel_resp::write_request;
use lockwheel_store::time::Now;
use std::io;

const CANNOT_TURN_ON: CommandError = CommandError::text(
    "ERR CONFIG SET failed (possibly related to argument 'appendonly') - Unable to turn on AOF. Check server logs.",
);

/// The number of failed rewrites in a row after which the next one is delayed.
const FAILURES_BEFORE_DELAY: u64 = 3;
/// The maximum delay, in minutes.
const MAX_DELAY_MINUTES: i64 = 60;
/// The delay of the next attempt after a rewrite that could not begin, in milliseconds.
const RETRY_DELAY_MS: i64 = 100;

fn cannot_open(name: &str, error: &io::Error) -> String {
    format!("Can't open the append-only file {name}: {}", system_reason(error))
}

/// An effect on the rest of the engine.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum AppendOnlyEffect {
    /// Changes are appended from now on, or no longer.
    AppendingChanged,
    /// Writes may be refused from now on, or no longer.
    RulesChanged,
    /// Write the present data to this file in the background. `is_rdb`: in the format of saves.
    WriteBase { path: String, is_rdb: bool },
    /// Give up the base that is being written.
    GiveUpBase,
    /// Have the host do this work on the files.
    Work { number: u64, work: Box<FileWork> },
    /// The base has been written and taken, or given up: other snapshots may begin.
    BaseEnded,
    /// Look for a due rewrite after this number of milliseconds. 0: after the present work.
    ScheduleLook { in_ms: i64 },
}

/// The append-only file, with the parts of the engine that it uses.
pub(crate) struct AppendOnlyControl<'e> {
    /// The state of the file.
    pub(crate) state: &'e mut AppendOnly,
    /// The files of the host.
    pub(crate) files: &'e dyn LogFiles,
    /// The configuration in force.
    pub(crate) config: &'e Config,
    /// The current time of the system's clocks.
    pub(crate) now: Now,
    /// The number of the last grant of a lock.
    pub(crate) last_grant: u64,
    /// Whether another snapshot is being made in the background.
    pub(crate) is_saving: bool,
    /// The process id.
    pub(crate) process: u32,
    /// The effects, in order.
    pub(crate) effects: Vec<AppendOnlyEffect>,
}

impl AppendOnlyControl<'_> {
    fn parameters(&self) -> &AppendOnlyParameters {
        &self.config.append_only
    }

    fn log(&self) -> Option<&dyn AppendLog> {
        self.files.log()
    }

    /// Has the file rewritten, since there is no memory to append what has changed.
    #[cold]
    pub(crate) fn miss_unit(&mut self) {
        tracing::warn!("There is no memory to append what has changed: the append-only file is rewritten");
        self.schedule_requested_rewrite();
    }

    /// Appends a request of a master's stream. `db`: the selected database before it; `selected`: after it. While the
    /// master's transaction `is_open`, the request is kept.
    pub(crate) fn append_streamed(&mut self, (db, words): (usize, &[&[u8]]), is_open: bool, selected: usize) {
        let Some((db, bytes)) = self.state.add_streamed((db, words), is_open) else { return };
        self.append(|before, file| {
            if before != Some(db) {
                write_request(&[b"SELECT", db.to_string().as_bytes()], file);
            }
            file.extend_from_slice(&bytes);
            Some(selected)
        });
    }

    /// Appends requests. `write` gets the selected database, appends to the bytes, and returns the database that is
    /// selected afterwards.
    pub(crate) fn append(&mut self, write: impl FnOnce(Option<usize>, &mut Vec<u8>) -> Option<usize>) {
        let facts = (self.parameters().time_s(self.now), self.last_grant);
        self.state.write_unit(facts, write);
        self.deliver();
    }

    /// Gives the host the bytes that were appended since the last call. Schedules a rewrite if the growth demands one.
    pub(crate) fn deliver(&mut self) {
        let Some(bytes) = self.state.take_undelivered() else { return };
        if let Some(log) = self.files.log() {
            log.append(&bytes);
        }
        self.state.recycle(bytes);
        if !self.is_saving && self.state.demands_rewrite(&self.config.append_only, self.now.monotonic_ms()) {
            self.effects.push(AppendOnlyEffect::ScheduleLook { in_ms: 0 });
        }
    }

    /// Opens the last increment at the start. `base`: the present data, if there are no files yet.
    ///
    /// # Errors
    /// Returns the lines that Redis logs if a file cannot be written.
    pub(crate) fn open_at_start(&mut self, base: Option<&[u8]>) -> Result<(), String> {
        self.create_directory()?;
        if let Some(bytes) = base {
            let is_rdb = self.parameters().use_rdb_preamble;
            let name = self.state.manifest.add_base(is_rdb);
            let written = self.files.write(&self.parameters().path(&name), bytes);
            written.map_err(|error| {
                format!("Error opening or writing the AOF base file {name}: {}", system_reason(&error))
            })?;
            tracing::info!("Creating AOF base file {name} on server start");
            (self.state.size, self.state.base_size) = (bytes.len() as u64, bytes.len() as u64);
        }
        let had_increments = !self.state.manifest.increments().is_empty();
        let name = self.state.manifest.last_increment();
        let path = self.parameters().path(&name);
        let opened = self.files.open_log(&path, false);
        opened.map_err(|error| format!("Can't open the append-only file: {}", system_reason(&error)))?;
        let manifest = self.state.manifest.clone();
        self.manifest_files().write(&manifest)?;
        self.state.begin_file(self.files.len(&path).unwrap_or(0));
        self.state.stage = Stage::On;
        let verb = if had_increments { "Opening" } else { "Creating" };
        tracing::info!("{verb} AOF incr file {name} on server start");
        self.manifest_files().remove_history();
        self.sync_changed();
        self.effects.push(AppendOnlyEffect::AppendingChanged);
        Ok(())
    }

    fn create_directory(&self) -> Result<(), String> {
        let directory = &self.parameters().directory;
        let created = self.files.change(FileChange::CreateDirectory(directory));
        created.map_err(|error| {
            format!("Can't open or create append-only dir {directory}: {}", system_reason(&error))
        })
    }

    /// Returns the manifest with the disk that has it.
    fn manifest_files(&mut self) -> ManifestFiles<'_> {
        ManifestFiles {
            files: self.files,
            parameters: &self.config.append_only,
            manifest: &mut self.state.manifest,
            is_safe: &mut self.state.is_manifest_safe,
        }
    }

    /// Tells the host when the file must be synced. As in Redis, a rewrite or a save may suspend that.
    pub(crate) fn sync_changed(&mut self) {
        let parameters = self.parameters();
        let is_busy = self.is_saving || self.state.is_rewriting();
        let sync = match parameters.fsync {
            _ if !self.state.is_enabled() => LogSync::Never,
            _ if parameters.no_fsync_on_rewrite && is_busy => LogSync::Never,
            AppendFsync::Everysec => LogSync::EverySecond,
            AppendFsync::Always => LogSync::Always,
            AppendFsync::No => LogSync::Never,
        };
        self.log().into_iter().for_each(|log| log.set_sync(sync));
    }

    /// Switches the file on: a first rewrite begins, now or as soon as possible.
    ///
    /// # Errors
    /// Returns an error, whose reason is logged, if the rewrite cannot begin. The file stays off then.
    pub(crate) fn turn_on(&mut self, is_in_transaction: bool) -> Result<(), ()> {
        self.state.stage = Stage::Waiting;
        self.set_failure(None);
        if self.is_busy() || is_in_transaction {
            let why = match self.is_busy() {
                true => "there is already another background operation",
                false => "during a transaction",
            };
            let but = if self.is_busy() { "but " } else { "" };
            tracing::info!(
                "AOF was enabled {but}{why}. An AOF background was scheduled to start when possible."
            );
            self.schedule_rewrite();
            return Ok(());
        }
        if self.state.rewrite.is_some() {
            tracing::info!(
                "AOF was enabled but there is already an AOF rewriting in background. Stopping background AOF and \
                 starting a rewrite now."
            );
            self.give_up_rewrite();
        }
        if self.begin_rewrite() {
            return Ok(());
        }
        self.state.stage = Stage::Off;
        tracing::warn!(
            "Redis needs to enable the AOF but can't trigger a background AOF rewrite operation. Check the above \
             logs for more info about the error."
        );
        Err(())
    }

    /// Switches the file off, after it has been synced.
    pub(crate) fn turn_off(&mut self) {
        self.sync();
        self.log().into_iter().for_each(AppendLog::close);
        self.give_up_rewrite();
        self.state.stage = Stage::Off;
        self.state.is_rewrite_scheduled = false;
        self.state.forget_failures();
        self.state.selected = None;
        self.sync_changed();
        self.effects.push(AppendOnlyEffect::AppendingChanged);
        self.effects.push(AppendOnlyEffect::RulesChanged);
    }

    /// Pauses before each write of the file, for so many microseconds.
    pub(crate) fn delay_flushes(&mut self, us: u64) {
        self.log().into_iter().for_each(|log| log.set_flush_delay(us));
    }

    /// Writes and syncs all that was appended.
    pub(crate) fn sync(&mut self) {
        if let Some(Err(error)) = self.log().map(AppendLog::sync) {
            tracing::warn!("Fail to fsync the AOF file: {}", system_reason(&error));
        }
    }

    /// Whether no rewrite can begin: another snapshot is being made, or the host is still ending a rewrite that was
    /// given up.
    fn is_busy(&self) -> bool {
        self.is_saving || self.state.work.is_some()
    }

    /// Gives up the rewrite in progress, if there is one.
    pub(crate) fn give_up_rewrite(&mut self) {
        let Some(rewrite) = self.state.rewrite.take() else { return };
        tracing::info!("Killing running AOF rewrite child: {}", self.process);
        match rewrite.is_ending {
            // The host cannot stop. Whether it succeeds or not, the files have all that was appended.
            true => self.effects.push(AppendOnlyEffect::BaseEnded),
            false => {
                self.remove(&rewrite.path);
                self.effects.push(AppendOnlyEffect::GiveUpBase);
            }
        }
        self.sync_changed();
    }

    /// Has a rewrite begin as soon as possible.
    pub(crate) fn schedule_rewrite(&mut self) {
        self.state.is_rewrite_scheduled = true;
        self.effects.push(AppendOnlyEffect::ScheduleLook { in_ms: 0 });
    }

    /// Has a rewrite begin as soon as possible, at the request of a client.
    pub(crate) fn schedule_requested_rewrite(&mut self) {
        self.state.forget_failures();
        self.schedule_rewrite();
    }

    /// Begins a rewrite at the request of a client, after the present transaction or save if `is_later`. Returns false
    /// if that is impossible; the reason is logged.
    pub(crate) fn request_rewrite(&mut self, is_later: bool) -> bool {
        let is_later = is_later || self.is_busy();
        if is_later {
            self.schedule_requested_rewrite();
        }
        is_later || self.begin_rewrite()
    }

    /// Follows a change of parameters.
    ///
    /// # Errors
    /// Returns an error if the file cannot be switched on.
    pub(crate) fn configure(
        &mut self,
        before: &AppendOnlyParameters,
        is_in_transaction: bool,
    ) -> Result<(), CommandError> {
        let turned = match (before.enabled, self.parameters().enabled) {
            (_, true) if !self.state.is_enabled() => {
                self.turn_on(is_in_transaction).map_err(|()| CANNOT_TURN_ON)
            }
            (true, false) => {
                self.turn_off();
                Ok(())
            }
            _ => Ok(()),
        };
        if before != self.parameters() {
            self.sync_changed();
        }
        turned
    }

    /// Begins the file anew with the present data, which other data have replaced. If that fails, it is tried again
    /// later: the parameter says that the file is on.
    pub(crate) fn begin_anew(&mut self) {
        if !self.parameters().enabled {
            return;
        }
        self.turn_off();
        if self.turn_on(false).is_err() {
            self.state.stage = Stage::Waiting;
            self.state.failures += 1;
            self.state.is_rewrite_scheduled = true;
            self.effects.push(AppendOnlyEffect::AppendingChanged);
            self.effects.push(AppendOnlyEffect::ScheduleLook { in_ms: RETRY_DELAY_MS });
        }
    }

    /// Begins a rewrite. No snapshot may be in progress. Returns whether the rewrite has begun; otherwise the reason is
    /// logged.
    pub(crate) fn begin_rewrite(&mut self) -> bool {
        let begun = self.create_directory().and_then(|()| self.open_increment());
        if let Err(why) = begun {
            tracing::warn!("{why}");
            self.state.has_rewrite_failed = true;
            return false;
        }
        self.state.rewrites += 1;
        self.state.is_rewrite_scheduled = false;
        // The host may still be writing the file of a rewrite that was given up.
        let path = format!("temp-rewriteaof-bg-{}-{}.aof", self.process, self.state.rewrites);
        let is_rdb = self.parameters().use_rdb_preamble;
        let began_ms = self.now.monotonic_ms();
        self.state.rewrite = Some(Rewrite { path: path.clone(), is_rdb, began_ms, is_ending: false });
        tracing::info!("Background append only file rewriting started by pid {}", self.process);
        self.sync_changed();
        self.effects.push(AppendOnlyEffect::AppendingChanged);
        self.effects.push(AppendOnlyEffect::WriteBase { path, is_rdb });
        true
    }

    /// Opens the increment for the changes since the begin of a rewrite. If that fails, the log stays in a file whose
    /// changes the next start reads.
    fn open_increment(&mut self) -> Result<(), String> {
        let name = match self.state.stage {
            Stage::Absent | Stage::Off => return Ok(()),
            Stage::Waiting => Manifest::temporary_increment(&self.parameters().filename),
            Stage::On => self.add_increment()?,
        };
        let opened = self.files.open_log(&self.parameters().path(&name), true);
        opened.map_err(|error| cannot_open(&name, &error))?;
        tracing::info!("Creating AOF incr file {name} on background rewrite");
        self.state.begin_file(0);
        Ok(())
    }

    /// Creates an empty increment that the manifest lists. Returns its name.
    fn add_increment(&mut self) -> Result<String, String> {
        let mut manifest = self.state.manifest.clone();
        let name = manifest.add_increment();
        let path = self.parameters().path(&name);
        self.files.write(&path, b"").map_err(|error| cannot_open(&name, &error))?;
        self.manifest_files().put_in_force(manifest, &[path])?;
        Ok(name)
    }

    /// Removes a file, which may be missing.
    pub(crate) fn remove(&self, path: &str) {
        let _may_not_be_there = self.files.change(FileChange::Remove(path));
    }

    /// Ends the rewrite in progress, whose base has been written, or could not be. The host makes the file the base.
    pub(crate) fn end_rewrite(&mut self, written: &io::Result<()>) {
        let Some(rewrite) = &mut self.state.rewrite else { return };
        if let Err(error) = written {
            tracing::warn!("Write error writing append only file on disk: {}", system_reason(error));
            return self.rewrite_ended(Err("Background AOF rewrite terminated with error".to_owned()));
        }
        tracing::info!("Successfully created the temporary AOF base file {}", rewrite.path);
        tracing::info!("Background AOF rewrite terminated with success");
        rewrite.is_ending = true;
        let (path, is_rdb) = (rewrite.path.clone(), rewrite.is_rdb);
        let work = FileWork {
            parameters: self.parameters().clone(),
            manifest: self.state.manifest.clone(),
            is_safe: self.state.is_manifest_safe,
            path,
            is_rdb,
            is_first: self.state.stage == Stage::Waiting,
            keeps_last: self.state.is_enabled(),
        };
        self.state.works += 1;
        self.state.work = Some(self.state.works);
        self.effects.push(AppendOnlyEffect::Work { number: self.state.works, work: Box::new(work) });
    }

    /// Follows the work of this number, which the host has done.
    pub(crate) fn work_done(&mut self, number: u64, done: FileWorkDone) {
        if self.state.work.take_if(|work| *work == number).is_none() {
            return;
        }
        self.state.manifest = done.manifest;
        self.state.is_manifest_safe = done.is_safe;
        match self.state.rewrite.as_ref().is_some_and(|rewrite| rewrite.is_ending) {
            true => self.rewrite_ended(done.base_len),
            // The rewrite was given up. The files are those of the manifest all the same.
            false => self.effects.push(AppendOnlyEffect::ScheduleLook { in_ms: 0 }),
        }
    }

    /// Records the end of a rewrite, with the size of the base in bytes, or the line for the log.
    fn rewrite_ended(&mut self, done: Result<u64, String>) {
        let Some(rewrite) = self.state.rewrite.take() else { return };
        self.state.has_rewrite_failed = done.is_err();
        self.state.took_seconds = Some((self.now.monotonic_ms() - rewrite.began_ms) / 1000);
        match done {
            Ok(base_len) => {
                self.state.forget_failures();
                tracing::info!("Background AOF rewrite finished successfully");
                if self.state.is_enabled() {
                    self.state.size = base_len + self.state.increment_size;
                    self.state.base_size = self.state.size;
                }
                if self.state.stage == Stage::Waiting {
                    self.state.stage = Stage::On;
                }
            }
            Err(why) => {
                tracing::warn!("{why}");
                self.state.failures += 1;
                self.remove(&rewrite.path);
                self.drop_first_increment();
            }
        }
        self.sync_changed();
        self.effects.push(AppendOnlyEffect::AppendingChanged);
        self.effects.push(AppendOnlyEffect::BaseEnded);
        self.effects.push(AppendOnlyEffect::ScheduleLook { in_ms: 0 });
    }

    /// After a failed first rewrite, forgets the changes since its begin, and schedules another one.
    fn drop_first_increment(&mut self) {
        if self.state.stage != Stage::Waiting {
            return;
        }
        self.log().into_iter().for_each(AppendLog::close);
        let name = Manifest::temporary_increment(&self.parameters().filename);
        self.remove(&self.parameters().path(&name));
        self.state.is_rewrite_scheduled = true;
    }

    /// Begins a rewrite that is scheduled, or that the growth of the file demands. Returns whether one has begun.
    pub(crate) fn begin_due_rewrite(&mut self) -> bool {
        if self.is_busy() || self.state.rewrite.is_some() {
            return false;
        }
        let growth = self.state.growth(self.parameters());
        if (!self.state.is_rewrite_scheduled && growth.is_none()) || self.is_delayed() {
            // Nothing waits for the end of a delay that has passed.
            let in_ms = self.state.delay.until_ms.map(|until_ms| until_ms - self.now.monotonic_ms());
            let look = in_ms.filter(|in_ms| *in_ms > 0).map(|in_ms| AppendOnlyEffect::ScheduleLook { in_ms });
            self.effects.extend(look);
            return false;
        }
        if let (false, Some(growth)) = (self.state.is_rewrite_scheduled, growth) {
            tracing::info!("Starting automatic rewriting of AOF on {growth}% growth");
        }
        let has_begun = self.begin_rewrite();
        if !has_begun {
            self.state.failures += 1;
            self.effects.push(AppendOnlyEffect::ScheduleLook { in_ms: RETRY_DELAY_MS });
        }
        has_begun
    }

    /// Whether the next rewrite has to wait, after several failures in a row.
    fn is_delayed(&mut self) -> bool {
        let (now_ms, delay) = (self.now.monotonic_ms(), &mut self.state.delay);
        if self.state.failures < FAILURES_BEFORE_DELAY {
            (delay.minutes, delay.until_ms) = (0, None);
            return false;
        }
        match delay.until_ms.take_if(|until_ms| now_ms >= *until_ms) {
            Some(_) => return false,
            None if delay.until_ms.is_some() => return true,
            None => {}
        }
        delay.minutes = (delay.minutes * 2).clamp(1, MAX_DELAY_MINUTES);
        delay.until_ms = Some(now_ms + delay.minutes * 60_000);
        tracing::warn!(
            "Background AOF rewrite has repeatedly failed and triggered the limit, will retry in {} minutes",
            delay.minutes
        );
        true
    }

    /// Records why the file cannot be written. `None`: it can.
    pub(crate) fn set_failure(&mut self, error: Option<&io::Error>) {
        self.state.failure = error.map(system_reason);
        self.effects.push(AppendOnlyEffect::RulesChanged);
    }

    /// Prepares the end of the server: the file is synced. Returns false if the server must not end, unless it
    /// `is_forced`: the file was switched on, and its first base is not complete.
    pub(crate) fn shut_down(&mut self, is_forced: bool) -> bool {
        if self.state.awaits_base() {
            if !is_forced {
                tracing::warn!("Writing initial AOF, can't exit");
                return false;
            }
            tracing::warn!("Writing initial AOF. Exit anyway.");
        }
        if self.state.rewrite.is_some() {
            tracing::warn!("There is a child rewriting the AOF. Killing it!");
            self.give_up_rewrite();
        }
        if self.state.is_enabled() {
            tracing::info!("Calling fsync() on the AOF file.");
            self.sync();
        }
        true
    }
}
