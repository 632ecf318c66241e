//! The loading of a saved file, or of a base in the format of saves.

use super::super::host::OwnFiles;
use super::access::{LoadAccess, LoadError};
use super::slice::Slice;
use crate::config::system_reason;
use std::io;

/// Loads a saved file. Returns false if it does not exist, which is an error if the file `is_wanted`.
pub(super) fn load_saved(
    access: &mut impl LoadAccess,
    name: &str,
    is_wanted: bool,
) -> Result<bool, LoadError> {
    let files = access.with(|engine| OwnFiles::of(&engine.environment, &engine.config))?;
    let shown = if is_wanted { format!(" '{name}'") } else { String::new() };
    let bytes = match files.borrow().read(name) {
        Ok(bytes) => bytes,
        Err(error) if !is_wanted && error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => {
            let reason = system_reason(&error);
            return Err(LoadError::Failed(format!("Fatal error loading the DB{shown}: {reason}. Exiting.")));
        }
    };
    let now_ms = access.with(|engine| engine.clock.now().wall_ms())?;
    match load_rdb(access, &bytes, now_ms) {
        Ok(_) => Ok(true),
        Err(LoadError::Failed(why)) if is_wanted => Err(LoadError::Failed(format!(
            "{why}\nFatal error loading the DB{shown}: Invalid argument. Exiting."
        ))),
        Err(error) => Err(error),
    }
}

/// Loads bytes in the format of saves, without the keys that have expired at `now_ms`, in wall milliseconds. Returns
/// the number of bytes that were read.
pub(super) fn load_rdb(access: &mut impl LoadAccess, bytes: &[u8], now_ms: i64) -> Result<usize, LoadError> {
    let mut load = access.with(|engine| engine.data_loader().open(bytes, now_ms))??;
    loop {
        let (has_ended, pause_us) = access.with(|engine| {
            let mut slice = Slice::begin(engine);
            let has_ended = engine.data_loader().load_slice(&mut load, &mut || slice.is_over());
            if let Some(progress) = &mut engine.loading {
                progress.reach(load.offset());
                progress.note_used(load.used_bytes());
            }
            engine.commit();
            has_ended.map(|has_ended| (has_ended, slice.pause_us))
        })??;
        if has_ended {
            return Ok(load.offset());
        }
        access.pause(pause_us);
    }
}
