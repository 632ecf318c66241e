//! What a hold of a native lock is beyond its key: fences, sessions, transfer, eviction, cancelled waits.

mod deadlocks;
mod delays;
mod events;
mod fences;
mod hand_over;
mod holders;
mod jeopardy;
mod sessions;
mod statistics;
mod ticket_attack;
mod tickets;
