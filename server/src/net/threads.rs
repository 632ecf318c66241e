//! The server's threads: so many event loops, one that accepts and waits for signals, one that watches scripts.

use super::accept::{self, Acceptor, Rebinds};
use super::event_loop;
use super::inbox::Inbox;
use super::listener::{Endpoints, Listeners};
use super::shared::Shared;
use super::signals::{self, Signals};
use super::timer::Timer;
use super::watchdog;
use lockwheel_engine::Engine;
use lockwheel_engine::time::Now;
use mio::{Poll, Waker};
use std::io;
use std::sync::Arc;
use std::thread;
use tokio::runtime;

/// Stack of a loop's thread: scripts run on it, and Lua recurses deeply before it refuses.
const STACK: usize = 16 << 20;

/// What accepts connections and catches signals, before there are any of either: nobody must find a server that listens
/// and yet dies of a signal.
pub(crate) struct Control {
    runtime: runtime::Runtime,
    signals: Option<Signals>,
}

impl Control {
    /// From now on signals are caught, if they are to be.
    pub(crate) fn new(signals: bool) -> io::Result<Self> {
        let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
        let signals = {
            let _guard = runtime.enter();
            signals.then(Signals::new).transpose()?
        };
        Ok(Control { runtime, signals })
    }
}

/// Threads to be started.
pub(crate) struct Threads {
    polls: Vec<Poll>,
    shared: Arc<Shared>,
    listeners: Listeners,
    acceptor: Arc<Acceptor>,
    rebinds: Rebinds,
}

impl Threads {
    /// `loops` event loops around an engine, at least one, and the sockets where clients come in.
    pub(crate) fn new(
        loops: usize,
        endpoints: Endpoints,
        listeners: Listeners,
        make: impl FnOnce(Now) -> Engine,
    ) -> io::Result<Self> {
        let polls = (0..loops.max(1)).map(|_| Poll::new()).collect::<io::Result<Vec<_>>>()?;
        let inbox = |poll: &Poll| Waker::new(poll.registry(), event_loop::MESSAGES).map(Inbox::new);
        let inboxes = polls.iter().map(inbox).collect::<io::Result<_>>()?;
        let (acceptor, rebinds) = Acceptor::new(endpoints, listeners.port());
        let shared = Shared::new(inboxes, acceptor.clone(), make);
        Ok(Threads { polls, shared, listeners, acceptor, rebinds })
    }

    /// Where clients come in.
    pub(crate) fn acceptor(&self) -> &Arc<Acceptor> {
        &self.acceptor
    }

    /// What they share.
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Starts all of them. When one cannot be started, those that were end again.
    pub(crate) fn start(self, control: Control) -> io::Result<()> {
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
            start_control(&shared, self.listeners, self.rebinds, control)
        };
        start().inspect_err(|_| shared.end())
    }
}

/// Starts the thread that accepts connections and, if asked to, waits for signals.
fn start_control(
    shared: &Arc<Shared>,
    listeners: Listeners,
    rebinds: Rebinds,
    control: Control,
) -> io::Result<()> {
    let (shared, running) = (shared.clone(), shared.thread());
    let Control { runtime, signals } = control;
    {
        let _guard = runtime.enter();
        accept::serve(&shared, listeners, rebinds)?;
    }
    let control = move || {
        let _running = running;
        runtime.block_on(async {
            match signals {
                Some(signals) => signals::watch(signals, &shared).await,
                None => shared.ended().await,
            }
        });
    };
    thread::Builder::new().name("lockwheel-accept".to_owned()).spawn(control).map(drop)
}
