//! The steps of the append-only file: its begin and end, and its rewrites.

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
        self.write_manifest(&self.state.manifest.clone())?;
        self.state.begin_file(self.files.len(&path).unwrap_or(0));
        self.state.stage = Stage::On;
        let verb = if had_increments { "Opening" } else { "Creating" };
        tracing::info!("{verb} AOF incr file {name} on server start");
        self.remove_history();
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

    /// Writes a manifest.
    ///
    /// # Errors
    /// Returns the line for the log if the manifest cannot be written. It is unchanged then, or the disk may not have
    /// it after a power failure.
    pub(crate) fn write_manifest(&mut self, manifest: &Manifest) -> Result<(), String> {
        let name = Manifest::name(&self.parameters().filename);
        let written = self.files.write(&self.parameters().path(&name), manifest.text().as_bytes());
        self.state.is_manifest_safe = written.is_ok();
        written.map_err(|error| {
            format!(
                "Error trying to write the temporary AOF manifest file temp-{name}: {}",
                system_reason(&error)
            )
        })
    }

    /// Removes the files that a rewrite has replaced.
    pub(crate) fn remove_history(&mut self) {
        if self.parameters().disable_auto_gc || !self.state.manifest.has_history() {
            return;
        }
        // Until the disk has this manifest, the one before may list the files as data.
        let present = self.state.manifest.clone();
        if !self.state.is_manifest_safe
            && let Err(why) = self.write_manifest(&present)
        {
            return tracing::warn!("{why}");
        }
        for file in self.state.manifest.take_history() {
            tracing::info!("Removing the history file {} in the background", file.name);
            self.remove(&self.parameters().path(&file.name));
        }
        let present = self.state.manifest.clone();
        self.write_manifest(&present).unwrap_or_else(|why| tracing::warn!("{why}"));
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
        if self.is_saving || is_in_transaction {
            let why = match self.is_saving {
                true => "there is already another background operation",
                false => "during a transaction",
            };
            let but = if self.is_saving { "but " } else { "" };
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

    /// Gives up the rewrite in progress, if there is one.
    pub(crate) fn give_up_rewrite(&mut self) {
        let Some(rewrite) = self.state.rewrite.take() else { return };
        tracing::info!("Killing running AOF rewrite child: {}", self.process);
        self.remove(&rewrite.path);
        self.effects.push(AppendOnlyEffect::GiveUpBase);
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
        self.state.rewrite = Some(Rewrite { path: path.clone(), is_rdb, began_ms });
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
        self.take_manifest(manifest, &[path])?;
        Ok(name)
    }

    /// Puts a manifest into force, which lists new files. The new files are removed if the manifest on the disk
    /// certainly does not list them.
    ///
    /// # Errors
    /// Returns the line for the log if the manifest is not in force.
    fn take_manifest(&mut self, manifest: Manifest, created: &[String]) -> Result<(), String> {
        if let Err(why) = self.write_manifest(&manifest) {
            let path = self.parameters().path(&Manifest::name(&self.parameters().filename));
            match self.files.read(&path) {
                // A power failure may bring the manifest before back: its files stay.
                Ok(text) if text == manifest.text().as_bytes() => tracing::warn!("{why}"),
                Ok(_) => {
                    created.iter().for_each(|path| self.remove(path));
                    return Err(why);
                }
                Err(_) => return Err(why),
            }
        }
        self.state.manifest = manifest;
        Ok(())
    }

    /// Removes a file, which may be missing.
    pub(crate) fn remove(&self, path: &str) {
        let _may_not_be_there = self.files.change(FileChange::Remove(path));
    }

    /// Ends the rewrite in progress, whose base has been written, or could not be.
    pub(crate) fn end_rewrite(&mut self, written: &io::Result<()>) {
        let Some(rewrite) = self.state.rewrite.take() else { return };
        let done = match written {
            Ok(()) => {
                tracing::info!("Successfully created the temporary AOF base file {}", rewrite.path);
                tracing::info!("Background AOF rewrite terminated with success");
                self.take_base(&rewrite)
            }
            Err(error) => {
                tracing::warn!("Write error writing append only file on disk: {}", system_reason(error));
                Err("Background AOF rewrite terminated with error".to_owned())
            }
        };
        self.state.has_rewrite_failed = done.is_err();
        self.state.took_seconds = Some((self.now.monotonic_ms() - rewrite.began_ms) / 1000);
        match done {
            Ok(()) => {
                self.state.forget_failures();
                self.remove_history();
                tracing::info!("Background AOF rewrite finished successfully");
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

    /// Makes the written file the base, and its increment the first one.
    fn take_base(&mut self, rewrite: &Rewrite) -> Result<(), String> {
        let mut manifest = self.state.manifest.clone();
        let base = manifest.add_base(rewrite.is_rdb);
        let base_path = self.parameters().path(&base);
        self.rename((&rewrite.path, &rewrite.path), (&base_path, &base), "base")?;
        let mut created = vec![base_path];
        if let Err(why) = self.take_first_increment(&mut manifest, &mut created) {
            self.remove(&created[0]);
            return Err(why);
        }
        manifest.retire_increments(self.state.is_enabled());
        self.take_manifest(manifest, &created)?;
        if self.state.is_enabled() {
            self.state.size = self.files.len(&created[0]).unwrap_or(0) + self.state.increment_size;
            self.state.base_size = self.state.size;
        }
        Ok(())
    }

    /// Gives the increment of a first rewrite its name.
    fn take_first_increment(
        &mut self,
        manifest: &mut Manifest,
        created: &mut Vec<String>,
    ) -> Result<(), String> {
        if self.state.stage != Stage::Waiting {
            return Ok(());
        }
        let temporary = Manifest::temporary_increment(&self.parameters().filename);
        let increment = manifest.add_increment();
        let (from, to) = (self.parameters().path(&temporary), self.parameters().path(&increment));
        self.rename((&from, &temporary), (&to, &increment), "incr")?;
        created.push(to);
        Ok(())
    }

    fn rename(&self, from: (&str, &str), to: (&str, &str), kind: &str) -> Result<(), String> {
        let renamed = self.files.change(FileChange::Rename { from: from.0, to: to.0 });
        renamed.map_err(|error| {
            let reason = system_reason(&error);
            let (from, to) = (from.1, to.1);
            format!("Error trying to rename the temporary AOF {kind} file {from} into {to}: {reason}")
        })?;
        tracing::info!("Successfully renamed the temporary AOF {kind} file {} into {}", from.1, to.1);
        Ok(())
    }

    /// Begins a rewrite that is scheduled, or that the growth of the file demands. Returns whether one has begun.
    pub(crate) fn begin_due_rewrite(&mut self) -> bool {
        if self.is_saving || self.state.rewrite.is_some() {
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
