//! Functions by which commands reach the leases of connections within their transaction.

use super::super::records;
use super::super::session_leases::SessionLease;
use lockwheel_store::keyspace::Tx;

/// Begins a lease of a connection: renewed by the server, given back at its end. The id is a grant's number. O(log n).
pub(in crate::locks) fn begin(tx: &mut Tx<'_>, id: u64, lease: SessionLease) {
    let now_ms = tx.now().monotonic_ms();
    records::with_leases(tx, |leases| leases.begin(id, lease, now_ms));
    records::leased_to_session(tx, id);
}

/// Keeps a hold that connections lease at least as long as their leases, after a command has set its lease. O(log n).
pub(in crate::locks) fn uphold(tx: &mut Tx<'_>, id: u64) {
    if records::leases(tx).is_empty() {
        return;
    }
    let now_ms = tx.now().monotonic_ms();
    for lease in records::leases(tx).by_id(id) {
        if (lease.kind.renew)(tx, id, &lease) > 0 {
            records::with_leases(tx, |leases| leases.renewed((id, lease.session), now_ms));
        }
    }
}

/// Returns the longest lease of the connections that lease a hold, in milliseconds. O(log n).
pub(in crate::locks) fn longest_ms(tx: &Tx<'_>, id: u64) -> Option<i64> {
    records::leases(tx).by_id(id).iter().map(|lease| lease.lease_ms).max()
}

/// Whether connections lease the holds in a field. O(log n).
pub(in crate::locks) fn lease_some(tx: &Tx<'_>, key: &[u8], field: &[u8]) -> bool {
    let leases = records::leases(tx);
    !leases.is_empty()
        && records::grant(tx, key, field).is_some_and(|grant| leases.get(grant.number).is_some())
}

/// Changes the holds that this client leases: it took one more without a lease, or gave one back. O(log n).
pub(in crate::locks) fn add_holds(tx: &mut Tx<'_>, id: u64, more: i64) {
    if let Some(session) = tx.client().filter(|_| !records::leases(tx).is_empty()) {
        records::with_leases(tx, |leases| leases.add_holds(id, session, more));
    }
}
