//! Counts in strings, as latches and semaphores store them.

use crate::spec::CommandError;
use lockwheel_store::keyspace::{KeyRequest, Tx, events};
use lockwheel_store::values::{IntText, Str, Value};

pub(super) const NOT_A_COUNT: &str =
    "ERR value is not an integer or out of range: the value of the key is not a count";
const NO_COUNT: CommandError = CommandError::text(NOT_A_COUNT);

/// Returns the count of a key; `None` if it is absent. Fails if the key holds another type, or no integer.
pub(super) fn read(tx: &mut Tx<'_>, key: &[u8]) -> Result<Option<i64>, CommandError> {
    let text = tx.read::<Str>(key)?;
    text.map(|text| text.to_i64().ok_or(NO_COUNT)).transpose()
}

/// Sets the count of a key that holds a count or is absent. Its deadline stays, as with INCRBY.
pub(super) fn write(tx: &mut Tx<'_>, key: &[u8], to: i64) {
    match tx.write::<Str>(key) {
        Ok(Some(edit)) => *edit.value = Str::from_i64(to),
        _ => drop(tx.set(key, Value::Str(Str::from_i64(to)), false)),
    }
    tx.changed(key, events::INCRBY);
    tx.propagate_key(key, &[KeyRequest::SetAndKeepDeadline(&IntText::new(to))]);
}
