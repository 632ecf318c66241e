//! Permits that are held as long as a connection.

use super::super::records;
use super::super::session_leases::{LeaseKind, SessionLease};
use super::super::sessions;
use super::holds::{HoldKey, Id, Lease};
use super::{HistoryCause, account, add, change_account, count, ids, note};
use lockwheel_store::keyspace::Tx;

/// The lease of permits. Its id is the number of the grant.
const PERMITS: LeaseKind = LeaseKind { renew, give_back };

/// Keeps the permits of this grant for as long as the connection that has asked for them.
pub(super) fn begin(
    tx: &mut Tx<'_>,
    token: u64,
    key: &[u8],
    owner: &[u8],
    (lease_ms, ping_ms): (i64, Option<i64>),
) {
    let Some(session) = tx.client() else { return };
    let (db, key, holder, kind) = (tx.db(), key.into(), owner.into(), &PERMITS);
    sessions::begin(tx, token, SessionLease { session, db, key, holder, holds: 1, lease_ms, ping_ms, kind });
}

/// Ends the lease of a grant whose permits have been given back, if no permit of the grant is held any more.
pub(super) fn end(tx: &mut Tx<'_>, key: &[u8], owner: &[u8], token: u64) {
    if of_grant(tx, key, owner, token).is_empty() {
        records::with_leases(tx, |leases| leases.end(token));
    }
}

/// Returns the holds of a grant, with their ids.
fn of_grant(tx: &Tx<'_>, key: &[u8], owner: &[u8], token: u64) -> Vec<(HoldKey, i64, Option<Id>)> {
    let holds = account(tx, key, |account| {
        let of_grant = account.holds.of_grant(owner, token);
        of_grant.map(|(place, hold)| (place.clone(), hold.permits, hold.id)).collect()
    });
    holds.unwrap_or_default()
}

fn renew(tx: &mut Tx<'_>, token: u64, lease: &SessionLease) -> u64 {
    let key = &*lease.key;
    let holds = of_grant(tx, key, &lease.holder, token);
    let deadline_ms = tx.now().wall_ms().saturating_add(lease.lease_ms);
    let permits: Vec<Id> = holds.iter().filter_map(|(_, _, id)| *id).collect();
    let are_held = ids::prolong(tx, key, &permits, deadline_ms).unwrap_or(false);
    let plain = holds.iter().filter(|(_, _, id)| id.is_none()).map(|(place, ..)| place);
    let plain: Vec<HoldKey> = plain.cloned().collect();
    if !plain.is_empty() {
        let ((left, out), end) = (seen(tx, key), Lease::new(deadline_ms, tx.next_order()));
        change_account(tx, key, left, out, |account| {
            plain.iter().for_each(|place| account.holds.prolong(place, end));
        });
    }
    if are_held || !plain.is_empty() { holds.len() as u64 } else { 0 }
}

fn give_back(tx: &mut Tx<'_>, token: u64, lease: &SessionLease, _: i64) {
    let key = &*lease.key;
    let (mut places, mut out_ids, mut permits) = (Vec::new(), Vec::new(), 0_i64);
    for (place, count, id) in of_grant(tx, key, &lease.holder, token) {
        places.push(place);
        // Redisson may have given back a permit with an id.
        match id {
            Some(id) if !matches!(ids::deadline_ms(tx, key, &id), Ok(Some(_))) => continue,
            Some(id) => out_ids.push(id),
            None => {}
        }
        permits = permits.saturating_add(count);
    }
    if places.is_empty() {
        return;
    }
    let (left, out) = seen(tx, key);
    change_account(tx, key, left, out, |account| {
        for place in &places {
            account.holds.remove(place);
        }
    });
    let _of_that_type = ids::take_back(tx, key, &out_ids);
    if permits > 0 {
        let _no_room = add(tx, key, permits);
        note(tx, key, &lease.holder, HistoryCause::Disconnected, permits, 0);
    }
}

/// Returns the permits that are left and the number of those with ids that are out, if the keys are of a semaphore.
fn seen(tx: &mut Tx<'_>, key: &[u8]) -> (i64, i64) {
    let left = count::read(tx, key).ok().flatten().unwrap_or(0);
    (left, ids::count(tx, key).unwrap_or(0))
}
