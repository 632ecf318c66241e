//! Warning events: a lease that is about to run out, and habits that may cause a failure later.

use super::events::{HoldNews, announce, push};
use super::layouts::read_write;
use super::records;
use super::redisson::{self, MODE_FIELD};
use crate::spec::CommandError;
use lockwheel_resp::number;
use lockwheel_store::keyspace::{Effect, EventValue, KeyTimer, Keyspace, Order, Tx};
use lockwheel_store::time::Now;
use lockwheel_store::values::Value;

fn text(name: &'static str, text: &[u8]) -> (&'static str, EventValue) {
    (name, EventValue::Text(text.into()))
}

/// Handles the timer for the end of a lease. If little of the lease is left, the owners are notified; the timer is set
/// to the end, since a renewal may come until then. Otherwise the lease has been renewed, and the timer is set later.
pub(super) fn jeopardy(tx: &mut Tx<'_>, key: &[u8]) {
    let (near_ms, now_ms) = (records::jeopardy_ms(tx), tx.now().wall_ms());
    let Some(deadline) = tx.deadline(key).filter(|_| near_ms > 0 && tx.marked(key).is_some()) else { return };
    let left_ms = deadline - now_ms;
    if left_ms > near_ms {
        return look_again(tx, key, deadline - near_ms);
    }
    // At its end a lease is renewed or gone.
    if left_ms > 0 {
        match records::reader_of(tx, key) {
            Some([lock, reader]) if own_end(tx, &lock, &reader) == Some(deadline) => {
                tell_owner_of_jeopardy(tx, &lock, &reader, left_ms);
            }
            Some(_) => {}
            None => tell_of_jeopardy(tx, key, left_ms),
        }
        look_again(tx, key, deadline);
    }
}

/// Sets the timer of a lease that a native re-entry has renewed, unseen by the ledger, so that owners are warned.
pub(super) fn lease_set(tx: &mut Tx<'_>, key: &[u8]) {
    let near_ms = records::jeopardy_ms(tx);
    if let Some(deadline) = tx.deadline(key).filter(|_| near_ms > 0 && tx.marked(key).is_some()) {
        look_again(tx, key, deadline.saturating_sub(near_ms).max(tx.now().wall_ms()));
    }
}

/// Sets timers for leases that a `lock-jeopardy` raised from `before_ms` concerns for the first time. O(n) keys.
pub(crate) fn watch_leases(keyspace: &mut Keyspace, now: Now, before_ms: i64) {
    (0..keyspace.databases()).for_each(|db| watch_leases_in(&mut keyspace.tx(db, now), before_ms));
}

fn watch_leases_in(tx: &mut Tx<'_>, before_ms: i64) {
    let mut keys: Vec<Box<[u8]>> = Vec::new();
    tx.scan(0, usize::MAX, &mut |key, _| keys.push(key.into()));
    let told_ms = tx.now().wall_ms().saturating_add(before_ms);
    for key in keys {
        if tx.deadline(&key).is_some_and(|deadline| deadline > told_ms) {
            lease_set(tx, &key);
        }
    }
}

/// Returns when the longest lease of a native reader ends, if the reader has leases of its own.
fn own_end(tx: &Tx<'_>, key: &[u8], field: &[u8]) -> Option<i64> {
    let Some(Value::Hash(hash)) = tx.peek(key) else { return None };
    let holds = hash.get(field).and_then(number::parse_i64).filter(|_| hash.contains(MODE_FIELD))?;
    records::grant(tx, key, field).filter(|grant| grant.native)?;
    read_write::longest_lease(tx, key, field, holds)
}

fn look_again(tx: &mut Tx<'_>, key: &[u8], at_ms: i64) {
    tx.set_key_timer(key, KeyTimer::Jeopardy, Some((at_ms, Order::default())));
}

/// Notifies listeners of each owner, and each connection once.
fn tell_of_jeopardy(tx: &mut Tx<'_>, key: &[u8], left_ms: i64) {
    if tx.has_server_audience() {
        for field in tx.peek(key).map_or_else(Vec::new, redisson::held_fields) {
            // An owner with a lease of its own is notified of that lease.
            if own_end(tx, key, &field).is_none()
                && let Some(grant) = records::grant(tx, key, &field).map(|grant| grant.number)
            {
                let owner = redisson::owner_of(&field);
                announce(tx, key, "jeopardy", || of_jeopardy(owner, grant, left_ms));
            }
        }
    }
    // The hold of a writer is not a reader's, though its owner may read, too.
    let is_reader = |grant, owner: &[u8]| {
        let grant_of_reader = records::grant(tx, key, owner).map(|grant| grant.number);
        grant_of_reader == Some(grant) && own_end(tx, key, owner).is_some()
    };
    let holds = records::wanted_holds(tx, key, |grant, hold| !is_reader(grant, &hold.owner));
    let pushes: Vec<Effect> = holds
        .into_iter()
        .map(|(grant, hold)| {
            let news = HoldNews { db: tx.db(), key, owner: &hold.owner, grant };
            push(hold.session, "lock-jeopardy", &news, of_jeopardy(&hold.owner, grant, left_ms))
        })
        .collect();
    pushes.into_iter().for_each(|push| tx.push_effect(push));
}

fn of_jeopardy(owner: &[u8], grant: u64, left_ms: i64) -> Vec<(&'static str, EventValue)> {
    let number = EventValue::Number(i64::try_from(grant).unwrap_or(i64::MAX));
    vec![text("owner", owner), ("grant", number), ("ttl", EventValue::Number(left_ms))]
}

fn tell_owner_of_jeopardy(tx: &mut Tx<'_>, key: &[u8], field: &[u8], left_ms: i64) {
    let Some(grant) = records::grant(tx, key, field).map(|grant| grant.number) else { return };
    let owner = redisson::owner_of(field);
    announce(tx, key, "jeopardy", || of_jeopardy(owner, grant, left_ms));
    for session in records::untold_of_jeopardy(tx, grant) {
        let hold = HoldNews { db: tx.db(), key, owner, grant };
        tx.push_effect(push(session, "lock-jeopardy", &hold, of_jeopardy(owner, grant, left_ms)));
    }
}

/// Warns if an owner was refused to give back what it does not hold.
pub(super) fn lint_release(tx: &mut Tx<'_>, key: &[u8], owner: &[u8], error: &CommandError) {
    if [&b"NOTHELD"[..], b"LOCKLOST"].iter().any(|prefix| error.as_bytes().starts_with(prefix)) {
        lint(tx, key, owner, "release-by-other");
    }
}

/// Warns of a habit that may cause a failure later.
pub(super) fn lint(tx: &mut Tx<'_>, key: &[u8], owner: &[u8], habit: &str) {
    announce(tx, key, "lint", || vec![text("owner", owner), text("habit", habit.as_bytes())]);
}
