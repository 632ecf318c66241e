//! Changes of the append-only file, and the engine's reaction.

use super::super::engine::Engine;
use super::super::hooks::Hook;
use crate::clients::Slot;
use crate::persistence::append_only::{AppendOnlyControl, AppendOnlyEffect};

impl Engine {
    /// Changes the append-only file and applies the effects. `None`: the server keeps no such file.
    pub(in crate::core) fn change_append_only<T>(
        &mut self,
        change: impl FnOnce(&mut AppendOnlyControl<'_>) -> T,
    ) -> Option<T> {
        if !self.append_only.is_kept() {
            return None;
        }
        let last_grant = self.keyspace.last_number();
        let files = self.environment.files(&self.config);
        let mut control = AppendOnlyControl {
            state: &mut self.append_only,
            files: &files,
            config: &self.config,
            now: self.clock.system(),
            last_grant,
            is_saving: self.persistence.is_saving(),
            process: self.environment.identity.process.id,
            effects: Vec::new(),
        };
        control.deliver();
        let done = change(&mut control);
        let effects = control.effects;
        effects.into_iter().for_each(|effect| follow(self, effect));
        Some(done)
    }
}

fn follow(engine: &mut Engine, effect: AppendOnlyEffect) {
    match effect {
        AppendOnlyEffect::AppendingChanged => {
            let file = &engine.append_only;
            engine.replication.set_file(file.is_enabled(), file.lacks_base());
            engine.change_replication(|control| control.stream_changed());
        }
        AppendOnlyEffect::RulesChanged => {
            engine.hooks.set(Hook::NotAppended, engine.append_only.failure().is_some());
        }
        AppendOnlyEffect::WriteBase { path, is_rdb } => {
            let file = engine.data_file().begin_base(is_rdb);
            engine.change_saves(|control| control.begin_for_append_only(file, path));
        }
        AppendOnlyEffect::Work { number, work } => {
            let done = engine.environment.files(&engine.config).work_in_background(*work, number);
            if let Some(done) = done {
                engine.change_append_only(|control| control.work_done(number, done));
            }
        }
        AppendOnlyEffect::BaseEnded => engine.change_saves(|control| control.end_for_append_only()),
        AppendOnlyEffect::GiveUpBase => engine.change_saves(|control| control.give_up_for_append_only()),
        AppendOnlyEffect::ScheduleLook { in_ms } => {
            engine.change_saves(|control| control.schedule_look(in_ms));
        }
    }
}

/// Appends a request of a master's stream that this session has run. A transaction is appended as a whole. `db`: the
/// selected database before the request.
#[cold]
pub(in crate::core) fn append_streamed(engine: &mut Engine, slot: Slot, db: usize, words: &[&[u8]]) {
    let session = engine.sessions.get(slot);
    let (is_open, selected) = (session.multi.is_some(), session.db);
    if !engine.append_only.is_appending() {
        // The file may be switched on before the end of the transaction.
        engine.append_only.note_streamed((db, words), is_open);
    } else {
        engine.change_append_only(|control| control.append_streamed((db, words), is_open, selected));
        engine.replication.appended(engine.append_only.appended());
    }
}

/// Handles a sync of the host's log, for which a client waits.
pub(in crate::core) fn log_synced(engine: &mut Engine) {
    let synced = synced(engine);
    engine.replication.synced_file(synced);
}

/// Returns the number of appended bytes that are on the disk.
pub(in crate::core) fn synced(engine: &Engine) -> u64 {
    let log = engine.environment.host.as_deref().and_then(|host| host.append_log());
    log.map_or(0, |log| log.synced())
}
