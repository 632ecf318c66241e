//! The limit of an owner's holds of a lock: `NOREENTER` and `MAXHOLDS`.

use crate::spec::{CommandError, errors};

const REENTRANT: CommandError = CommandError::text("REENTRANT this owner already holds the lock");

/// The limit of an owner's holds of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::locks) enum Limit {
    /// No limit.
    None,
    /// One hold: `NOREENTER`.
    Once,
    /// This number of holds: `MAXHOLDS`.
    Most(i64),
}

impl Limit {
    /// Returns the number of holds with one more than the owner has. `again` says whether the owner holds the lock
    /// already.
    ///
    /// # Errors
    /// Returns an error if the owner may not have another hold.
    pub(super) fn another(self, holds: i64, again: bool) -> Result<i64, CommandError> {
        match self {
            Limit::Once if again => Err(REENTRANT),
            Limit::Most(most) if holds >= most => Err(CommandError::new(format!(
                "HOLDLIMIT this owner already holds the lock {holds} times, MAXHOLDS is {most}"
            ))),
            _ => holds.checked_add(1).ok_or(errors::INCREMENT_OVERFLOW),
        }
    }
}
