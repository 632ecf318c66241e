//! Semaphores, on the layouts of Redisson's `RSemaphore` and `RPermitExpirableSemaphore`.
//!
//! The permits that are left are a count in a string. Permits with ids are in a sorted set beside it, with their
//! leases. Other permits are known only to the `ledger`, with their native owners and ends. All waiters are in one
//! queue.

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

pub(super) const SET_ROWS: &[Row<DataHandler>] = set::ROWS;
pub(super) const RELEASE_ROWS: &[Row<DataHandler>] = release::ROWS;
pub(super) const RENEW_ROWS: &[Row<DataHandler>] = renew::ROWS;

pub(super) const BLOCKING_ROWS: &[Row<BlockingHandler>] = acquire::ROWS;

pub(super) const LISTENING_ROWS: &[Row<ListeningHandler>] = info::ROWS;

const SUBSCRIBED: &str = "an engine has subscribed its ledger of semaphores";

/// Returns the owner, which is argument `at`.
fn owner<'a>(args: crate::spec::Args<'a>, at: usize) -> Result<&'a [u8], CommandError> {
    args.get(at).filter(|owner| !owner.is_empty()).ok_or_else(|| {
        CommandError::text("ERR invalid owner")
            .of_argument(at, ValidValues::Value("a name that is not empty"))
    })
}

pub(super) fn is_known(tx: &Tx<'_>, key: &[u8]) -> bool {
    account(tx, key, |_| ()).is_some()
}

/// Runs `look` on the account of a semaphore, if there is one.
fn account<T>(tx: &Tx<'_>, key: &[u8], look: impl FnOnce(&ledger::Account) -> T) -> Option<T> {
    let ledger = tx.subscriber::<SemaphoreLedger>().expect(SUBSCRIBED);
    ledger.account(tx.db(), key).map(look)
}

/// Changes the account of a semaphore with `left` permits in its key, and sets the timer of its leases.
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

/// Adds permits to those that are left, and publishes the new number, which it returns. Fails on overflow.
fn add(tx: &mut Tx<'_>, key: &[u8], permits: i64) -> Result<i64, CommandError> {
    let left = count::read(tx, key)?.unwrap_or(0).checked_add(permits).ok_or(errors::INCREMENT_OVERFLOW)?;
    count::write(tx, key, left);
    publish(tx, key, left);
    Ok(left)
}

fn publish(tx: &mut Tx<'_>, key: &[u8], left: i64) {
    tx.publish(&redisson::semaphore_channel(key), left.to_string().as_bytes());
}

/// Returns the number of permits without ids that this server has given out natively. O(log n).
pub(super) fn native_permits(tx: &Tx<'_>, key: &[u8]) -> i64 {
    account(tx, key, |account| account.holds.plain()).unwrap_or(0)
}

/// Records a change of permits by a command or by the end of a lease; `added` of them are new.
fn note(tx: &mut Tx<'_>, key: &[u8], owner: &[u8], cause: HistoryCause, permits: i64, added: i64) {
    let native = native_permits(tx, key);
    super::records::note_permits(
        tx,
        PermitsNote { key, owner, cause, permits, added, native, lease_ms: None },
    );
}

/// Records that an owner has taken permits for `lease_ms`; with `None`, until they are given back.
fn note_taken(tx: &mut Tx<'_>, key: &[u8], owner: &[u8], permits: i64, lease_ms: Option<i64>) {
    let native = native_permits(tx, key);
    let cause = HistoryCause::Acquire;
    super::records::note_permits(tx, PermitsNote { key, owner, cause, permits, added: 0, native, lease_ms });
}

/// Returns when the first hold of an account ends, in wall milliseconds, and the order of that deadline.
fn first_end(account: &ledger::Account) -> Option<(i64, Order)> {
    account.holds.first_end().map(|(_, lease)| (lease.deadline_ms, lease.order))
}

/// Gives back the permits of the first hold of a semaphore, which has ended.
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
        // A client that has set the key to a text, or to a number without room for the permits, gets none back.
        let _no_room = add(tx, key, ended.permits);
        note(tx, key, &owner, HistoryCause::Expired, ended.permits, 0);
    }
}
