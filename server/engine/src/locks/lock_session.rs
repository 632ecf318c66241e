//! Holds of locks that last as long as a connection.

use super::held::OwnerHold;
use super::key_changes;
use super::layouts::read_write;
use super::ledger::ReleaseCause;
use super::records;
use super::redisson::{MODE_FIELD, WRITE_SUFFIX};
use super::release;
use super::session_leases::{LeaseKind, SessionLease};
use super::sessions;
use lockwheel_resp::number;
use lockwheel_store::keyspace::Tx;
use lockwheel_store::values::{Hash, Value};

/// The lease of a lock's hold. Its id is the number of the grant.
pub(super) const HELD_LOCK: LeaseKind = LeaseKind { renew, give_back };

/// Whether the owner still holds the lock by that grant.
fn is_held(tx: &Tx<'_>, id: u64, lease: &SessionLease) -> bool {
    records::grant(tx, &lease.key, &lease.holder).is_some_and(|grant| grant.number == id)
}

fn renew(tx: &mut Tx<'_>, id: u64, lease: &SessionLease) -> u64 {
    if !is_held(tx, id, lease) {
        return 0;
    }
    let deadline = tx.now().wall_ms().saturating_add(lease.lease_ms);
    let owner = lease.holder.strip_suffix(WRITE_SUFFIX).unwrap_or(&lease.holder);
    if let Ok(Some(hands)) = read_write::hands(tx, &lease.key, owner) {
        // The key holds the hash that renewing a hold requires.
        let _ = read_write::renew(tx, &lease.key, owner, hands, (deadline, true));
        return 1 + hands.leases().unsigned_abs();
    }
    if tx.deadline(&lease.key).is_none_or(|current| current < deadline) {
        key_changes::set_deadline(tx, &lease.key, deadline);
    }
    1
}

fn give_back(tx: &mut Tx<'_>, id: u64, lease: &SessionLease, of_others: i64) {
    if !is_held(tx, id, lease) {
        return;
    }
    records::ending_as(tx, ReleaseCause::Disconnected, |tx| match tx.peek(&lease.key) {
        Some(Value::Hash(hash)) => {
            let held = held(hash, &lease.holder);
            // If another client gave back a hold, the owner of that hold is not known. So live connections keep theirs.
            let left = held.holds.saturating_sub(lease.holds).max(of_others.min(held.holds));
            if left < held.holds {
                if held.is_read() {
                    read_write::keep_longest(tx, &lease.key, held.field, (held.holds, left));
                }
                // The key holds the hash that releasing a hold requires.
                let _ = release::leave(tx, &lease.key, &held, left.max(0));
                sessions::uphold(tx, id);
            }
        }
        _ if of_others > 0 => {}
        _ => drop(key_changes::delete(tx, &lease.key)),
    });
}

fn held<'l>(hash: &Hash, field: &'l [u8]) -> OwnerHold<'l> {
    let holds = hash.get(field).and_then(number::parse_i64).unwrap_or(1);
    OwnerHold { field, holds, has_mode: hash.contains(MODE_FIELD), is_text: false }
}
