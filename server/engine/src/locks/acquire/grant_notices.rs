//! The notices of a grant: to listeners of events, and to the connection that is to be notified when the hold is lost.

use super::super::events::HolderConnection;
use super::super::{records, wait_events};
use lockwheel_resp::Protocol;
use lockwheel_store::keyspace::Tx;

/// Notifies listeners of a grant. `waited_ms`: the time of the wait, if any. From now on, a RESP3 connection is
/// notified of what happens to the hold. A hold without a known grant causes no notice.
#[inline]
pub(in crate::locks) fn notify_grant(
    tx: &mut Tx<'_>,
    (key, owner, field): (&[u8], &[u8], &[u8]),
    waited_ms: Option<u64>,
    protocol: Protocol,
) {
    if waited_ms.is_some() || protocol == Protocol::Resp3 {
        notify(tx, (key, owner, field), waited_ms, protocol);
    }
}

fn notify(
    tx: &mut Tx<'_>,
    (key, owner, field): (&[u8], &[u8], &[u8]),
    waited_ms: Option<u64>,
    protocol: Protocol,
) {
    let Some(grant) = records::grant(tx, key, field).map(|grant| grant.number) else { return };
    if let Some(waited_ms) = waited_ms {
        wait_events::granted(tx, key, owner, grant, waited_ms);
    }
    if protocol == Protocol::Resp3
        && let Some(session) = tx.client()
    {
        let connection = HolderConnection { session, db: tx.db(), key: key.into(), owner: owner.into() };
        records::follow(tx, grant, connection);
    }
}
