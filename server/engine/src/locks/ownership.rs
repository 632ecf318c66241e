//! What lock commands check of owners and tokens, and which waiters hold the lock that they wait for.

use super::ledger;
use super::redisson::{self, DELAY_FIELD, MODE_FIELD, WRITE_SUFFIX};
use crate::spec::CommandError;
use crate::spec::syntax::Shown;
use lockwheel_store::keyspace::{Place, Signal, Tx, WaiterId};
use lockwheel_store::values::Value;

/// Requires that the owner in this field holds the lock by the grant of this token.
pub(super) fn check_token(tx: &Tx<'_>, key: &[u8], field: &[u8], token: i64) -> Result<(), CommandError> {
    let current = ledger::token(tx, key, field);
    if current.is_some_and(|current| i64::try_from(current) == Ok(token)) {
        return Ok(());
    }
    Err(stale(token, current))
}

/// The error for a token of another grant than the current one.
pub(super) fn stale(token: i64, current: Option<u64>) -> CommandError {
    CommandError::new(format!("STALE token {token}, current {}", or_none(current)))
}

/// A grant's number, as error texts show it.
pub(super) fn or_none(grant: Option<u64>) -> String {
    grant.map_or_else(|| "none".to_owned(), |number| number.to_string())
}

/// Checks that a name can stand in a lock's hash without being mistaken for something else.
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
        "ERR invalid owner: owner must be a name that is neither empty nor part of the layout of locks, not '{}'",
        Shown(owner)
    ))
}

/// The waiters on a lock whose owner holds it already, in the order of their places. They have been retried when that
/// owner came to hold it: with less in the key, or one waiter less, nobody else holds it.
pub(super) fn waiting_holders(tx: &Tx<'_>, key: &[u8], what: Signal) -> Vec<WaiterId> {
    if what == Signal::Less {
        return Vec::new();
    }
    let Some(value) = tx.peek(key) else { return Vec::new() };
    let mut waiting: Vec<(Place, WaiterId)> = match value {
        // A large hash, which may be no lock, is not walked.
        Value::Hash(hash) if hash.len() > tx.names_waiting(key).len() => {
            let names = tx.names_waiting(key).filter(|name| redisson::names_owner(hash, name));
            names.flat_map(|name| tx.waiting_as(key, name)).collect()
        }
        Value::Hash(hash) => redisson::names(hash).flat_map(|owner| tx.waiting_as(key, owner)).collect(),
        _ => Vec::new(),
    };
    waiting.sort_unstable();
    waiting.into_iter().map(|(_, id)| id).collect()
}
