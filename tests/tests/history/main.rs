//! What a test waits for and what it reads afterwards: `AWAIT.*`, the history of locks, and whether their invariants
//! held.

mod awaits;
mod events;
mod fixture;
mod judges;
mod judging;
mod mistakes;
mod permits;
mod verify;
