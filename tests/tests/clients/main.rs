//! Real clients, libraries and programs: each behaves on our server as on redis-server.
//!
//! Tests start in the order of their names. Redis' own suite takes longest, so its name comes first.

mod conformance;
mod drivers;
mod interop;
mod oversell;
mod redis_cli;
mod redisson;
mod stand_in;
