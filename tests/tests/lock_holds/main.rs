//! What a hold of a native lock is beyond its key: fences, sessions, transfer, eviction, cancelled waits.

mod deadlocks;
mod events;
mod fences;
mod hand_over;
mod sessions;
