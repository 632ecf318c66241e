//! Real clients, libraries and programs: each plays on ours what it plays on redis-server.
//!
//! Tests start in the order of their names. Redis' own suite takes longest by itself, so its name is the first.

mod conformance;
mod drivers;
mod interop;
mod oversell;
mod redis_cli;
mod redisson;
mod stand_in;
