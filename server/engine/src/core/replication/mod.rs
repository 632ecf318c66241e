//! Replication joined to the engine: replicas come and are told what changes; or a master tells what has.

mod cron;
mod failover;
mod following;
mod links;
mod master;
mod replica;
mod rules;
#[cfg(test)]
mod tests;

pub(crate) use following::Following;
pub(crate) use master::Wanted;
pub use replica::ROLE_CHANGES;
