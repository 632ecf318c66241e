//! The records of locks: the facts that are remembered and recorded about them, and the news for clients.
//!
//! The keyspace notifies [`LockRecords`], its [`Subscriber`](lockwheel_store::keyspace::Subscriber), of changes of keys
//! within their commands. From these it keeps the ledger of holds, which notifies the history, the leases of
//! connections and the news of holds. Native commands reach all of these through `Tx`. No command on keys shows them.

mod access;
mod delays;
mod exchanges;
mod fair_queues;
mod handle;
mod limits;
mod lock_records;
mod permits;
mod plain_sets;
mod recording;
mod semaphores;
mod settings;
mod subscriber;
mod subscribers;
mod texts;
mod unleased;

pub(super) use handle::{
    Acquired, acquired, adopt, because, converted, current_grant, current_token, describe, detail, ending_as,
    follow, grant, has_grant, inherit, inherit_permits, is_fenced, is_followed, is_held, jeopardy_ms,
    last_cause, last_loss, last_read_lease, leased, leased_to_session, leases, next_delay, next_grant,
    note_comparison, note_permits, note_unleased, reader_of, record, record_arrival, record_conversion,
    released_partly, renewed, token, untold_of_jeopardy, wanted_holds, with_leases,
};
pub(crate) use limits::VerifyLimits;
pub(crate) use lock_records::LockRecords;
pub(super) use permits::{PermitsNote, is_semaphore_command, permits_of_key};
pub(crate) use settings::{LedgerSettings, configure};

#[cfg(test)]
mod tests;
