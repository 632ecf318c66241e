//! One lease of a connection.

use lockwheel_store::keyspace::Tx;

/// The kind of a lease: its renewal and its return. Each family of commands has one constant.
#[derive(Debug)]
pub(in crate::locks) struct LeaseKind {
    /// Makes the lease last `lease_ms` milliseconds from now, unless it already lasts longer. Returns the number of
    /// holds and permits that were looked at; 0 if none exists any longer. `id` is the id of the lease.
    pub(in crate::locks) renew: fn(&mut Tx<'_>, id: u64, lease: &SessionLease) -> u64,
    /// Gives back the leased holds: the connection has ended. `of_others` remain, which others lease by this id.
    pub(in crate::locks) give_back: fn(&mut Tx<'_>, id: u64, lease: &SessionLease, of_others: i64),
}

#[derive(Clone, Debug)]
pub(in crate::locks) struct SessionLease {
    pub(in crate::locks) session: u64,
    pub(in crate::locks) db: usize,
    pub(in crate::locks) key: Box<[u8]>,
    /// The holder: the field of a lock's owner, or the name of a semaphore's owner.
    pub(in crate::locks) holder: Box<[u8]>,
    /// The number of holds that the connection has taken.
    pub(in crate::locks) holds: i64,
    /// The duration of the lease after each renewal, in milliseconds.
    pub(in crate::locks) lease_ms: i64,
    /// The maximum silence of the client, in milliseconds. After that, the lease ends as if the connection had ended.
    pub(in crate::locks) ping_ms: Option<i64>,
    pub(in crate::locks) kind: &'static LeaseKind,
}

impl SessionLease {
    /// Returns the time from one renewal to the next, in milliseconds of the monotonic clock.
    pub(super) fn renewal_ms(&self) -> i64 {
        self.lease_ms / 3
    }
}
