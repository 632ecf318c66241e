//! Errors that end a comparison.

use std::fmt;
use std::io;

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// An error that ends a comparison. Its text is for the user who started it.
#[derive(Debug)]
pub enum Error {
    /// An error of the system.
    Io {
        /// The operation that failed.
        what: String,
        /// The error of the system.
        source: io::Error,
    },
    /// A server replied wrongly, or not at all.
    Reply(Box<WrongReply>),
    /// Any other error: a wrong option, a server that does not start.
    Other(String),
}

/// A request and its wrong reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongReply {
    /// The request, as on the wire.
    pub sent: Vec<u8>,
    /// The right reply, in words or as on the wire.
    pub expected: String,
    /// The received bytes, as on the wire, perhaps incomplete.
    pub came: Vec<u8>,
}

impl Error {
    /// Wraps a system error. `what` names the operation that failed: `read /proc/1/stat`.
    pub fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Error {
        let what = what.into();
        move |source| Error::Io { what, source }
    }

    /// Creates an error with this text.
    pub fn other(text: impl Into<String>) -> Error {
        Error::Other(text.into())
    }

    /// Adds the server and the workload of the run to an error.
    #[must_use]
    pub fn in_run(self, run: &str) -> Error {
        Error::Other(format!("{run}: {self}"))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Io { what, source } => write!(f, "{what}: {source}"),
            Error::Reply(wrong) => write!(f, "{wrong}"),
            Error::Other(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}

impl fmt::Display for WrongReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "wrong reply\n  sent:     {}\n  expected: {}\n  came:     {}",
            self.sent.escape_ascii(),
            self.expected,
            self.came.escape_ascii()
        )
    }
}
