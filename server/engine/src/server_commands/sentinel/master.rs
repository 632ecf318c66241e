//! The lookup of the master that a request names, and the shared errors.

use crate::sentinel::Sentinel;
use crate::spec::CommandError;

pub(super) const NO_MASTER: &str = "ERR No such master with that name";
pub(super) const NOT_SAVED: &str = "ERR Failed to save config file. Check server logs.";
pub(super) const NOT_TEXT: &str = "ERR Invalid master name";

pub(super) fn find(sentinel: &Sentinel, name: &[u8]) -> Result<u64, CommandError> {
    sentinel.find(name).ok_or(CommandError::text(NO_MASTER))
}
