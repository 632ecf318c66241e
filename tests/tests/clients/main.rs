//! Real clients, libraries and programs: each plays on ours what it plays on redis-server.

mod clients;
mod interop;
mod oversell;
mod redis_cli;
mod redisson;
mod stand_in;
mod tcl_suite;
