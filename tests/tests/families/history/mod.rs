//! Waiting during a test, and reading afterwards: `AWAIT.*`, the history of locks, and the check of their invariants.

mod administrator;
mod advance_causes;
mod awaits;
mod crowds;
mod deadlocks;
mod eternal;
mod events;
mod exchanges;
mod fixture;
mod judges;
mod judging;
mod leases;
mod mistakes;
mod permits;
mod plain_sets;
mod released;
mod verify;
mod waiting;
mod waits;
