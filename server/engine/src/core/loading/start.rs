//! The data of the start: where they are, their loading, and the begin of the append-only file.

use super::super::engine::Engine;
use super::super::hooks::Hook;
use super::access::{LoadAccess, LoadError};
use super::log::{LogLoad, begin_session, end_session, load_logs};
use super::saved_file::load_saved;
use crate::persistence::append_only::{AppendOnly, LoadFailure, LogNames, read_manifest};
use crate::persistence::{DiskFiles, LoadProgress};
use std::io;

/// The data of the start.
enum Source {
    /// There are none.
    Nothing,
    /// A saved file of this name. It must exist if it `is_wanted`.
    Saved { name: String, is_wanted: bool },
    /// The append-only file.
    AppendOnly(LogNames),
}

/// The data that a starting server loads.
pub struct DataLoad {
    source: Source,
    keeps_log: bool,
}

impl DataLoad {
    /// Finds the data. If this server `keeps_log` and the append-only file is on, they are in that file. Otherwise, or
    /// if that file has no data, they are in a saved file: the one at `path`, or the configured one. If there are any,
    /// clients get `LOADING` until [`DataLoad::finish`].
    ///
    /// # Errors
    /// Returns the reason why a file cannot be read, in lines as Redis logs them.
    pub fn begin(engine: &mut Engine, path: Option<&str>, keeps_log: bool) -> Result<Self, LoadFailure> {
        let mut source = None;
        if keeps_log {
            let manifest =
                read_manifest(&engine.environment.files(&engine.config), &engine.config.append_only)?;
            *engine.append_only = AppendOnly::new(manifest);
            if engine.config.append_only.enabled {
                source = Some(match LogLoad::names(engine)? {
                    Some(listed) => Source::AppendOnly(listed),
                    None if path.is_some() => Source::saved(engine, path),
                    None => Source::Nothing,
                });
            }
        }
        let source = source.unwrap_or_else(|| Source::saved(engine, path));
        if !matches!(source, Source::Nothing) {
            begin_loading(engine, source.total(engine));
        }
        Ok(DataLoad { source, keeps_log })
    }

    /// Whether data are being loaded.
    pub fn is_in_progress(engine: &Engine) -> bool {
        engine.loading.is_some()
    }

    /// Whether there are data to be loaded.
    pub fn has_data(&self) -> bool {
        !matches!(self.source, Source::Nothing)
    }

    /// Loads the data. O(bytes of the files).
    ///
    /// # Errors
    /// Returns an error if a file cannot be read, or if the server ends. The engine must not be used any further.
    pub fn run(&self, access: &mut impl LoadAccess) -> Result<(), LoadError> {
        let began_ns = access.with(|engine| engine.environment.stopwatch_ns())?;
        let source = match &self.source {
            Source::Nothing => return Ok(()),
            Source::Saved { name, is_wanted } => {
                if !load_saved(access, name, *is_wanted)? {
                    return Ok(());
                }
                "disk"
            }
            Source::AppendOnly(listed) => {
                let slot = access.with(begin_session)?;
                load_logs(access, slot, listed)?;
                access.with(|engine| end_session(engine, slot))?;
                "append only file"
            }
        };
        let ended_ns = access.with(|engine| engine.environment.stopwatch_ns())?;
        let took_ns = ended_ns.saturating_sub(began_ns);
        tracing::info!("DB loaded from {source}: {:.3} seconds", took_ns as f64 / 1e9);
        Ok(())
    }

    /// Begins to keep the append-only file, if it is on, and to serve clients.
    ///
    /// # Errors
    /// Returns the reason why a file cannot be written, in lines as Redis logs them.
    pub fn finish(self, engine: &mut Engine) -> Result<(), LoadFailure> {
        if self.keeps_log && engine.config.append_only.enabled {
            let is_rdb = engine.config.append_only.use_rdb_preamble;
            let needs_base = engine.append_only.manifest().is_empty();
            let base = needs_base.then(|| engine.data_file().write_base(is_rdb));
            engine.change_append_only(|control| control.open_at_start(base.as_deref())).unwrap_or(Ok(()))?;
        }
        end_loading(engine);
        Ok(())
    }
}

impl Source {
    /// Returns the saved file at this path, or else the configured one, if it exists.
    fn saved(engine: &Engine, path: Option<&str>) -> Self {
        let name = path.unwrap_or(&engine.config.saves.dbfilename).to_owned();
        let is_absent = |error: io::Error| error.kind() == io::ErrorKind::NotFound;
        match path {
            None if engine.environment.files(&engine.config).len(&name).is_err_and(is_absent) => {
                Source::Nothing
            }
            _ => Source::Saved { name, is_wanted: path.is_some() },
        }
    }

    /// Returns the bytes of the files.
    fn total(&self, engine: &Engine) -> u64 {
        match self {
            Source::Nothing => 0,
            Source::Saved { name, .. } => engine.environment.files(&engine.config).len(name).unwrap_or(0),
            Source::AppendOnly(listed) => listed.size,
        }
    }
}

fn begin_loading(engine: &mut Engine, total: u64) {
    engine.loading = Some(LoadProgress::new(engine.clock.system().wall_second(), total));
    engine.hooks.set(Hook::Loading, true);
    engine.keyspace.pause_expiry(true);
    engine.change_replication(|control| control.link_down(""));
}

fn end_loading(engine: &mut Engine) {
    if engine.loading.take().is_none() {
        return;
    }
    engine.hooks.set(Hook::Loading, false);
    engine.change_replication(|control| control.rules_changed());
    engine.change_replication(|control| control.retry_master());
    engine.commit();
}
