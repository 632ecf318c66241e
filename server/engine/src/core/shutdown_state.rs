//! How a server ends, and how far it is.

use crate::clock::TimerKey;

/// How a server ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ending {
    /// Its keys are saved.
    pub(crate) saves: bool,
    /// It ends also when they could not be.
    pub(crate) is_forced: bool,
    /// No replica is waited for.
    pub(crate) now: bool,
}

impl Ending {
    /// As words of `shutdown-on-sigterm` say.
    pub(super) fn of(words: &[String]) -> Self {
        let has = |name: &str| words.iter().any(|word| word == name);
        Ending { saves: has("save"), is_forced: has("force"), now: has("now") }
    }
}

/// A server that waits for its replicas before it ends.
#[derive(Debug)]
pub(crate) struct ShuttingDown {
    pub(super) ending: Ending,
    /// Ends the wait; none: it is over, and the server ends.
    pub(super) timeout: Option<TimerKey>,
    /// When that is, in real monotonic milliseconds.
    pub(super) until_ms: i64,
}

/// A signal that ends the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndSignal {
    /// SIGTERM.
    Terminate,
    /// SIGINT.
    Interrupt,
}
