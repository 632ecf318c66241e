//! A client of any server, as far as health checks need one.

mod address;
mod connection;
mod trust;

pub(crate) use address::{Address, Login, PORT, Target, encoded};
pub(crate) use connection::Connection;
pub(crate) use trust::Trust;
