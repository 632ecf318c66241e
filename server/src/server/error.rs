//! Errors that keep a server from starting.

use crate::net::BindError;
use std::{fmt, io};

/// The reason why a server cannot be started.
#[derive(Debug)]
pub enum StartError {
    /// The server cannot listen on an address.
    Bind(BindError),
    /// The file of users cannot be read, or its content is invalid.
    Users(String),
    /// The data file to load cannot be read, or its content is invalid.
    Load(String),
    /// The cluster configuration file cannot be read, or its content is invalid.
    Cluster(String),
    /// The servers of a topology cannot reach one another.
    Topology(&'static str),
    /// The system refuses threads, sockets or signals.
    System(io::Error),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::Bind(error) => error.fmt(f),
            StartError::Users(why) | StartError::Load(why) | StartError::Cluster(why) => f.write_str(why),
            StartError::Topology(why) => f.write_str(why),
            StartError::System(error) => write!(f, "Could not start: {error}"),
        }
    }
}

impl std::error::Error for StartError {}

impl From<BindError> for StartError {
    fn from(error: BindError) -> Self {
        StartError::Bind(error)
    }
}

impl From<io::Error> for StartError {
    fn from(error: io::Error) -> Self {
        StartError::System(error)
    }
}
