//! What a connection does after a request.

/// What a connection does after a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It goes on with the next one.
    Continue,
    /// It waits until the session is no longer blocked.
    Blocked,
    /// It closes, once the output is written.
    Close,
    /// It sleeps for so many microseconds of real time, and the whole server with it (DEBUG SLEEP).
    Sleep(u64),
    /// The server is to end.
    Shutdown,
}
