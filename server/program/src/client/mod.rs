//! A client of any server: as much of one as health checks need.

mod address;
mod connection;
mod trust;

pub(crate) use address::{Address, Login, PORT, Target, encoded};
pub(crate) use connection::Connection;
pub(crate) use trust::Trust;
