//! Whether a session continues with its next request, and what stops the whole server.

use std::time::Duration;

/// Whether a session continues with its next request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It does.
    Continue,
    /// It waits until it is no longer blocked.
    Blocked,
    /// It does not, until [`Engine::poll_output`](super::Engine::poll_output) has been drained: the connection closes,
    /// or the server sleeps or ends.
    Stop,
}

/// What a command has asked for that stops the whole server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// For so long.
    Sleep(Duration),
    /// For good.
    Shutdown,
}
