//! A lock that is one string with its owner, as `SET key owner NX PX` makes it. Redlock and most libraries use it.

use super::super::records;
use super::Standing;
use crate::spec::{CommandError, errors};
use lockwheel_store::keyspace::{EntryId, KeyRequest, Tx, events};
use lockwheel_store::values::{Str, Value};

/// Returns the state of the lock; there is no re-entry. Fails if the owner holds it, or the key holds another type.
pub(super) fn standing(tx: &mut Tx<'_>, key: &[u8], owner: &[u8]) -> Result<Standing, CommandError> {
    match tx.get(key) {
        None => Ok(Standing::Free),
        Some(Value::Str(text)) if *text.text() == *owner => {
            Err(CommandError::text("REENTRANT this owner already holds the lock"))
        }
        Some(Value::Str(_)) => Ok(Standing::Others),
        Some(_) => Err(errors::WRONG_TYPE),
    }
}

pub(super) fn take(tx: &mut Tx<'_>, key: &[u8], owner: &[u8], lease_ms: i64) -> EntryId {
    let deadline = tx.now().wall_ms().saturating_add(lease_ms);
    let at = tx.set(key, Value::Str(Str::new(owner)), false);
    tx.set_deadline(key, deadline);
    tx.changed(key, events::SET);
    tx.changed(key, events::EXPIRE);
    tx.propagate_key(key, &[KeyRequest::Set(owner), KeyRequest::ExpireAt(deadline)]);
    at
}

/// Whether an owner holds a lock that is a string; `None` if the key holds no such lock.
pub(in crate::locks) fn holds(tx: &Tx<'_>, key: &[u8], owner: &[u8]) -> Option<bool> {
    match tx.peek(key) {
        Some(Value::Str(text)) if *text.text() == *owner => Some(true),
        Some(Value::Str(text)) => records::grant(tx, key, &text.text()).map(|_| false),
        _ => None,
    }
}
