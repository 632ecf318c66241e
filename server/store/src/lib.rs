//! The data of a Lockwheel server, without a command: values and their encodings, databases of keys that expire, the
//! clocks that decide when, and the format of Redis' files.
//!
//! A [`Keyspace`](keyspace::Keyspace) has the databases. Commands change them through a [`Tx`](keyspace::Tx), which
//! tells subscribers of each change. There is no socket, no thread, and no clock of the system: the time is put in. The
//! crate `lockwheel` is what programs are meant to use; this one's interface follows the needs of its engine.

#![forbid(unsafe_code)]

pub mod keyspace;
pub mod memory;
pub mod pages;
pub mod rdb;
pub mod time;
pub mod values;
