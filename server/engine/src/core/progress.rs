//! Whether a session continues with its next request, and what stops the whole server.

use crate::persistence::FileWorkDone;
use std::io;
use std::time::Duration;

/// Whether a session continues with its next request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The session continues.
    Continue,
    /// The session waits until it is no longer blocked.
    Blocked,
    /// The session stops until [`Engine::poll_output`](super::Engine::poll_output) is drained: the connection closes,
    /// or the server sleeps or ends.
    Stop,
}

/// A stop of the whole server that a command has requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    Sleep(Duration),
    Shutdown,
    Crash(Crash),
}

impl Stop {
    /// Adds this sleep, in microseconds, to what others have asked for.
    pub(super) fn sleep(stop: &mut Option<Stop>, us: u64) {
        let asked_before = match *stop {
            Some(Stop::Sleep(time)) => time,
            _ => Duration::ZERO,
        };
        *stop = Some(Stop::Sleep(asked_before.saturating_add(Duration::from_micros(us))));
    }
}

/// The end of work of the host with files.
#[derive(Debug)]
pub enum DiskEvent {
    /// The file of the background save with this number is written.
    Saved {
        /// The number.
        serial: u64,
        /// The result.
        result: io::Result<()>,
    },
    /// The host has done the work on the files of the log with this number.
    Worked {
        /// The number.
        number: u64,
        /// The result.
        done: FileWorkDone,
    },
    /// A write of the log has failed with this error, or a failure is over.
    LogWritten(io::Result<()>),
    /// A sync of the log that a client waits for has ended.
    LogSynced,
}

/// The way in which DEBUG crashes a server. Nothing is saved, and no client gets a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crash {
    /// The process ends with a segmentation fault signal.
    Segfault,
    /// The process ends with an abort signal.
    Abort,
    /// The process ends with exit code 1.
    Exit,
    /// The process restarts after this number of milliseconds.
    Restart(u64),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleeps_add_up() {
        let mut stop = None;
        Stop::sleep(&mut stop, 5);
        Stop::sleep(&mut stop, 7);
        assert_eq!(stop, Some(Stop::Sleep(Duration::from_micros(12))));
        Stop::sleep(&mut stop, u64::MAX);
        assert!(matches!(stop, Some(Stop::Sleep(time)) if time > Duration::from_secs(1)));
    }
}
