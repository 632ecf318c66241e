//! One lease of a connection.

use lockwheel_store::keyspace::Tx;

/// What is leased, and how: one constant for each family of commands.
#[derive(Debug)]
pub(in crate::locks) struct LeaseKind {
    /// Makes the lease last for so many milliseconds from now, unless it lasts longer already; whether it is still
    /// held. `id` is that of the lease.
    pub(in crate::locks) renew: fn(&mut Tx<'_>, id: u64, lease: &SessionLease) -> bool,
    /// Gives back what is leased, because the connection has ended: its holds, as far as no other connection has leased
    /// so many by the same id.
    pub(in crate::locks) give_back: fn(&mut Tx<'_>, id: u64, lease: &SessionLease, of_others: i64),
}

/// One lease of a connection.
#[derive(Clone, Debug)]
pub(in crate::locks) struct SessionLease {
    /// The connection.
    pub(in crate::locks) session: u64,
    pub(in crate::locks) db: usize,
    pub(in crate::locks) key: Box<[u8]>,
    /// Who holds it: the field of a lock's owner, or the name of a semaphore's.
    pub(in crate::locks) holder: Box<[u8]>,
    /// How many holds the connection has taken.
    pub(in crate::locks) holds: i64,
    /// How long it lasts after each renewal.
    pub(in crate::locks) lease_ms: i64,
    /// How long the client may say nothing before all is given back as if its connection had ended.
    pub(in crate::locks) ping_ms: Option<i64>,
    pub(in crate::locks) kind: &'static LeaseKind,
}

impl SessionLease {
    /// How long after a renewal the next one comes, on the monotonic clock.
    pub(super) fn renewal_ms(&self) -> i64 {
        self.lease_ms / 3
    }
}
