//! Replication joined to the engine: replicas come and are told what changes; or a master tells what has.

mod cron;
mod failover;
mod links;
mod master;
mod replica;
mod requests;
mod rules;
#[cfg(test)]
mod tests;
mod waits;

pub use replica::ROLE_CHANGES;
