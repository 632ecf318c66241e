//! A client of any server: as much of one as health checks need.

mod address;
mod connection;

pub(crate) use address::{Address, Login, PORT, Target, encoded};
pub(crate) use connection::Connection;
