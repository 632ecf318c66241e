//! Signals that end the server.

use super::shared::Shared;
use std::io;

/// Ends the server on SIGTERM and SIGINT.
pub(super) async fn watch(mut signals: Signals, shared: &Shared) {
    tokio::select! {
        () = signals.recv() => shared.end(),
        () = shared.ended() => {}
    }
}

/// Those signals: from when this is made they no longer end the process.
#[cfg(unix)]
pub(super) struct Signals(tokio::signal::unix::Signal, tokio::signal::unix::Signal);

#[cfg(unix)]
impl Signals {
    /// Must be called within a tokio runtime.
    pub(super) fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Signals(signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?))
    }

    async fn recv(&mut self) {
        tokio::select! {
            _ = self.0.recv() => {}
            _ = self.1.recv() => {}
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
