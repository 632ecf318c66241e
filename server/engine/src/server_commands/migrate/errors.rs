//! The errors of MIGRATE, in Redis' words.

pub(super) const CONNECTING: &str = "IOERR error or timeout connecting to the client";
pub(super) const WRITING: &str = "IOERR error or timeout writing to target instance";
pub(super) const READING: &str = "IOERR error or timeout reading to target instance";
/// The prefix of the target's own error.
pub(super) const OF_TARGET: &str = "ERR Target instance replied with error: ";
pub(super) const SEPARATE_KEYS: &str =
    "ERR When using MIGRATE KEYS option, the key argument must be set to the empty string";
