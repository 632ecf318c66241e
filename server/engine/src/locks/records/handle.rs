//! Functions by which native commands reach the records within their transaction.

use super::super::events::{HoldNews, HolderConnection, News};
use super::super::history::{Cause, Event, Happening};
use super::super::ledger::{Delay, Detail, Grant, LockLedger, Marked, Release, ReleaseCause};
use super::super::redisson::{self, WRITE_SUFFIX, write_field};
use super::super::session_leases::SessionLeases;
use super::lock_records::LockRecords;
use super::permits::PermitsNote;
use super::recording::recorded;
use lockwheel_store::keyspace::{EntryId, Tx};
use lockwheel_store::values::Value;

fn ledger<'t>(tx: &'t Tx<'_>) -> &'t LockLedger {
    &LockRecords::of(tx).ledger
}

/// Returns the grant by which an owner holds a key, if the server saw it taken. O(log n), n the owners.
pub(in crate::locks) fn grant(tx: &Tx<'_>, key: &[u8], owner: &[u8]) -> Option<Grant> {
    ledger(tx).grant_of(tx.db(), key, tx.marked(key)?, owner)
}

/// Returns the token of an owner's hold of a key, if the server saw it taken. O(log n), n the owners.
pub(in crate::locks) fn token(tx: &Tx<'_>, key: &[u8], owner: &[u8]) -> Option<u64> {
    let grant = grant(tx, key, owner)?;
    Some(ledger(tx).details.token_of(grant.number))
}

/// Returns the details of the hold of this grant, if it has any. O(log n).
pub(in crate::locks) fn detail<'t>(tx: &'t Tx<'_>, grant: u64) -> Option<&'t Detail> {
    ledger(tx).details.get(grant)
}

/// Adds details to the hold of this grant. O(log n).
pub(in crate::locks) fn describe(tx: &mut Tx<'_>, grant: u64, detail: Detail) {
    let db = tx.db();
    LockRecords::of_mut(tx).0.ledger.details.add(db, grant, detail);
}

/// Returns the next delay that is to begin: its database, its key, and its length.
pub(in crate::locks) fn next_delay(tx: &mut Tx<'_>) -> Option<(usize, Box<[u8]>, Delay)> {
    LockRecords::of_mut(tx).0.subscribers.delays.next()
}

/// Records that the key of this entry holds the lease of a native reader's hold of this number. O(log n) leases.
pub(in crate::locks) fn leased(tx: &mut Tx<'_>, at: EntryId, key: &[u8], (owner, hold): (&[u8], i64)) {
    let db = tx.db();
    let (records, mut context) = LockRecords::of_mut(tx);
    records.ledger.read_leases.add((db, key, at), (owner, hold), &mut context);
}

/// Returns the end of a lock's last known lease, if any, and the readers that may have others. O(log n) amortised.
pub(in crate::locks) fn last_read_lease(tx: &mut Tx<'_>, key: &[u8]) -> Option<(i64, Vec<Box<[u8]>>)> {
    let db = tx.db();
    let (records, mut context) = LockRecords::of_mut(tx);
    // The server may not see what scripts do.
    if records.ledger.observes { records.ledger.read_leases.last_end(db, key, &mut context) } else { None }
}

/// Passes the holds of one field to another, by the same grant. The hash of the key still has both fields.
pub(in crate::locks) fn converted(tx: &mut Tx<'_>, at: EntryId, key: &[u8], from: &[u8], to: &[u8]) {
    let db = tx.db();
    let (records, mut context) = LockRecords::of_mut(tx);
    records.ledger.convert((db, key, at), (from, to), &mut context, &mut records.subscribers);
}

pub(in crate::locks) fn record_conversion(tx: &mut Tx<'_>, key: &[u8], to: &[u8]) {
    let (db, now) = (tx.db(), tx.now());
    let (records, context) = LockRecords::of_mut(tx);
    if records.history().is_some()
        && let Some(at) = context.entry(key)
        && let Some(mark) = context.mark(at)
        && let Some(grant) = records.ledger.grant_of(db, key, (context.value(at), mark), to)
    {
        records.record_grant((Event::Converted, None), (db, key, at), to, grant, now, &context);
    }
}

/// Whether an owner that the server saw take it holds a key as a lock. O(1).
pub(in crate::locks) fn is_held(tx: &Tx<'_>, key: &[u8]) -> bool {
    tx.marked(key).is_some_and(|(_, mark)| !matches!(Marked::read(mark), Marked::ReadLease(_)))
}

/// Returns the number of the latest grant among a key's holders. O(n), n the owners.
pub(in crate::locks) fn current_grant(tx: &Tx<'_>, key: &[u8]) -> Option<u64> {
    ledger(tx).current_grant(tx.db(), key, tx.marked(key)?.1)
}

/// Returns the token of the latest grant among a key's holders. O(n), n the owners.
pub(in crate::locks) fn current_token(tx: &Tx<'_>, key: &[u8]) -> Option<u64> {
    current_grant(tx, key).map(|number| ledger(tx).details.token_of(number))
}

/// Whether the token of an owner's hold of a key comes from Redisson's counter. O(log n), n the owners.
pub(in crate::locks) fn is_fenced(tx: &Tx<'_>, key: &[u8], owner: &[u8]) -> bool {
    let grant = grant(tx, key, owner);
    grant.and_then(|grant| detail(tx, grant.number)).is_some_and(|detail| detail.token.is_some())
}

/// Whether a holder of a key has this token. O(n), n the owners.
pub(in crate::locks) fn has_grant(tx: &Tx<'_>, key: &[u8], number: u64) -> bool {
    tx.marked(key).is_some_and(|(_, mark)| ledger(tx).has_grant(tx.db(), key, mark, number))
}

/// Runs `end`. The holds that it ends get this cause, whichever owner the command names.
pub(in crate::locks) fn ending_as<T>(
    tx: &mut Tx<'_>,
    cause: ReleaseCause,
    end: impl FnOnce(&mut Tx<'_>) -> T,
) -> T {
    declare(tx, Some(cause));
    let ended = end(tx);
    declare(tx, None);
    ended
}

fn declare(tx: &mut Tx<'_>, cause: Option<ReleaseCause>) {
    LockRecords::of_mut(tx).0.ledger.declare(cause);
}

/// Runs `end`. The owners of the holds that it ends are notified of this reason for the loss.
pub(in crate::locks) fn because<T>(
    tx: &mut Tx<'_>,
    reason: Option<&[u8]>,
    end: impl FnOnce(&mut Tx<'_>) -> T,
) -> T {
    news(tx).set_reason(reason);
    let ended = end(tx);
    news(tx).set_reason(None);
    ended
}

fn news<'t>(tx: &'t mut Tx<'_>) -> &'t mut News {
    &mut LockRecords::of_mut(tx).0.subscribers.news
}

/// Notifies the connection of a hold when that hold is lost or contended. O(log n).
pub(in crate::locks) fn follow(tx: &mut Tx<'_>, grant: u64, connection: HolderConnection) {
    news(tx).follow(grant, connection);
}

/// Whether any connection is to be notified of its holds, or any client listens.
pub(in crate::locks) fn is_followed(tx: &Tx<'_>) -> bool {
    LockRecords::of(tx).subscribers.news.is_wanted()
}

/// Returns the lock and the native reader whose lease the key is. O(log n), n their leases.
pub(in crate::locks) fn reader_of(tx: &Tx<'_>, key: &[u8]) -> Option<[Box<[u8]>; 2]> {
    let (_, mark) = tx.marked(key)?;
    let Marked::ReadLease(number) = Marked::read(mark) else { return None };
    ledger(tx).read_leases.get(number).map(|lease| [lease.key.clone(), lease.owner.clone()])
}

/// Returns the connections of a hold to notify now that its lease is about to run out. Connections already notified of
/// another hold of this lock at this instant are left out.
pub(in crate::locks) fn untold_of_jeopardy(tx: &mut Tx<'_>, grant: u64) -> Vec<u64> {
    let at_ms = tx.now().wall_ms();
    news(tx).untold_of_jeopardy(grant, at_ms)
}

/// Returns the connections with a wanted hold of a lock. Each comes with the first of these holds by its grant.
pub(in crate::locks) fn wanted_holds<'t>(
    tx: &'t Tx<'_>,
    key: &[u8],
    is_wanted: impl Fn(u64, &HolderConnection) -> bool,
) -> Vec<(u64, &'t HolderConnection)> {
    LockRecords::of(tx).subscribers.news.wanted_holds(tx.db(), key, is_wanted)
}

/// Returns the rest of a lease at which the owner is warned, in milliseconds; 0 for no warning.
pub(in crate::locks) fn jeopardy_ms(tx: &Tx<'_>) -> i64 {
    LockRecords::of(tx).subscribers.jeopardy_ms
}

pub(in crate::locks) fn leases<'t>(tx: &'t Tx<'_>) -> &'t SessionLeases {
    &LockRecords::of(tx).subscribers.leases
}

pub(in crate::locks) fn with_leases(tx: &mut Tx<'_>, change: impl FnOnce(&mut SessionLeases)) {
    let (records, mut context) = LockRecords::of_mut(tx);
    change(&mut records.subscribers.leases);
    records.subscribers.leases.tell(&mut context);
}

/// Returns how an owner last lost a key, until it acquires the key again or the loss is forgotten. O(1).
pub(in crate::locks) fn last_loss(tx: &Tx<'_>, key: &[u8], owner: &[u8]) -> Option<Release> {
    ledger(tx).last_loss(tx.db(), key, owner)
}

/// Returns how the last hold of a key ended, unless it has been forgotten. O(1).
pub(in crate::locks) fn last_cause(tx: &mut Tx<'_>, key: &[u8]) -> Option<ReleaseCause> {
    let db = tx.db();
    let (records, context) = LockRecords::of_mut(tx);
    records.ledger.last_cause(db, key, &context)
}

pub(in crate::locks) struct Acquired {
    pub(in crate::locks) grant: u64,
    /// The token: the number of the grant, unless the lock was taken FENCED.
    pub(in crate::locks) token: u64,
    /// The end of the last hold before this one, unless it has been forgotten.
    pub(in crate::locks) predecessor: Option<ReleaseCause>,
}

/// Records that a native command has written an owner into a key's hash. A re-entry keeps its grant. O(log n).
#[inline]
pub(in crate::locks) fn acquired(
    tx: &mut Tx<'_>,
    at: EntryId,
    key: &[u8],
    owner: &[u8],
    re_entry: bool,
) -> Acquired {
    let (db, now) = (tx.db(), tx.now());
    let (records, mut context) = LockRecords::of_mut(tx);
    records.subscribers.news.listen(&context);
    let mark = context.mark(at);
    if re_entry
        && let Some(mark) = mark
        && let Some(grant) = records.ledger.grant_of(db, key, (context.value(at), mark), owner)
    {
        if records.history().is_some() {
            records.record_grant((Event::Reentered, None), (db, key, at), owner, grant, now, &context);
        }
        let token = records.ledger.details.token_of(grant.number);
        records.subscribers.news.re_entered(&HoldNews {
            db,
            key,
            owner: redisson::owner_of(owner),
            grant: grant.number,
        });
        records.subscribers.news.tell(&mut context);
        return Acquired { grant: grant.number, token, predecessor: None };
    }
    let predecessor = if re_entry { None } else { records.ledger.last_cause(db, key, &context) };
    let grant = records.begin((db, key, at), mark, (owner, true), now, &mut context);
    records.subscribers.news.tell(&mut context);
    Acquired { grant, token: grant, predecessor }
}

/// Adds an entry to the history, if it is on. The running request is the client of the entry.
pub(in crate::locks) fn record(tx: &mut Tx<'_>, happening: Happening<'_>) {
    let (db, now) = (tx.db(), tx.now());
    let (records, _) = LockRecords::of_mut(tx);
    if let Some(history) = records.history_mut() {
        history.record(now, Happening { db, ..happening });
    }
}

/// Records that another owner asks, by LOCK if `native`, for a text set by NX without a lease: perhaps a lock. O(1).
pub(in crate::locks) fn note_unleased(tx: &mut Tx<'_>, key: &[u8], owner: &[u8], native: Option<bool>) {
    let text: Box<[u8]> = match tx.peek(key) {
        Some(Value::Str(text)) => (*text.text()).into(),
        _ => return,
    };
    let (db, now) = (tx.db(), tx.now());
    if *text != *owner {
        let (records, _) = LockRecords::of_mut(tx);
        records.record_unleased((db, key, now), &text, native);
    }
}

/// Records that a client failed to give back a key by a comparison of its text: the text is another's, or gone. O(1).
pub(in crate::locks) fn note_comparison(tx: &mut Tx<'_>, key: &[u8]) {
    let text: Box<[u8]> = match tx.peek(key) {
        Some(Value::Str(text)) => (*text.text()).into(),
        Some(_) => return,
        None => Box::default(),
    };
    let (db, now) = (tx.db(), tx.now());
    let (records, _) = LockRecords::of_mut(tx);
    records.record_comparison((db, key, now), &text);
}

/// Records that the hold of this grant, just taken, lasts as long as a connection.
pub(in crate::locks) fn leased_to_session(tx: &mut Tx<'_>, grant: u64) {
    let (records, _) = LockRecords::of_mut(tx);
    if let Some(history) = records.history_mut() {
        history.leased_to_session(grant);
    }
}

/// Records a change of a semaphore by a native command or by the end of a lease.
pub(in crate::locks) fn note_permits(tx: &mut Tx<'_>, note: PermitsNote<'_>) {
    let (db, now) = (tx.db(), tx.now());
    let client = if tx.client().is_some() { None } else { Some(0) };
    let (records, context) = LockRecords::of_mut(tx);
    if records.history().is_some() {
        records.note_permits((db, now), client, note, &context);
    }
}

/// Records a native release that leaves `left` holds. The end of the last hold needs no such call.
pub(in crate::locks) fn released_partly(tx: &mut Tx<'_>, key: &[u8], owner: &[u8], left: i64) {
    if LockRecords::of(tx).history().is_some()
        && let Some(grant) = grant(tx, key, owner)
    {
        // No request has caused the end of a hold with a declared cause.
        let declared = ledger(tx).declared();
        let (cause, client) = (declared.map_or(Cause::Released, recorded), declared.map(|_| 0));
        let released =
            Happening { native: Some(grant.native), client, ..Happening::new(Event::Released, key, owner) };
        record(tx, Happening { grant: grant.number, holds: left, cause, ..released });
    }
}

/// Records that a native command has renewed an owner's leases: of its read or plain hold, and its write hold.
pub(in crate::locks) fn renewed(tx: &mut Tx<'_>, key: &[u8], owner: &[u8]) {
    let (db, now) = (tx.db(), tx.now());
    let (records, context) = LockRecords::of_mut(tx);
    if records.history().is_none() {
        return;
    }
    for field in [owner, &[owner, WRITE_SUFFIX].concat()] {
        if let Some(at) = context.entry(key)
            && let Some(mark) = context.mark(at)
            && let Some(grant) = records.ledger.grant_of(db, key, (context.value(at), mark), field)
        {
            records.record_grant((Event::Renewed, None), (db, key, at), field, grant, now, &context);
        }
    }
}

/// Gives an owner that a key names the grant that it has on another server. With `replaces`, that grant also replaces a
/// known one. Returns whether the grant is new here. O(log n), n the owners.
pub(in crate::locks) fn inherit(
    tx: &mut Tx<'_>,
    key: &[u8],
    owner: &[u8],
    (grant, replaces): (Grant, bool),
) -> bool {
    let db = tx.db();
    let (records, mut context) = LockRecords::of_mut(tx);
    records.ledger.inherit((db, key), owner, (grant, replaces), &mut context)
}

/// Gives an owner a grant for its hold of a lock that the server did not see it take. The owner waits for several
/// locks, this one among them: once the hold ends, the owner waits for this lock, too. O(log n), n the owners.
pub(in crate::locks) fn adopt(tx: &mut Tx<'_>, key: &[u8], owner: &[u8]) {
    for field in [owner, &write_field(owner)] {
        if grant(tx, key, field).is_none() {
            let number = next_grant(tx);
            inherit(tx, key, field, (Grant { number, native: false }, false));
        }
    }
}

/// Records the permits of a semaphore from another server: their total, and whether it may have begun with none. This
/// server has given out `native` of them before; all others that are not left are out, too. O(log n).
pub(in crate::locks) fn inherit_permits(tx: &mut Tx<'_>, key: &[u8], total: (i64, bool), native: i64) {
    let db = tx.db();
    let (records, context) = LockRecords::of_mut(tx);
    if records.history().is_some() {
        records.inherit_permits((db, key), total, native, &context);
    }
}

pub(in crate::locks) fn record_arrival(tx: &mut Tx<'_>, key: &[u8], owner: &[u8], grant: Grant) {
    let (db, now) = (tx.db(), tx.now());
    let (records, context) = LockRecords::of_mut(tx);
    if let Some(at) = context.entry(key) {
        records.record_arrival((db, key, at), owner, grant, now, &context);
    }
}

/// Returns the number of a grant of something other than a lock, above that of every earlier grant.
pub(in crate::locks) fn next_grant(tx: &mut Tx<'_>) -> u64 {
    LockRecords::of_mut(tx).1.next_number()
}
