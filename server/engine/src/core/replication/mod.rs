//! Replication in the engine: access to both sides, and the effects of their changes.

mod conductor;
mod disk;
mod requests;
mod role;
mod rules;
mod stream;
#[cfg(test)]
mod tests;
mod waits;

pub(super) use conductor::deliver_propagated;
