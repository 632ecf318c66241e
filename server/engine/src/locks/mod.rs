//! Native locks, on Redisson's own layout: an RLock in Java and a `LOCK.ACQUIRE` exclude each other.
//!
//! A plain lock is a hash that maps its owner to the number of holds, with the lease as its deadline. Releasing the
//! lock publishes what Redisson's script would. Facts that keys cannot express are in `ledger` and `records`; all other
//! state is in the keyspace. The engine parks waiters and retries them when the key changes, whatever changed it. First
//! come, first served. Redisson's names are in `redisson` alone.

mod acquire;
mod channel_waiters;
mod channels;
mod check;
mod convert;
mod count;
mod declared;
mod delays;
mod events;
mod fences;
mod force_unlock;
mod full_info;
mod grant_delay;
mod grants;
pub(crate) mod graph;
mod held;
mod history;
mod history_command;
mod history_feed;
mod history_readings;
mod history_work;
mod info;
mod inheritance;
mod key_changes;
mod latches;
mod layouts;
mod ledger;
mod listening;
mod lock_session;
mod multi_release;
mod options;
mod ownership;
mod past;
mod rates;
mod records;
mod redisson;
mod refusals;
mod release;
mod renew;
mod scan;
mod semaphores;
mod session_leases;
pub(crate) mod sessions;
mod snapshot;
mod statistics;
mod throttle;
mod transfer;
mod verify;
pub(crate) mod wait_events;
mod wait_queue;
mod warnings;

use self::records::LockRecords;
use crate::spec::{BlockingHandler, DataHandler, Row};
use lockwheel_store::keyspace::{KeyTimer, Keyspace, Tx};

pub(crate) use channel_waiters::channel_waiters;
pub(crate) use delays::follow_up;
pub(crate) use grant_delay::{GrantDelay, grant_delay, release_due};
pub(crate) use grants::Grants;
pub(crate) use graph::ListenerCount;
pub use history::StampSource;
pub(crate) use history::{
    By as HistoryBy, Cause as HistoryCause, Event as HistoryEvent, Filter as HistoryFilter, Happening,
    Request as HistoryRequest,
};
pub(crate) use history_command::{OFF as HISTORY_IS_OFF, check_request as check_history_request};
pub(crate) use history_feed::{
    HistoryReader, MergedHistory, MergingHistory, answer_kept, clock_turned, failing_over, happened,
    history_is_read, mute_history, recorded, recorded_from, request_begins, request_goes_on, request_turns,
};
pub(crate) use history_readings::{HistoryReadings, ReadingRequest};
pub(crate) use history_work::HistoryHandler;
pub(crate) use info::snapshot;
pub(crate) use listening::ListeningHandler;
pub(crate) use past::{bytes_apart_from_keys, fence_bytes, forget_past, past_bytes};
pub(crate) use records::{LedgerSettings, VerifyLimits, configure as configure_ledger};
pub(crate) use redisson::{known_name, lock_of_channel, waiter_of_channel};
pub(crate) use refusals::{ReplySummary, call_ended, has_script_acted};
pub use snapshot::{LockHolder, LockLayout, LockMode, LockSnapshot, LockWaiter};
pub(crate) use verify::check_request as check_verify_request;
pub(crate) use wait_queue::{LOCK_LINE, SEVERAL, can_be_held_back, noted_mode, shares};
pub(crate) use warnings::watch_leases;

pub(crate) const ROWS: &[&[Row<DataHandler>]] = &[
    info::ROWS,
    release::ROWS,
    multi_release::ROWS,
    renew::ROWS,
    transfer::ROWS,
    force_unlock::ROWS,
    check::ROWS,
    fences::ROWS,
    latches::ROWS,
    semaphores::SET_ROWS,
    semaphores::RELEASE_ROWS,
    semaphores::RENEW_ROWS,
    rates::ROWS,
    throttle::ROWS,
    declared::ROWS,
];

pub(crate) const HISTORY_ROWS: &[&[Row<HistoryHandler>]] =
    &[history_command::ROWS, verify::ROWS, statistics::ROWS];

pub(crate) const LISTENING_ROWS: &[&[Row<ListeningHandler>]] =
    &[info::LISTENING_ROWS, scan::LISTENING_ROWS, graph::LISTENING_ROWS, semaphores::LISTENING_ROWS];

pub(crate) const BLOCKING_ROWS: &[&[Row<BlockingHandler>]] = &[
    acquire::ROWS,
    acquire::SEVERAL_ROWS,
    convert::ROWS,
    latches::BLOCKING_ROWS,
    semaphores::BLOCKING_ROWS,
    rates::BLOCKING_ROWS,
];

/// Subscribes the state of locks beyond their keys. The seed decides the hash of keys.
pub(crate) fn subscribe(keyspace: &mut Keyspace, seed: u64) {
    LockRecords::subscribe(keyspace, seed);
    keyspace.subscribe(Box::new(fences::Fences::default()));
    keyspace.subscribe(Box::new(latches::LatchEnds::default()));
    keyspace.subscribe(Box::new(semaphores::SemaphoreLedger::default()));
}

pub(crate) fn key_timer_fired(tx: &mut Tx<'_>, key: &[u8], timer: KeyTimer) {
    match timer {
        KeyTimer::Lease => semaphores::end_lease(tx, key),
        KeyTimer::Jeopardy => warnings::jeopardy(tx, key),
        KeyTimer::Retry => tx.wake_waiters(key),
    }
}

pub(crate) fn history_handler(name: &str) -> Option<HistoryHandler> {
    let mut rows = HISTORY_ROWS.iter().copied().flatten();
    rows.find(|row| row.spec.name == name).and_then(|row| row.handler)
}
