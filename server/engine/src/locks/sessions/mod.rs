//! Leases that last as long as a connection.
//!
//! The server renews such a lease when a third of it has passed, on the monotonic clock, and gives back what was leased
//! when the connection ends. What that is, a lock's hold or permits, the kind of the lease knows. The records keep the
//! leases, so that they end with the holds; the engine sets the timers and says when a connection has ended.

mod engine;
mod handle;
mod options;

pub(crate) use engine::{drop_all, give_back, has_leases, next_renewal, renew_all, renew_due};
pub(super) use handle::{add_holds, begin, lease_some, longest_ms, uphold};
pub(super) use options::{lease_ms, least_ms, ping_ms};
