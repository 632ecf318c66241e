//! The data of a Lockwheel server, without commands: values and their encodings, databases of keys that expire, the
//! clocks that decide when they expire, and the format of Redis' files.
//!
//! A [`Keyspace`](keyspace::Keyspace) holds the databases. Commands change them through a [`Tx`](keyspace::Tx), which
//! notifies subscribers of each change. The crate has no socket, no thread, and no clock of the system: the caller
//! passes the time in. Programs are meant to use the crate `lockwheel`; this crate's interface follows the needs of its
//! engine.

#![forbid(unsafe_code)]

pub mod keyspace;
pub mod memory;
pub mod pages;
pub mod rdb;
pub mod time;
pub mod values;
