//! Leases that last as long as a connection.
//!
//! The server renews such a lease when a third of it has passed, on the monotonic clock. At the end of the connection,
//! the server gives back the lock or the permits. The kind of the lease knows which. The records keep the leases, so
//! that they end with the holds. The engine sets the timers and reports the end of a connection.

mod engine;
mod handle;
mod options;

pub(crate) use engine::{drop_all, give_back, has_leases, next_renewal, renew_all, renew_due};
pub(super) use handle::{add_holds, begin, lease_some, longest_ms, uphold};
pub(super) use options::{lease_ms, least_ms, ping_ms};
