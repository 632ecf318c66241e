//! What ends a comparison.

use std::fmt;
use std::io;

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a comparison cannot go on. Its text is for the person who started it.
#[derive(Debug)]
pub enum Error {
    /// The system refused something.
    Io {
        /// What was to be done.
        what: String,
        /// What the system said.
        source: io::Error,
    },
    /// A server answered wrongly, or not at all.
    Reply(Box<WrongReply>),
    /// Anything else: a wrong option, a server that does not start.
    Other(String),
}

/// A request and the reply that it should not have got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongReply {
    /// The request as on the wire.
    pub sent: Vec<u8>,
    /// What would have been right, in words or as on the wire.
    pub expected: String,
    /// What came, as on the wire, as far as it came.
    pub came: Vec<u8>,
}

impl Error {
    /// An error of the system while `what` was done: `read /proc/1/stat`.
    pub fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Error {
        let what = what.into();
        move |source| Error::Io { what, source }
    }

    /// An error with a text of its own.
    pub fn other(text: impl Into<String>) -> Error {
        Error::Other(text.into())
    }

    /// The same error, with the server and workload it happened in.
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
