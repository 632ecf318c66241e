//! Why a server cannot be started.

use crate::net::BindError;
use std::{fmt, io};

/// A server cannot be started.
#[derive(Debug)]
pub enum StartError {
    /// An address cannot be listened on.
    Bind(BindError),
    /// The file of users cannot be read, or is wrong.
    Users(String),
    /// The file that it is to begin with cannot be read, or is wrong.
    Load(String),
    /// The file of its view of the cluster cannot be read, or is wrong.
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
