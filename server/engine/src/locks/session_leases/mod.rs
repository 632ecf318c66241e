//! The leases of connections, and the times of their renewals.

mod lease;
mod leases;

pub(super) use lease::{LeaseKind, SessionLease};
pub(super) use leases::SessionLeases;
