//! Limits of memory, and the configuration file that keeps them.

mod account;
mod clients;
mod keys;
mod rewrite;
mod short_of_memory;
