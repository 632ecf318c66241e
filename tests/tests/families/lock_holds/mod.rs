//! The properties of a native lock's hold beyond its key: fences, sessions, transfer, eviction, cancelled waits.

mod blows_attack;
mod closed_cycles;
mod crowds;
mod deadlocks;
mod delays;
mod events;
mod fences;
mod hand_offs;
mod hand_over;
mod holders;
mod jeopardy;
mod model_of_waits;
mod queue_attack;
mod sessions;
mod several_options;
mod statistics;
mod thread_attack;
mod ticket_attack;
mod tickets;
mod waits_against_model;
