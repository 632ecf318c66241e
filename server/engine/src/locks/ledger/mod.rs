//! The ledger: what is known of locks beyond the values of their keys.
//!
//! When locks were granted, to which owners, and how holds ended. Redisson's layout has no place for these: the number
//! of a key's only grant stands beside its entry, as a mark; everything else is here. Like every
//! [`Subscriber`](lockwheel_store::keyspace::Subscriber) it is notified of changes of keys, within the command that
//! makes them; native commands reach it through `Tx`. No command on keys shows it.

mod details;
mod exchanges;
mod fair_queues;
mod grant;
mod handle;
mod joint_owners;
mod limits;
mod lock_ledger;
mod lock_names;
mod observed;
mod permits;
mod plain_sets;
mod quiet;
mod read_leases;
mod recent_releases;
mod recording;
mod release;
mod semaphores;
mod settings;
mod subscriber;
mod texts;
mod unleased;

pub(super) use details::{Delay, Detail};
pub(super) use grant::Grant;
pub(super) use handle::{
    acquired, adopt, because, connections, converted, current_grant, current_token, describe, detail,
    ending_as, follow, grant, has_grant, inherit, inherit_permits, is_fenced, is_followed, is_held,
    jeopardy_ms, last_cause, last_loss, last_read_lease, leased, leased_to_session, leases, next_delay,
    next_grant, note_comparison, note_permits, note_unleased, reader_of, record, record_arrival,
    record_conversion, released_partly, renewed, token, wanted_holds, with_leases,
};
pub(crate) use limits::VerifyLimits;
pub(crate) use lock_ledger::LockLedger;
pub(super) use permits::{PermitsNote, is_semaphore_command, permits_of_key};
pub(super) use release::{Release, ReleaseCause};
pub(crate) use settings::{LedgerSettings, configure};

#[cfg(test)]
mod tests;
