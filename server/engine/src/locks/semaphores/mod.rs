//! Semaphores, on the layouts of Redisson's `RSemaphore` and `RPermitExpirableSemaphore`.
//!
//! What is left is a count in a string. Permits with ids stand with their leases in a sorted set beside it, others are
//! known to nobody but the `ledger`: who holds them natively, and until when. All who wait stand in one queue.

mod acquire;
mod give_back;
mod holds;
mod ids;
mod info;
mod ledger;
mod release;
mod renew;
mod session;
mod set;

use super::history::Cause as HistoryCause;
use super::listening::ListeningHandler;
use super::records::PermitsNote;
use super::{count, redisson};
use crate::spec::{BlockingHandler, CommandError, DataHandler, Row, ValidValues, errors};
use lockwheel_store::keyspace::{KeyTimer, Order, Tx};

pub(super) use acquire::CLASS;
pub(crate) use ledger::SemaphoreLedger;

/// The rows of the commands that never wait: what a semaphore has.
pub(super) const SET_ROWS: &[Row<DataHandler>] = set::ROWS;
/// What is given back.
pub(super) const RELEASE_ROWS: &[Row<DataHandler>] = release::ROWS;
/// How long it is held.
pub(super) const RENEW_ROWS: &[Row<DataHandler>] = renew::ROWS;

/// The row of the one that may wait.
pub(super) const BLOCKING_ROWS: &[Row<BlockingHandler>] = acquire::ROWS;

/// The row of the one that sees subscriptions.
pub(super) const LISTENING_ROWS: &[Row<ListeningHandler>] = info::ROWS;

const SUBSCRIBED: &str = "an engine has subscribed its ledger of semaphores";

/// The owner, argument `at`.
fn owner<'a>(args: crate::spec::Args<'a>, at: usize) -> Result<&'a [u8], CommandError> {
    args.get(at).filter(|owner| !owner.is_empty()).ok_or_else(|| {
        CommandError::text("ERR invalid owner")
            .of_argument(at, ValidValues::Value("a name that is not empty"))
    })
}

/// Whether a native command is known to have used a key as a semaphore.
pub(super) fn is_known(tx: &Tx<'_>, key: &[u8]) -> bool {
    account(tx, key, |_| ()).is_some()
}

/// Looks at the account of a semaphore, if there is one.
fn account<T>(tx: &Tx<'_>, key: &[u8], look: impl FnOnce(&ledger::Account) -> T) -> Option<T> {
    let ledger = tx.subscriber::<SemaphoreLedger>().expect(SUBSCRIBED);
    ledger.account(tx.db(), key).map(look)
}

/// Changes the account of a semaphore, in whose key so many permits are left, and sets the timer of its leases.
fn change_account<T>(
    tx: &mut Tx<'_>,
    key: &[u8],
    left: i64,
    ids: i64,
    change: impl FnOnce(&mut ledger::Account) -> T,
) -> T {
    let db = tx.db();
    let (ledger, _) = tx.subscriber_mut::<SemaphoreLedger>().expect(SUBSCRIBED);
    let was_empty = ledger.is_empty();
    let (result, first) = ledger.change(db, key, left.saturating_add(ids), |account| {
        account.observe(left, ids);
        let result = change(account);
        (result, first_end(account))
    });
    if was_empty {
        tx.renew_interests();
    }
    tx.set_key_timer(key, KeyTimer::Lease, first);
    result
}

/// Adds permits to what is left, which is told on the semaphore's channel; what is left then.
///
/// Errors: what is left would overflow.
fn add(tx: &mut Tx<'_>, key: &[u8], permits: i64) -> Result<i64, CommandError> {
    let left = count::read(tx, key)?.unwrap_or(0).checked_add(permits).ok_or(errors::INCREMENT_OVERFLOW)?;
    count::write(tx, key, left);
    publish(tx, key, left);
    Ok(left)
}

fn publish(tx: &mut Tx<'_>, key: &[u8], left: i64) {
    tx.publish(&redisson::semaphore_channel(key), left.to_string().as_bytes());
}

/// How many permits without ids this server has given out natively. O(log n).
pub(super) fn native_permits(tx: &Tx<'_>, key: &[u8]) -> i64 {
    account(tx, key, |account| account.holds.plain()).unwrap_or(0)
}

/// A command, or the end of a lease, has changed so many permits, of which `added` are more in all.
fn note(tx: &mut Tx<'_>, key: &[u8], owner: &[u8], cause: HistoryCause, permits: i64, added: i64) {
    let native = native_permits(tx, key);
    super::records::note_permits(
        tx,
        PermitsNote { key, owner, cause, permits, added, native, lease_ms: None },
    );
}

/// An owner has taken so many, for so long; with `None`, until it gives them back.
fn note_taken(tx: &mut Tx<'_>, key: &[u8], owner: &[u8], permits: i64, lease_ms: Option<i64>) {
    let native = native_permits(tx, key);
    let cause = HistoryCause::Acquire;
    super::records::note_permits(tx, PermitsNote { key, owner, cause, permits, added: 0, native, lease_ms });
}

/// When the first hold of an account ends, in wall milliseconds, and when that was made.
fn first_end(account: &ledger::Account) -> Option<(i64, Order)> {
    account.holds.first_end().map(|(_, lease)| (lease.deadline_ms, lease.order))
}

/// The first hold of a semaphore has ended: its permits are given back.
pub(super) fn end_lease(tx: &mut Tx<'_>, key: &[u8]) {
    let (db, until_ms) = (tx.db(), tx.over_until_ms());
    let (ledger, _) = tx.subscriber_mut::<SemaphoreLedger>().expect(SUBSCRIBED);
    if ledger.account(db, key).is_none() {
        return;
    }
    let (ended, next) = ledger.change(db, key, 0, |account| {
        let owner = account.holds.first_end().map(|((owner, _), _)| owner.clone());
        let ended = owner.zip(account.holds.pop_over(until_ms));
        (ended, first_end(account))
    });
    tx.set_key_timer(key, KeyTimer::Lease, next);
    if let Some((owner, ended)) = ended {
        // Who has set the key to what leaves no room for them, or to a text, gets none back.
        let _no_room = add(tx, key, ended.permits);
        note(tx, key, &owner, HistoryCause::Expired, ended.permits, 0);
    }
}
