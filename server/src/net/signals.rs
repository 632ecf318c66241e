//! Signals: those that end the server, and the hang-up of its terminal.

use super::shared::Shared;
use std::io;

/// Ends the server on SIGTERM and SIGINT. Whether one of them did.
pub(super) async fn watch(signals: &mut Signals, shared: &Shared) -> bool {
    tokio::select! {
        () = signals.recv() => {
            shared.end();
            true
        }
        () = shared.shutdown.requested() => false,
    }
}

/// Ends the process on the next one: who sends a second signal does not want to wait until all is tidied up.
pub(super) async fn insist(signals: &mut Signals) {
    signals.recv().await;
    // Without a word: the log may be what it hangs on.
    std::process::exit(1);
}

/// Those signals: once this exists they no longer end the process, and neither does the hang-up of its terminal.
#[cfg(unix)]
pub(super) struct Signals {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
    /// Caught and ignored, as in Redis.
    _hangup: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    /// Must be called within a tokio runtime.
    pub(super) fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Signals {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            _hangup: signal(SignalKind::hangup())?,
        })
    }

    async fn recv(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// Those signals.
#[cfg(not(unix))]
pub(super) struct Signals;

#[cfg(not(unix))]
impl Signals {
    /// Must be called within a tokio runtime.
    pub(super) fn new() -> io::Result<Self> {
        Ok(Signals)
    }

    async fn recv(&mut self) {
        let _ = tokio::signal::ctrl_c().await;
    }
}
