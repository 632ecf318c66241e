//! The state of a lock for an owner, and the checks that keep Redisson's layout of a plain lock intact.

use super::ledger;
use super::redisson::{MODE_FIELD, WRITE_SUFFIX};
use crate::keyspace::{Tx, WaiterId};
use crate::spec::{CommandError, errors};
use crate::values::{Hash, Value};
use lockwheel_resp::number;

pub(super) const LOCK_MODE: CommandError = CommandError::text("LOCKMODE the key holds a read-write lock");
const OWNER: CommandError = CommandError::text("ERR invalid owner");

/// Requires that the owner in this field holds the lock by the grant of this token.
pub(super) fn check_token(tx: &Tx<'_>, key: &[u8], field: &[u8], token: i64) -> Result<(), CommandError> {
    let current = ledger::grant(tx, key, field).map(|grant| grant.number);
    if current.is_some_and(|current| i64::try_from(current) == Ok(token)) {
        return Ok(());
    }
    Err(CommandError::new(format!("STALE token {token}, current {}", or_none(current))))
}

/// A grant's number, as error texts show it.
pub(super) fn or_none(grant: Option<u64>) -> String {
    grant.map_or_else(|| "none".to_owned(), |number| number.to_string())
}

/// Checks that a name can stand in a lock's hash without being mistaken for something else.
pub(super) fn check_owner(owner: &[u8]) -> Result<&[u8], CommandError> {
    if owner.is_empty() || owner == MODE_FIELD || owner.ends_with(WRITE_SUFFIX) {
        Err(OWNER)
    } else {
        Ok(owner)
    }
}

/// The state of a lock for one owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ownership {
    /// It has no holder.
    Free,
    /// The owner holds it so many times.
    Mine(i64),
    /// Another owner holds it.
    Others,
}

/// The state of the plain lock `key` for `owner`.
///
/// Errors: the key holds another type, a read-write lock, or a count that is none.
pub(super) fn ownership(tx: &mut Tx<'_>, key: &[u8], owner: &[u8]) -> Result<Ownership, CommandError> {
    let Some(hash) = tx.read::<Hash>(key)? else { return Ok(Ownership::Free) };
    if hash.contains(MODE_FIELD) {
        return Err(LOCK_MODE);
    }
    match hash.get(owner) {
        None => Ok(Ownership::Others),
        Some(count) => number::parse_i64(count).map(Ownership::Mine).ok_or(errors::HASH_VALUE_NOT_AN_INTEGER),
    }
}

/// The waiters on a lock whose owner holds it already, in order of arrival.
pub(super) fn waiting_holders(tx: &Tx<'_>, key: &[u8]) -> Vec<WaiterId> {
    let Some(value) = tx.peek(key) else { return Vec::new() };
    let mut waiting: Vec<(u64, WaiterId)> = match value {
        // A large hash, which may be no lock, is not walked.
        Value::Hash(hash) if hash.len() > tx.names_waiting(key).len() => {
            let names = tx.names_waiting(key).filter(|name| hash.contains(name));
            names.flat_map(|name| tx.waiting_as(key, name)).collect()
        }
        Value::Hash(hash) => hash.iter().flat_map(|(owner, _)| tx.waiting_as(key, owner)).collect(),
        _ => Vec::new(),
    };
    waiting.sort_unstable();
    waiting.into_iter().map(|(_, id)| id).collect()
}
