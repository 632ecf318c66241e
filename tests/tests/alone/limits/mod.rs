//! Limits of memory, and the configuration file that stores them.

mod account;
mod clients;
mod keys;
mod parameters;
mod rewrite;
mod short_of_memory;
