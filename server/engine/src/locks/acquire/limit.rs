//! The limit of an owner's holds of a lock: `NOREENTER` and `MAXHOLDS`.

use crate::spec::{CommandError, errors};

const REENTRANT: CommandError = CommandError::text("REENTRANT this owner already holds the lock");

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::locks) enum HoldLimit {
    None,
    /// One hold: `NOREENTER`.
    Once,
    /// This number of holds: `MAXHOLDS`.
    Most(i64),
}

impl HoldLimit {
    /// Returns the holds with one more, or fails if the limit is reached. `again`: the owner already holds the lock.
    pub(super) fn another(self, holds: i64, again: bool) -> Result<i64, CommandError> {
        match self {
            HoldLimit::Once if again => Err(REENTRANT),
            HoldLimit::Most(most) if holds >= most => Err(CommandError::new(format!(
                "HOLDLIMIT this owner already holds the lock {holds} times, MAXHOLDS is {most}"
            ))),
            _ => holds.checked_add(1).ok_or(errors::INCREMENT_OVERFLOW),
        }
    }
}
