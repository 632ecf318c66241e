//! Masters and replicas: ours with ours, ours with a real redis-server, in both roles.

mod copies;
mod cuts;
mod effects;
mod failover;
mod native_families;
mod native_random;
mod random;
mod rules;
pub(crate) mod servers;
mod shutdown;
mod silent;
mod snapshots;
mod stream;
mod tokens;
mod waits;
