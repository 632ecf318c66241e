//! The execution of saves: data files are written at once, or by the host in the background.

use super::engine::Engine;
use super::hooks::Hook;
use crate::persistence::{Content, DataFile, SaveControl, SaveEffect, SaveRequest};
use crate::spec::{CommandError, Outcome};
use lockwheel_resp::Reply;
use lockwheel_store::memory::SharedBytes;
use std::io;

/// The error of a failed save; the log has the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotSaved;

impl Engine {
    /// Returns the current data for writing into a file. O(databases).
    pub(crate) fn data_file(&self) -> DataFile<'_> {
        DataFile {
            keyspace: &self.keyspace,
            libraries: self.scripts.libraries().iter().map(|library| &*library.code).collect(),
            config: &self.config,
            created_s: self.clock.now().wall_second(),
            used_bytes: self.memory_parts().usage().total(),
        }
    }

    /// Writes all keys and libraries into the configured file. O(data).
    ///
    /// # Errors
    /// Returns an error, whose reason is logged, if the file cannot be written. The file is unchanged then.
    pub(crate) fn save(&mut self) -> Result<(), NotSaved> {
        let file = self.data_file().write(Content::All);
        let written = self.environment.files(&self.config).write(&self.config.saves.dbfilename, &file);
        self.change_saves(|control| control.written_at_once(&written));
        written.map_err(|_| NotSaved)
    }

    /// Executes a client's request for a save.
    ///
    /// # Errors
    /// Returns an error if a foreground save has failed.
    pub(super) fn run_save_request(&mut self, request: SaveRequest, reply: &mut dyn Reply) -> Outcome {
        match request {
            SaveRequest::Nothing => {}
            SaveRequest::AtOnce => {
                self.save().map_err(|NotSaved| CommandError::text("ERR"))?;
                reply.ok();
            }
            SaveRequest::InBackground => self.begin_background_save(),
            SaveRequest::Scheduled => self.change_saves(|control| control.schedule()),
        }
        Ok(())
    }

    /// Begins a background save. None is in progress.
    fn begin_background_save(&mut self) {
        let (file, process) = (self.data_file().begin(), self.environment.identity.process.id);
        self.change_saves(|control| control.begin(file, process));
    }

    /// Changes the state of saves and applies the effects.
    pub(crate) fn change_saves(&mut self, change: impl FnOnce(&mut SaveControl<'_>)) {
        let mut control = SaveControl {
            saves: &mut self.persistence,
            keyspace: &mut self.keyspace,
            clock: &mut self.clock,
            config: &self.config,
            effects: Vec::new(),
        };
        change(&mut control);
        for effect in control.effects {
            match effect {
                SaveEffect::Begin => self.begin_background_save(),
                SaveEffect::Write { serial, path, file } => {
                    if let Some(result) =
                        self.environment.files(&self.config).write_in_background(&path, file, serial)
                    {
                        self.written_in_background(serial, result);
                    }
                }
                SaveEffect::BeginForReplicas => self.begin_replica_snapshot(),
                SaveEffect::Send(file) => {
                    let snapshot = file.map(|file| SharedBytes::new(&self.memory.stream, file));
                    self.change_replication(|control| control.end_snapshot(snapshot.as_ref()));
                }
                SaveEffect::RulesChanged { may_forbid } => self.hooks.set(Hook::NotSaved, may_forbid),
            }
        }
    }

    /// Handles the result of a file write by the host, for the save with this number.
    pub fn written_in_background(&mut self, serial: u64, result: io::Result<()>) {
        self.change_saves(|control| control.written(serial, &result));
    }
}
