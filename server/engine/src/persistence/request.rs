//! Requests of clients for saves.

use super::Persistence;

/// The parts of the engine that a save command sees.
#[derive(Debug)]
pub(crate) struct SavesView<'e> {
    /// The state of saves.
    pub(crate) saves: &'e mut Persistence,
    /// The start of the server, in wall milliseconds.
    pub(crate) started_ms: i64,
    /// Whether the command runs in a transaction.
    pub(crate) is_in_transaction: bool,
}

/// A save that a client has asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SaveRequest {
    /// No save: the client has its reply.
    Nothing,
    /// A save that blocks the server, after which the client is answered.
    AtOnce,
    /// A save in the background.
    InBackground,
    /// A save in the background, to begin when the present transaction has ended.
    Scheduled,
    /// A rewrite of the append-only file, after which the client is answered.
    Rewrite {
        /// Whether the rewrite begins when the present transaction or another save has ended.
        is_later: bool,
    },
}
