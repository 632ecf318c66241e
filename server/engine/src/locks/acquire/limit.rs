//! How often an owner may come to hold a lock: `NOREENTER` and `MAXHOLDS`.

use crate::spec::{CommandError, errors};

const REENTRANT: CommandError = CommandError::text("REENTRANT this owner holds the lock already");

/// How often an owner may come to hold a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::locks) enum Limit {
    /// As often as it asks.
    None,
    /// Once: `NOREENTER`.
    Once,
    /// So many times: `MAXHOLDS`.
    Most(i64),
}

impl Limit {
    /// One hold more than the owner has, who perhaps holds the lock already.
    ///
    /// Errors: it may not have another.
    pub(super) fn another(self, holds: i64, again: bool) -> Result<i64, CommandError> {
        match self {
            Limit::Once if again => Err(REENTRANT),
            Limit::Most(most) if holds >= most => Err(CommandError::new(format!(
                "HOLDLIMIT this owner holds the lock {holds} times, MAXHOLDS {most}"
            ))),
            _ => holds.checked_add(1).ok_or(errors::INCREMENT_OVERFLOW),
        }
    }
}
