//! The counter of a fenced lock, which Redisson's fenced locks use, too.

use super::super::redisson::token_key;
use crate::spec::{CommandError, errors};
use lockwheel_store::keyspace::{KeyRequest, Tx, events};
use lockwheel_store::values::{Str, Value};

pub(in crate::locks) const NOT_A_COUNTER: &str =
    "ERR value is not an integer or out of range: the token counter of the lock is not an integer";
pub(in crate::locks) const NEGATIVE_COUNTER: &str =
    "ERR value is out of range, must be positive: the token counter of the lock is negative";
const NO_NUMBER: CommandError = CommandError::text(NOT_A_COUNTER);
const NEGATIVE: CommandError = CommandError::text(NEGATIVE_COUNTER);

/// Increments the counter and returns the next token. Fails, without a change, if it is not a number or at its end.
pub(in crate::locks) fn next(tx: &mut Tx<'_>, key: &[u8]) -> Result<u64, CommandError> {
    let token = following(tx, key)?;
    let name = token_key(key);
    let text = token.to_string();
    tx.set(&name, Value::Str(Str::new(text.as_bytes())), true);
    tx.changed(&name, events::INCRBY);
    tx.propagate_key(&name, &[KeyRequest::SetAndKeepDeadline(text.as_bytes())]);
    Ok(token)
}

/// Returns the next number of the counter, without a change.
pub(super) fn following(tx: &mut Tx<'_>, key: &[u8]) -> Result<u64, CommandError> {
    let last = match tx.get(&token_key(key)) {
        None => 0,
        Some(Value::Str(text)) => text.to_i64().ok_or(NO_NUMBER)?,
        Some(_) => return Err(errors::WRONG_TYPE),
    };
    let token = last.checked_add(1).ok_or(errors::INCREMENT_OVERFLOW)?;
    u64::try_from(token).map_err(|_| NEGATIVE)
}
