//! The master that a request names, and the errors of several subcommands.

use crate::core::Engine;
use crate::spec::CommandError;

pub(super) const NO_MASTER: &str = "ERR No such master with that name";
pub(super) const NOT_SAVED: &str = "ERR Failed to save config file. Check server logs.";
pub(super) const NOT_TEXT: &str = "ERR Invalid master name";

/// The number of the master with this name.
pub(super) fn find(engine: &Engine, name: &[u8]) -> Result<u64, CommandError> {
    let found = engine.sentinel.as_ref().and_then(|watching| watching.state.find(name));
    found.ok_or(CommandError::text(NO_MASTER))
}

/// What has been changed must stand in the file before it is answered.
pub(super) fn is_saved(engine: &Engine) -> Result<(), CommandError> {
    match engine.sentinel.as_ref() {
        Some(watching) if watching.is_saved => Ok(()),
        _ => Err(CommandError::text(NOT_SAVED)),
    }
}
