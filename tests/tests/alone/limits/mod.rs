//! Limits of memory, and the configuration file that keeps them.

mod account;
mod clients;
mod keys;
mod parameters;
mod rewrite;
mod short_of_memory;
