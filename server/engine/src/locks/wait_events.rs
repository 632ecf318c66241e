//! Events of waiters for locks, and of holders whose locks are waited for.

use super::events::{HoldNews, announce, effect, push};
use super::records;
use lockwheel_store::keyspace::{EventValue, Keyspace, Tx};
use lockwheel_store::time::Now;

fn owner_field(owner: &[u8]) -> (&'static str, EventValue) {
    ("owner", EventValue::Text(owner.into()))
}

/// Reports that an owner begins to wait. Each holder's connection is notified once that the lock is contended.
pub(super) fn queued(tx: &mut Tx<'_>, key: &[u8], owner: &[u8]) {
    announce(tx, key, "queued", || vec![owner_field(owner)]);
    if !records::is_followed(tx) {
        return;
    }
    let mut pushes = Vec::new();
    for (grant, hold) in records::wanted_holds(tx, key, |_, hold| *hold.owner != *owner) {
        let number = i64::try_from(grant).unwrap_or(i64::MAX);
        let told = vec![
            owner_field(&hold.owner),
            ("grant", EventValue::Number(number)),
            ("waiter", EventValue::Text(owner.into())),
        ];
        let news = HoldNews { db: tx.db(), key, owner: &hold.owner, grant };
        pushes.push(push(hold.session, "lock-contended", &news, told));
    }
    pushes.into_iter().for_each(|push| tx.push_effect(push));
}

/// Reports that a request was refused because it would close a deadlock.
pub(crate) fn deadlock(tx: &mut Tx<'_>, key: &[u8], owner: &[u8], cycle: &[u8]) {
    announce(tx, key, "deadlock", || vec![owner_field(owner), ("cycle", EventValue::Text(cycle.into()))]);
}

/// Reports that a waiting owner has been served by this grant.
pub(super) fn granted(tx: &mut Tx<'_>, key: &[u8], owner: &[u8], grant: u64, waited_ms: u64) {
    let number = |number| EventValue::Number(i64::try_from(number).unwrap_or(i64::MAX));
    announce(tx, key, "granted", || {
        vec![owner_field(owner), ("grant", number(grant)), ("waited", number(waited_ms))]
    });
}

/// Reports that an owner no longer waits for a lock and was not served: `timedout` or `cancelled`.
pub(crate) fn left(keyspace: &mut Keyspace, now: Now, (db, key): (usize, &[u8]), owner: &[u8], name: &str) {
    let mut tx = keyspace.tx(db, now);
    if tx.has_server_audience() {
        let effect = effect(db, key, name, &[owner_field(owner)]);
        tx.push_effect(effect);
    }
}
