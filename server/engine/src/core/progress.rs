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
    /// In the midst of its work.
    Crash(Crash),
}

/// How DEBUG ends a server in the midst of its work: nothing is saved, and nobody is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crash {
    /// Its process ends by the signal of a wrong access to memory.
    Segfault,
    /// Its process ends by the signal of an abort.
    Abort,
    /// Its process runs anew, after so many milliseconds.
    Restart(u64),
}
