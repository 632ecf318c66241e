//! Signals that end the server, and the hang-up of its terminal.

use super::first::first;
use super::shared::Shared;
use super::shutdown::MemberEnd;
use lockwheel_engine::core::EndSignal;
use std::sync::Arc;
use std::time::Duration;
use std::{io, thread};
use tokio::sync::oneshot;

/// The target of the events that name a received signal. Redis logs them without a level.
pub const SIGNAL_LOG: &str = "lockwheel::signal";

/// The number of times that a busy engine is asked to end the server, and the pause between them.
const ATTEMPTS: usize = 10;
const BETWEEN: Duration = Duration::from_millis(10);

/// Ends the server on SIGTERM and SIGINT. Returns whether one of them has arrived.
pub(super) async fn watch(signals: &mut Signals, shared: &Arc<Shared>) -> bool {
    let mut has_come = false;
    while let Some(signal) = shared.shutdown.unless_requested(signals.recv()).await {
        has_come = true;
        let done = end_on_a_thread(shared, signal);
        let is_done_or_not_begun = async {
            let _not_begun = done.await;
        };
        // The order matters: a client may see that the engine knows the first signal before this task does.
        first(is_done_or_not_begun, insist(signals)).await;
    }
    has_come
}

/// Ends the server on a separate thread, so that another signal can be received. The receiver is notified of the end.
fn end_on_a_thread(shared: &Arc<Shared>, signal: EndSignal) -> oneshot::Receiver<()> {
    let (done, receiver) = oneshot::channel();
    let ended = Arc::clone(shared);
    let work = move || {
        let name = match signal {
            EndSignal::Terminate => "SIGTERM",
            EndSignal::Interrupt => "SIGINT",
        };
        match ended.is_loading() {
            true => tracing::warn!(
                target: SIGNAL_LOG,
                "Received shutdown signal during loading, scheduling shutdown."
            ),
            false => tracing::warn!(target: SIGNAL_LOG, "Received {name} scheduling shutdown..."),
        }
        end(&ended, signal, done);
    };
    if thread::Builder::new().name("lockwheel-signal".to_owned()).spawn(work).is_err() {
        shared.end();
    }
    receiver
}

/// Ends the server by its engine, perhaps later for its replicas, or without it if a slow script keeps it busy.
fn end(shared: &Shared, signal: EndSignal, done: oneshot::Sender<()>) {
    let mut done = Some(done);
    let mut tell = || done.take().into_iter().for_each(|done| _ = done.send(()));
    // Servers of one process end together.
    if let Some(membership) = shared.membership.get() {
        return end_all(&membership.ends());
    }
    for _ in 0..ATTEMPTS {
        if shared.shutdown.is_requested() || shared.signalled(signal, &mut tell) {
            return;
        }
        thread::sleep(BETWEEN);
    }
    shared.end();
}

fn end_all(servers: &[MemberEnd]) {
    servers.iter().for_each(|server| (server.end)());
}

/// Ends the other servers on a signal, after the one that catches signals. Returns whether a signal has arrived.
pub(super) async fn watch_for_others(signals: &mut Signals, servers: &[MemberEnd]) -> bool {
    loop {
        let running = servers.iter().find(|server| !server.shutdown.is_requested());
        let Some(running) = running else { return false };
        if running.shutdown.unless_requested(signals.recv()).await.is_some() {
            end_all(servers);
            return true;
        }
    }
}

/// Ends the process on the next signal. A user who sends a second signal does not want to wait for a clean shutdown.
pub(super) async fn insist(signals: &mut Signals) {
    signals.recv().await;
    // Nothing is logged: the log may be what hangs.
    std::process::exit(1);
}

/// The signals that end the server. While this exists, they and the terminal's hang-up do not end the process.
#[cfg(unix)]
pub(super) struct Signals {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
    /// The hang-up, which is caught and ignored, as in Redis.
    _hangup: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    /// Catches the signals. Must be called within a tokio runtime.
    pub(super) fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Signals {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            _hangup: signal(SignalKind::hangup())?,
        })
    }

    async fn recv(&mut self) -> EndSignal {
        let terminate = async {
            self.terminate.recv().await;
            EndSignal::Terminate
        };
        let interrupt = async {
            self.interrupt.recv().await;
            EndSignal::Interrupt
        };
        first(terminate, interrupt).await
    }
}

#[cfg(not(unix))]
pub(super) struct Signals;

#[cfg(not(unix))]
impl Signals {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Signals)
    }

    async fn recv(&mut self) -> EndSignal {
        let _ = tokio::signal::ctrl_c().await;
        EndSignal::Interrupt
    }
}
