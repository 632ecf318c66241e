//! Signals that end the server.

use super::shared::Shared;
use std::io;
use std::sync::Arc;
use std::thread;
use tokio::runtime;

/// Ends the server on SIGTERM and SIGINT.
///
/// They are waited for on a thread of their own: every worker may be held by a slow script or wait for it.
pub(crate) fn watch(shared: Arc<Shared>) -> io::Result<()> {
    let own = runtime::Builder::new_current_thread().enable_io().build()?;
    let mut signals = {
        let _guard = own.enter();
        Signals::new()?
    };
    let wait = move || {
        own.block_on(async {
            tokio::select! {
                () = signals.recv() => shared.end(),
                () = shared.ended() => {}
            }
        });
    };
    thread::Builder::new().name("lockwheel-signal".to_owned()).spawn(wait)?;
    Ok(())
}

#[cfg(unix)]
struct Signals(tokio::signal::unix::Signal, tokio::signal::unix::Signal);

#[cfg(unix)]
impl Signals {
    fn new() -> io::Result<Self> {
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

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Signals)
    }

    async fn recv(&mut self) {
        let _ = tokio::signal::ctrl_c().await;
    }
}
