//! The checks of owners and tokens by lock commands.

use super::records;
use super::redisson::{DELAY_FIELD, MODE_FIELD, WRITE_SUFFIX};
use crate::spec::CommandError;
use crate::spec::syntax::Shown;
use lockwheel_store::keyspace::Tx;

/// Checks that the owner in this field holds the lock by the grant of this token.
pub(super) fn check_token(tx: &Tx<'_>, key: &[u8], field: &[u8], token: i64) -> Result<(), CommandError> {
    let current = records::token(tx, key, field);
    if current.is_some_and(|current| i64::try_from(current) == Ok(token)) {
        return Ok(());
    }
    Err(stale(token, current))
}

pub(super) fn stale(token: i64, current: Option<u64>) -> CommandError {
    CommandError::new(match current {
        Some(current) => format!("STALE token {token} is not the current token {current}"),
        None => format!("STALE token {token} is not current: there is no current token"),
    })
}

/// Returns a grant's number, as error texts show it.
pub(super) fn or_none(grant: Option<u64>) -> String {
    grant.map_or_else(|| "none".to_owned(), |number| number.to_string())
}

/// Checks that a name can be in a lock's hash without being mistaken for something else.
pub(super) fn check_owner(owner: &[u8]) -> Result<&[u8], CommandError> {
    if owner.is_empty() || owner == MODE_FIELD || owner == DELAY_FIELD || owner.ends_with(WRITE_SUFFIX) {
        Err(invalid_owner(owner))
    } else {
        Ok(owner)
    }
}

#[cold]
fn invalid_owner(owner: &[u8]) -> CommandError {
    CommandError::new(format!(
        "ERR invalid owner: owner must be a name that is neither empty nor reserved for the layout of locks, not '{}'",
        Shown(owner)
    ))
}
