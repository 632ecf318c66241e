//! The server's threads: so many event loops, one that accepts and waits for signals, one that watches scripts.

use super::event_loop;
use super::inbox::Inbox;
use super::listener::Listeners;
use super::shared::{Running, Shared};
use super::timer::Timer;
use super::{signals, watchdog};
use crate::engine::Engine;
use crate::time::Now;
use mio::{Poll, Waker};
use std::io;
use std::sync::Arc;
use std::thread;
use tokio::runtime;

/// Stack of a loop's thread: scripts run on it, and Lua recurses deeply before it refuses.
const STACK: usize = 16 << 20;

/// Threads to be started.
pub(crate) struct Threads {
    polls: Vec<Poll>,
    shared: Arc<Shared>,
}

impl Threads {
    /// `loops` event loops around an engine, at least one.
    pub(crate) fn new(loops: usize, make: impl FnOnce(Now) -> Engine) -> io::Result<Self> {
        let polls = (0..loops.max(1)).map(|_| Poll::new()).collect::<io::Result<Vec<_>>>()?;
        let inbox = |poll: &Poll| Waker::new(poll.registry(), event_loop::MAIL).map(Inbox::new);
        let inboxes = polls.iter().map(inbox).collect::<io::Result<_>>()?;
        Ok(Threads { polls, shared: Shared::new(inboxes, make) })
    }

    /// What they share.
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Starts all of them. When one cannot be started, those that were end again.
    pub(crate) fn start(self, listeners: Listeners, signals: bool) -> io::Result<()> {
        let shared = self.shared;
        let start = || {
            for (index, poll) in self.polls.into_iter().enumerate() {
                let (shared, running) = (shared.clone(), shared.thread());
                let timer =
                    (index == 0).then(|| Timer::new(poll.registry(), event_loop::DEADLINE)).transpose()?;
                let serve = move || {
                    let _running = running;
                    event_loop::run(shared, index, poll, timer);
                };
                let name = format!("lockwheel-io-{index}");
                thread::Builder::new().name(name).stack_size(STACK).spawn(serve)?;
            }
            watchdog::start(shared.clone(), shared.thread())?;
            start_control(shared.clone(), shared.thread(), listeners, signals)
        };
        start().inspect_err(|_| shared.end())
    }
}

/// Starts the thread that accepts connections and, if asked to, waits for signals.
fn start_control(
    shared: Arc<Shared>,
    running: Running,
    listeners: Listeners,
    signals: bool,
) -> io::Result<()> {
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    {
        let _guard = runtime.enter();
        listeners.serve(&shared)?;
    }
    let control = move || {
        let _running = running;
        runtime.block_on(async {
            if !signals {
                return shared.ended().await;
            }
            if let Err(error) = signals::watch(&shared).await {
                tracing::error!(%error, "signals cannot be waited for");
                shared.ended().await;
            }
        });
    };
    thread::Builder::new().name("lockwheel-accept".to_owned()).spawn(control).map(drop)
}
