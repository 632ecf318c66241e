//! The threads of the server: the event loops, one that accepts and waits for signals, and the watchdog of scripts.

use super::accept::{self, Rebinds};
use super::acceptors::Acceptors;
use super::append_log::FileLog;
use super::event_loop;
use super::host::NetHost;
use super::idle;
use super::inbox::Inbox;
use super::listener::Listeners;
use super::os_clock::OsClock;
use super::outbound;
use super::outbound_inbox::OutboundInbox;
use super::shared::Shared;
use super::signals::{self, Signals};
use super::stopwatch::Stopwatch;
use super::timer::Timer;
use super::watchdog;
use lockwheel_engine::Engine;
use lockwheel_store::time::Now;
use mio::{Poll, Waker};
use std::io;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;
use tokio::runtime;

/// The stack size of a loop's thread. Scripts run on it, and Lua recurses deeply before it refuses.
const STACK: usize = 16 << 20;

/// The runtime that accepts and catches signals. Created before the server listens, so that no signal kills it.
pub(crate) struct AcceptRuntime {
    runtime: runtime::Runtime,
    signals: Option<Signals>,
}

impl AcceptRuntime {
    /// Catches signals from now on, if `signals` is true.
    pub(crate) fn new(signals: bool) -> io::Result<Self> {
        let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
        let signals = {
            let _guard = runtime.enter();
            signals.then(Signals::new).transpose()?
        };
        Ok(AcceptRuntime { runtime, signals })
    }
}

pub(crate) struct Threads {
    polls: Vec<Poll>,
    shared: Arc<Shared>,
    listeners: Listeners,
    acceptors: Arc<Acceptors>,
    rebinds: [Rebinds; 2],
}

impl Threads {
    /// Creates at least one event loop (`loops` of them) around an engine, and takes the listening sockets.
    pub(crate) fn new(
        loops: usize,
        listeners: Listeners,
        clock: OsClock,
        make: impl FnOnce(Now) -> Engine,
    ) -> io::Result<Self> {
        let polls = (0..loops.max(1)).map(|_| Poll::new()).collect::<io::Result<Vec<_>>>()?;
        let inbox = |poll: &Poll| Waker::new(poll.registry(), event_loop::MESSAGES).map(Inbox::new);
        let inboxes = polls.iter().map(inbox).collect::<io::Result<_>>()?;
        let (acceptors, rebinds) = Acceptors::new(&listeners);
        let mut engine = make(clock.now());
        let log = Arc::new(FileLog::new());
        let shared = Arc::new_cyclic(|shared| {
            engine.set_host(Arc::new(NetHost {
                clock,
                stopwatch: Stopwatch::new(),
                acceptors: acceptors.clone(),
                log: log.clone(),
                shared: shared.clone(),
            }));
            let weak = shared.clone();
            let outbound = OutboundInbox::new(Box::new(move |poll| outbound::start(&weak, poll)));
            Shared::new(engine, clock, inboxes, (outbound, log))
        });
        let owner: Weak<Shared> = Arc::downgrade(&shared);
        shared.log.set_owner(owner);
        Ok(Threads { polls, shared, listeners, acceptors, rebinds })
    }

    pub(crate) fn acceptors(&self) -> &Arc<Acceptors> {
        &self.acceptors
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Starts all threads, which end after `idle_exit` without a client. If one cannot be started, the rest end again.
    pub(crate) fn start(self, accepting: AcceptRuntime, idle_exit: Option<Duration>) -> io::Result<()> {
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
            let watch = idle_exit.map(|limit| idle::watch(shared.clone(), limit));
            start_accepting(&shared, accepting, watch, |shared| {
                accept::serve(shared, self.listeners, self.acceptors.tls_context().clone(), self.rebinds)
            })
        };
        start().inspect_err(|_| shared.end())
    }
}

/// Starts the thread that accepts connections and waits for signals, if it has been asked to.
fn start_accepting(
    shared: &Arc<Shared>,
    accepting: AcceptRuntime,
    watch: Option<impl Future<Output = ()> + Send + 'static>,
    serve: impl FnOnce(&Arc<Shared>) -> io::Result<()>,
) -> io::Result<()> {
    let (shared, guard) = (shared.clone(), shared.shutdown.thread());
    let AcceptRuntime { runtime, mut signals } = accepting;
    {
        let _guard = runtime.enter();
        serve(&shared)?;
        watch.into_iter().for_each(|watch| drop(tokio::spawn(watch)));
    }
    let accept = move || {
        let mut signalled = runtime.block_on(async {
            match &mut signals {
                Some(signals) => signals::watch(signals, &shared).await,
                None => {
                    shared.shutdown.requested().await;
                    false
                }
            }
        });
        let others = shared.membership.get().map(|membership| membership.ends()).unwrap_or_default();
        drop((shared, guard));
        if let Some(signals) = signals.as_mut().filter(|_| !signalled) {
            signalled = runtime.block_on(signals::watch_for_others(signals, &others));
        }
        if let Some(signals) = signals.as_mut().filter(|_| signalled) {
            runtime.block_on(signals::insist(signals));
        }
    };
    thread::Builder::new().name("lockwheel-accept".to_owned()).spawn(accept).map(drop)
}
