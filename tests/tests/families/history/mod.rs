//! What a test waits for and what it reads afterwards: `AWAIT.*`, the history of locks, and whether their invariants
//! held.

mod administrator;
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
mod turned;
mod verify;
mod waiting;
mod waits;
