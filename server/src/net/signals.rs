//! Signals: those that end the server, and the hang-up of its terminal.

use super::shared::Shared;
use lockwheel_engine::core::EndSignal;
use std::io;
use std::time::Duration;

/// How often, and how many milliseconds apart, the engine is asked to end the server while it is busy.
const ATTEMPTS: usize = 10;
const BETWEEN_MS: u64 = 10;

/// Ends the server on SIGTERM and SIGINT. Whether one of them has come.
pub(super) async fn watch(signals: &mut Signals, shared: &Shared) -> bool {
    let mut has_come = false;
    loop {
        tokio::select! {
            signal = signals.recv() => {
                has_come = true;
                end(shared, signal).await;
            }
            () = shared.shutdown.requested() => return has_come,
        }
    }
}

/// The engine ends the server, perhaps later, for the sake of its replicas; a script that takes long is no reason to go
/// on.
async fn end(shared: &Shared, signal: EndSignal) {
    // Servers of one process end together.
    if shared.membership.get().is_some() {
        return shared.end();
    }
    for _ in 0..ATTEMPTS {
        if shared.shutdown.is_requested() || shared.signalled(signal) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(BETWEEN_MS)).await;
    }
    shared.end();
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

    async fn recv(&mut self) -> EndSignal {
        tokio::select! {
            _ = self.terminate.recv() => EndSignal::Terminate,
            _ = self.interrupt.recv() => EndSignal::Interrupt,
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

    async fn recv(&mut self) -> EndSignal {
        let _ = tokio::signal::ctrl_c().await;
        EndSignal::Interrupt
    }
}
