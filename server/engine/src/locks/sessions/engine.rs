//! The engine's work on the leases of connections: it renews them in time, and gives them back at the end.

use super::super::records::{leases, with_leases};
use super::super::session_leases::SessionLeases;
use lockwheel_store::keyspace::{Keyspace, Tx};
use lockwheel_store::time::Now;

/// Returns when the next lease of a connection is to be renewed, in milliseconds of the monotonic clock. O(log n).
pub(crate) fn next_renewal(keyspace: &mut Keyspace, session: u64, now: Now) -> Option<i64> {
    leases(&keyspace.tx(0, now)).first_of(session).map(|(due_ms, _)| due_ms)
}

/// Whether a connection has leases. O(log n).
pub(crate) fn has_leases(keyspace: &mut Keyspace, session: u64, now: Now) -> bool {
    leases(&keyspace.tx(0, now)).has(session)
}

/// The largest number of leases of one connection that are renewed before other connections are looked after.
const MAX_RENEWED_AT_ONCE: u64 = 8192;

/// Renews the leases of a connection that are due, and gives back those whose client has been silent for too long. The
/// client was last heard at `heard_at_ms`. Returns the number of handled holds and permits. Once it reaches
/// [`MAX_RENEWED_AT_ONCE`], the rest is still due. O(log n) each.
pub(crate) fn renew_due(keyspace: &mut Keyspace, session: u64, heard_at_ms: i64, now: Now) -> u64 {
    let (mut tx, mut count) = (keyspace.tx(0, now), 0);
    while let Some((due_ms, id)) = leases(&tx).first_of(session)
        && due_ms <= now.monotonic_ms()
        && count < MAX_RENEWED_AT_ONCE
    {
        count += match leases(&tx).silent_at_ms((id, session)) {
            Some(silent_ms) if silent_ms <= now.monotonic_ms() => hear(&mut tx, (id, session), heard_at_ms),
            _ => renew(&mut tx, (id, session), 0),
        };
    }
    count
}

/// Notes when a lease's client was last heard, and gives it back if too long ago. Returns the handled leases, 1.
fn hear(tx: &mut Tx<'_>, which: (u64, u64), heard_at_ms: i64) -> u64 {
    with_leases(tx, |leases| leases.heard(which, heard_at_ms));
    if leases(tx).silent_at_ms(which).is_some_and(|silent_ms| silent_ms <= tx.now().monotonic_ms()) {
        give_back_one(tx, which);
    }
    1
}

/// Renews all leases as if it were `later_ms` later. Returns the connections that have leases. `waits` says whether a
/// client waits; such a client cannot say anything. O(n log n).
pub(crate) fn renew_all(
    keyspace: &mut Keyspace,
    later_ms: i64,
    waits: impl Fn(u64) -> bool,
    now: Now,
) -> Vec<u64> {
    let mut tx = keyspace.tx(0, now);
    for which in leases(&tx).all() {
        if waits(which.1) {
            with_leases(&mut tx, |leases| leases.heard(which, now.monotonic_ms().saturating_add(later_ms)));
        }
        renew(&mut tx, which, later_ms);
    }
    leases(&tx).sessions()
}

/// Renews a lease, or ends it if its hold is gone. Returns the number of handled holds and permits, at least 1.
fn renew(tx: &mut Tx<'_>, which: (u64, u64), later_ms: i64) -> u64 {
    let Some(mut lease) = leases(tx).of_session(which).cloned() else { return 1 };
    tx.select(lease.db);
    let now_ms = tx.now().monotonic_ms().saturating_add(later_ms);
    lease.lease_ms = lease.lease_ms.saturating_add(later_ms);
    let renewed = (lease.kind.renew)(tx, which.0, &lease);
    with_leases(tx, |leases| match renewed {
        0 => leases.end(which.0),
        _ => leases.renewed(which, now_ms),
    });
    renewed.max(1)
}

/// Gives back everything that a connection has leased, in the order in which it was taken. O(n log n).
pub(crate) fn give_back(keyspace: &mut Keyspace, session: u64, now: Now) {
    let mut tx = keyspace.tx(0, now);
    for id in leases(&tx).of(session) {
        give_back_one(&mut tx, (id, session));
    }
}

/// Ends all leases. The locks and permits stay as they are. O(n log n).
pub(crate) fn drop_all(keyspace: &mut Keyspace, now: Now) {
    with_leases(&mut keyspace.tx(0, now), SessionLeases::clear);
}

fn give_back_one(tx: &mut Tx<'_>, (id, session): (u64, u64)) {
    let Some(lease) = leases(tx).of_session((id, session)).cloned() else { return };
    with_leases(tx, |leases| drop(leases.end_one(id, session)));
    let of_others = leases(tx).holds_of(id);
    tx.select(lease.db);
    (lease.kind.give_back)(tx, id, &lease, of_others);
}
