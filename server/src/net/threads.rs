//! The server's threads: the event loops, one that accepts and waits for signals, one that watches scripts.

use super::accept::{self, Acceptor, Rebinds};
use super::event_loop;
use super::host::NetHost;
use super::inbox::Inbox;
use super::listener::{Endpoints, Listeners};
use super::os_clock::OsClock;
use super::shared::Shared;
use super::signals::{self, Signals};
use super::stopwatch::Stopwatch;
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

/// Accepts connections and catches signals. Made before the server listens: a listening server must not die of a
/// signal.
pub(crate) struct AcceptRuntime {
    runtime: runtime::Runtime,
    signals: Option<Signals>,
}

impl AcceptRuntime {
    /// Catches signals from now on, if asked to.
    pub(crate) fn new(signals: bool) -> io::Result<Self> {
        let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
        let signals = {
            let _guard = runtime.enter();
            signals.then(Signals::new).transpose()?
        };
        Ok(AcceptRuntime { runtime, signals })
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
    /// `loops` event loops around an engine, at least one, and the listening sockets.
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
        let clock = OsClock::new();
        let mut engine = make(clock.now());
        let shared = Arc::new_cyclic(|shared| {
            engine.set_host(Arc::new(NetHost {
                clock,
                stopwatch: Stopwatch::new(),
                acceptor: acceptor.clone(),
                shared: shared.clone(),
            }));
            Shared::new(engine, clock, inboxes)
        });
        Ok(Threads { polls, shared, listeners, acceptor, rebinds })
    }

    /// The acceptor.
    pub(crate) fn acceptor(&self) -> &Arc<Acceptor> {
        &self.acceptor
    }

    /// The state that all threads share.
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Starts all of them. When one cannot be started, those that were end again.
    pub(crate) fn start(self, accepting: AcceptRuntime) -> io::Result<()> {
        let shared = self.shared;
        let start = || {
            for (index, poll) in self.polls.into_iter().enumerate() {
                let (shared, guard) = (shared.clone(), shared.shutdown.thread());
                let timer =
                    (index == 0).then(|| Timer::new(poll.registry(), event_loop::DEADLINE)).transpose()?;
                let serve = move || {
                    let _guard = guard;
                    event_loop::run(shared, index, poll, timer);
                };
                let name = format!("lockwheel-io-{index}");
                thread::Builder::new().name(name).stack_size(STACK).spawn(serve)?;
            }
            watchdog::start(shared.clone(), shared.shutdown.thread())?;
            start_accepting(&shared, self.listeners, self.rebinds, accepting)
        };
        start().inspect_err(|_| shared.end())
    }
}

/// Starts the thread that accepts connections and, if asked to, waits for signals.
fn start_accepting(
    shared: &Arc<Shared>,
    listeners: Listeners,
    rebinds: Rebinds,
    accepting: AcceptRuntime,
) -> io::Result<()> {
    let (shared, guard) = (shared.clone(), shared.shutdown.thread());
    let AcceptRuntime { runtime, signals } = accepting;
    {
        let _guard = runtime.enter();
        accept::serve(&shared, listeners, rebinds)?;
    }
    let accept = move || {
        let _guard = guard;
        runtime.block_on(async {
            match signals {
                Some(signals) => signals::watch(signals, &shared).await,
                None => shared.shutdown.requested().await,
            }
        });
    };
    thread::Builder::new().name("lockwheel-accept".to_owned()).spawn(accept).map(drop)
}
