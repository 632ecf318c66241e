//! The execution of saves: data files are written at once, or by the host in the background.

use super::append_only::log_synced;
use super::engine::Engine;
use super::hooks::Hook;
use super::progress::DiskEvent;
use crate::persistence::{Content, DataFile, SaveControl, SaveEffect, SaveRequest};
use crate::spec::{CommandError, Outcome};
use lockwheel_resp::Reply;
use lockwheel_store::memory::SharedBytes;

/// The error of a failed save; the log has the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotSaved;

/// The error if BGREWRITEAOF cannot begin; the log has the reason.
const CANNOT_REWRITE: CommandError = CommandError::text(
    "ERR Can't execute an AOF background rewriting. Please check the server logs for more information.",
);

impl Engine {
    /// Returns the current data for writing into a file. O(databases).
    pub(crate) fn data_file(&self) -> DataFile<'_> {
        DataFile {
            keyspace: &self.keyspace,
            libraries: self.scripts.libraries().iter().map(|library| &*library.code).collect(),
            config: &self.config,
            created_s: self.clock.now().wall_second(),
            used_bytes: self.memory_parts().usage().total(),
            last_grant: self.replication.reserved_grants(self.keyspace.last_number()),
        }
    }

    /// Writes all keys and libraries into the configured file. O(data). A failure is logged and changes nothing.
    pub(crate) fn save(&mut self) -> Result<(), NotSaved> {
        let file = self.data_file().write(Content::All);
        let written = self.environment.files(&self.config).write(&self.config.saves.dbfilename, &file);
        self.change_saves(|control| control.written_at_once(&written));
        written.map_err(|_| NotSaved)
    }

    /// Executes a client's request for a save. Fails if a foreground save has failed.
    pub(super) fn run_save_request(&mut self, request: SaveRequest, reply: &mut dyn Reply) -> Outcome {
        match request {
            SaveRequest::Nothing => {}
            SaveRequest::AtOnce => {
                self.save().map_err(|NotSaved| CommandError::text("ERR"))?;
                reply.ok();
            }
            SaveRequest::InBackground => begin_in_background(self),
            SaveRequest::Scheduled => self.change_saves(|control| control.schedule()),
            SaveRequest::Rewrite { is_later } => {
                if self.change_append_only(|control| control.request_rewrite(is_later)) == Some(false) {
                    return Err(CANNOT_REWRITE);
                }
                let word = if is_later { "scheduled" } else { "started" };
                reply.status(format!("Background append only file rewriting {word}").as_bytes());
            }
        }
        Ok(())
    }

    pub(crate) fn change_saves(&mut self, change: impl FnOnce(&mut SaveControl<'_>)) {
        let mut control = SaveControl {
            saves: &mut self.persistence,
            keyspace: &mut self.keyspace,
            clock: &mut self.clock,
            config: &self.config,
            effects: Vec::new(),
        };
        change(&mut control);
        let effects = control.effects;
        effects.into_iter().for_each(|effect| follow(self, effect));
        if self.config.append_only.no_fsync_on_rewrite {
            self.change_append_only(|control| control.sync_changed());
        }
    }

    /// Handles the end of the host's work with files.
    pub fn disk_event(&mut self, event: DiskEvent) {
        match event {
            DiskEvent::Saved { serial, result } => {
                self.change_saves(|control| control.written(serial, result));
            }
            DiskEvent::Worked { number, done } => {
                self.change_append_only(|control| control.work_done(number, done));
            }
            DiskEvent::LogWritten(result) => {
                self.change_append_only(|control| control.set_failure(result.err().as_ref()));
            }
            DiskEvent::LogSynced => log_synced(self),
        }
        // Clients may have waited for that.
        self.commit();
    }
}

/// Begins a background save, while none is in progress.
fn begin_in_background(engine: &mut Engine) {
    let (file, process) = (engine.data_file().begin(), engine.environment.identity.process.id);
    engine.change_saves(|control| control.begin(file, process));
}

fn follow(engine: &mut Engine, effect: SaveEffect) {
    match effect {
        SaveEffect::Begin => begin_in_background(engine),
        SaveEffect::Write { serial, path, file } => {
            if let Some(result) =
                engine.environment.files(&engine.config).write_in_background(&path, file, serial)
            {
                engine.change_saves(|control| control.written(serial, result));
            }
        }
        SaveEffect::LookForRewrite => {
            let begun = engine.change_append_only(|control| control.begin_due_rewrite());
            if begun != Some(true) {
                engine.change_saves(|control| control.begin_postponed());
            }
        }
        SaveEffect::EndRewrite(result) => {
            engine.change_append_only(|control| control.end_rewrite(&result));
        }
        SaveEffect::RemoveBase { path } => {
            engine.change_append_only(|control| control.remove(&path));
        }
        SaveEffect::BeginForReplicas => engine.begin_replica_snapshot(),
        SaveEffect::Send(file) => {
            let snapshot = file.map(|file| SharedBytes::new(&engine.memory.stream, file));
            engine.change_replication(|control| control.end_snapshot(snapshot.as_ref()));
        }
        SaveEffect::RulesChanged { may_forbid } => engine.hooks.set(Hook::NotSaved, may_forbid),
    }
}
