//! The leases of connections: which there are, and when each is to be renewed.

mod lease;
mod leases;

pub(super) use lease::{LeaseKind, SessionLease};
pub(super) use leases::SessionLeases;
