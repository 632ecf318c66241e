//! The memory of holds that have ended, as the engine sees it.

use super::ledger::LockLedger;
use crate::keyspace::Keyspace;

/// Bytes of what is remembered of holds that have ended. O(1).
pub(crate) fn past_bytes(keyspace: &Keyspace) -> usize {
    let ledger: Option<&LockLedger> = keyspace.subscriber();
    ledger.map_or(0, LockLedger::past_bytes)
}

/// Forgets how holds have ended: keys need the memory.
pub(crate) fn forget_past(keyspace: &mut Keyspace) {
    if let Some(ledger) = keyspace.subscriber_itself::<LockLedger>() {
        ledger.forget_past();
    }
}
