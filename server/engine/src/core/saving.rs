//! Saves: at once, or in the background, where a timer writes a piece of the snapshot in every millisecond and the host
//! writes the file.

use super::engine::Engine;
use super::hooks::Hook;
use crate::clients::Content;
use crate::clock::{Timer, TimerKind};
use crate::config::{Config, MaxmemoryPolicy, system_reason};
use crate::persistence::{Background, FileRules, RdbFile};
use crate::spec::REDIS_VERSION;
use lockwheel_store::keyspace::{KeyWriter, Measure};
use std::io;

/// What a piece of a snapshot costs, in bytes of the file: about half a millisecond.
const PIECE: usize = 96 << 10;

/// A save has failed; the log says why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotSaved;

impl Engine {
    /// Writes all keys and libraries into the file that the configuration names. O(data).
    ///
    /// # Errors
    /// The system's; then the file is as it was.
    pub(crate) fn save(&mut self) -> Result<(), NotSaved> {
        let file = self.file_of(Content::All);
        let written = self.write_file(&self.config.saves.dbfilename, &file);
        written.map_err(|error| {
            tracing::warn!("Write error saving DB on disk: {}", system_reason(&error));
            NotSaved
        })?;
        tracing::info!("DB saved on disk");
        self.keyspace.counters.dirty = 0;
        self.persistence.saved_ms = Some(self.clock.now().wall_ms());
        self.set_save_failed(false);
        Ok(())
    }

    /// The last save has failed, or no longer.
    fn set_save_failed(&mut self, has_failed: bool) {
        self.persistence.has_failed = has_failed;
        self.save_rules_changed();
    }

    /// Saves have failed or not, or their parameters have changed: as in Redis, nothing is written where save points
    /// say that it is to be kept, and it cannot be.
    pub(super) fn save_rules_changed(&mut self) {
        let saves = &self.config.saves;
        let is_wanted = saves.stop_writes_on_error && !saves.points.is_empty();
        self.hooks.set(Hook::NotSaved, is_wanted && self.persistence.has_failed);
    }

    /// A file with this content, as the data are now. O(data).
    pub(crate) fn file_of(&self, content: Content) -> Vec<u8> {
        self.file_with(content, rules_of(&self.config), &[])
    }

    /// The same for a replica, which is told more of it; `for_7_0`: one that may be as old as Redis 7.0. O(data).
    pub(crate) fn file_for_replica(&self, for_7_0: bool, more: &[(&str, &[u8])]) -> Vec<u8> {
        self.file_with(Content::All, FileRules { for_7_0, ..rules_of(&self.config) }, more)
    }

    fn file_with(&self, content: Content, rules: FileRules, more: &[(&str, &[u8])]) -> Vec<u8> {
        let file = Box::new(self.new_file(content, rules, more));
        match content {
            Content::All => self.keyspace.write_all(file),
            Content::Functions | Content::Nothing => file.finish(),
        }
    }

    /// The beginning of a file, up to its first key.
    fn new_file(&self, content: Content, rules: FileRules, more: &[(&str, &[u8])]) -> RdbFile {
        let number = |number: usize| number.to_string().into_bytes();
        let created = self.clock.now().wall_second().to_string().into_bytes();
        let (bits, memory) = (number(usize::BITS as usize), number(self.memory_usage().total()));
        let mut about: Vec<(&str, &[u8])> = vec![
            ("redis-ver", REDIS_VERSION.as_bytes()),
            ("redis-bits", &bits),
            ("ctime", &created),
            ("used-mem", &memory),
        ];
        about.extend(more);
        about.push(("aof-base", b"0"));
        let has_libraries = content != Content::Nothing;
        let libraries = self.scripts.libraries().iter().map(|library| &*library.code);
        let libraries = libraries.filter(|_| has_libraries);
        RdbFile::new(rules, &about, libraries)
    }

    /// Begins a save in the background. There is none on its way.
    pub(crate) fn begin_background_save(&mut self) {
        let (file, now_ms) =
            (self.new_file(Content::All, rules_of(&self.config), &[]), self.clock.system().monotonic_ms());
        self.keyspace.begin_snapshot(Box::new(file));
        let changes = self.keyspace.counters.dirty;
        let (serial, path) = (self.persistence.next_serial(), self.config.saves.dbfilename.clone());
        self.persistence.saves += 1;
        self.persistence.background = Some(Background { serial, began_ms: now_ms, changes, path });
        tracing::info!("Background saving started by pid {}", self.environment.identity.process.id);
        self.go_on_saving();
    }

    /// Begins a save in the background when the present command or transaction has ended.
    pub(crate) fn schedule_background_save(&mut self) {
        self.persistence.is_scheduled = true;
        self.set_save_timer(0);
    }

    fn set_save_timer(&mut self, in_ms: i64) {
        if self.persistence.timer.is_none() {
            let timer = Timer { kind: TimerKind::Save, client: 0, order: self.keyspace.next_order() };
            let at_ms = self.clock.system().monotonic_ms().saturating_add(in_ms);
            self.persistence.timer = Some(self.clock.timers_mut().insert(timer, at_ms));
        }
    }

    /// The timer of saves has fired.
    pub(super) fn save_timer_fired(&mut self) {
        self.persistence.timer = None;
        if self.persistence.background.is_some() {
            self.go_on_saving();
        } else if std::mem::take(&mut self.persistence.is_scheduled) {
            self.begin_background_save();
        }
    }

    /// Writes a piece of the snapshot; when that was the last, the host writes the file.
    fn go_on_saving(&mut self) {
        if self.keyspace.snapshot_progress().is_none() {
            return;
        }
        let delay_us = self.config.saves.key_delay_us;
        let piece = if delay_us > 0 { 1 } else { PIECE };
        let Some(file) = self.keyspace.go_on_with_snapshot(piece) else {
            return self.set_save_timer(delay_us.max(0) / 1000);
        };
        let Some(Background { serial, path, .. }) = &self.persistence.background else { return };
        let (serial, host) = (*serial, self.environment.host.as_ref());
        let written = match host {
            Some(host) => host.write_in_background(&self.config.dir, path, file, serial),
            None => Some(Err(io::ErrorKind::NotFound.into())),
        };
        if let Some(result) = written {
            self.written_in_background(serial, result);
        }
    }

    /// The host has written the file of the save with this number, or could not.
    pub fn written_in_background(&mut self, serial: u64, result: io::Result<()>) {
        let Some(save) = self.persistence.background.take_if(|save| save.serial == serial) else { return };
        let took_ms = self.clock.system().monotonic_ms() - save.began_ms;
        self.persistence.took_seconds = Some(took_ms / 1000);
        self.set_save_failed(result.is_err());
        match result {
            Ok(()) => {
                tracing::info!("DB saved on disk");
                tracing::info!("Background saving terminated with success");
                let changes = &mut self.keyspace.counters.dirty;
                *changes = changes.saturating_sub(save.changes);
                self.persistence.saved_ms = Some(self.clock.now().wall_ms());
            }
            Err(error) => {
                tracing::warn!("Write error saving DB on disk: {}", system_reason(&error));
                tracing::warn!("Background saving error");
            }
        }
    }

    /// Gives up what is being saved, and forgets what was.
    pub(super) fn reset_saves(&mut self) {
        if let Some(timer) = self.persistence.timer.take() {
            self.clock.timers_mut().cancel(timer);
        }
        self.keyspace.end_snapshot();
        self.persistence.reset();
        self.save_rules_changed();
    }
}

/// Redis keeps what its policy goes by.
fn rules_of(config: &Config) -> FileRules {
    use MaxmemoryPolicy::{AllkeysLfu, AllkeysLru, VolatileLfu, VolatileLru};
    let accesses = match config.maxmemory_policy {
        AllkeysLru | VolatileLru => Some(Measure::IdleTime),
        AllkeysLfu | VolatileLfu => Some(Measure::Frequency),
        _ => None,
    };
    FileRules {
        accesses,
        compresses: config.saves.compression,
        has_checksum: config.saves.checksum,
        for_7_0: false,
    }
}
