//! How commands reach the leases of connections, within their transaction.

use super::super::ledger;
use super::lease::SessionLease;
use crate::keyspace::Tx;

/// A connection leases something from now on: the server renews it, and gives it back when the connection ends. The id
/// is that of a grant. O(log n).
pub(in crate::locks) fn begin(tx: &mut Tx<'_>, id: u64, lease: SessionLease) {
    let now_ms = tx.now().monotonic_ms();
    ledger::with_leases(tx, |leases| leases.begin(id, lease, now_ms));
}
