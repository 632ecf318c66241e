//! Holds and permits that another server of the process has granted. A key that a server takes over or receives does
//! not say that it is a lock, or how many permits there are. The history of all servers does.

use super::history::{Cause, Entry, Event, Name, Ring};
use super::history_feed::MergedHistory;
use super::ledger::Grant;
use super::records;
use super::semaphores::native_permits;
use lockwheel_store::keyspace::Keyspace;
use lockwheel_store::time::Now;
use std::collections::BTreeMap;

/// The last grant of an owner, and whether its hold has gone to another server.
#[derive(Clone, Copy, Debug)]
struct LastGrant<'a> {
    db: usize,
    key: &'a [u8],
    owner: &'a [u8],
    grant: Grant,
    has_left: bool,
}

/// Returns the last grants in a history. O(n log n), n its entries.
fn last_grants(ring: &Ring) -> Vec<LastGrant<'_>> {
    let mut last: BTreeMap<(Name, Name), &Entry> = BTreeMap::new();
    for (_, entry) in ring.after(0) {
        let is_of_hold = matches!(
            entry.event,
            Event::Acquired | Event::Reentered | Event::Renewed | Event::Converted | Event::Lost
        );
        if is_of_hold && entry.grant > 0 && entry.native().is_some() {
            last.insert((entry.key, entry.owner), entry);
        }
    }
    let of = |((key, owner), entry): ((Name, Name), &Entry)| LastGrant {
        db: ring.db(key).unwrap_or(0),
        key: ring.text(key),
        owner: ring.text(owner),
        grant: Grant { number: entry.grant, native: entry.native() == Some(true) },
        has_left: (entry.event, entry.cause) == (Event::Lost, Cause::Migrated),
    };
    last.into_iter().map(of).collect()
}

/// Returns the semaphores in a history: their total of permits, and whether each began with none. O(n log n).
fn semaphores(ring: &Ring) -> BTreeMap<Name, (i64, bool)> {
    let mut known = BTreeMap::new();
    for (_, entry) in ring.after(0).filter(|(_, entry)| entry.event == Event::Permits) {
        let of_before = known.remove(&entry.key);
        if let Some(total) = entry.total() {
            let is_signal = match entry.cause {
                Cause::Init => total == 0,
                _ => of_before.is_some_and(|(_, is_signal)| is_signal),
            };
            known.insert(entry.key, (total, is_signal));
        }
    }
    known
}

/// Takes over holds and permits for the keys that this server has. Grants and totals stay.
pub(super) fn inherit_holds(keyspace: &mut Keyspace, history: &MergedHistory, now: Now) {
    let ring = history.ring();
    for (key, total) in semaphores(ring) {
        let (mut tx, key) = (keyspace.tx(ring.db(key).unwrap_or(0), now), ring.text(key));
        let native = native_permits(&tx, key);
        records::inherit_permits(&mut tx, key, total, native);
    }
    for last in last_grants(history.ring()) {
        records::inherit(&mut keyspace.tx(last.db, now), last.key, last.owner, (last.grant, true));
    }
}

/// Takes over the holds of keys that MIGRATE has brought, according to the history of this server.
pub(super) fn receive_holds(keyspace: &mut Keyspace, history: &MergedHistory, now: Now) {
    for last in last_grants(history.ring()).into_iter().filter(|last| last.has_left) {
        let tx = &mut keyspace.tx(last.db, now);
        if records::inherit(tx, last.key, last.owner, (last.grant, false)) {
            records::record_arrival(tx, last.key, last.owner, last.grant);
        }
    }
}
