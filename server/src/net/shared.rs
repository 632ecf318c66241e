//! What all threads share: the engine behind its lock, the loops' inboxes, when a deadline is next.

use super::busy::{Job, Jobs};
use super::event_loop;
use super::host::World;
use super::inbox::{Address, Inbox, Mail};
use super::os_clock::OsClock;
use super::watchdog::Batches;
use crate::engine::{CommandTable, Engine};
use crate::keyspace::Garbage;
use dashmap::DashMap;
use lockwheel_scripting::Control;
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// No deadline.
pub(super) const NEVER: u64 = u64::MAX;

/// The engine behind its one lock, and what loops need beside it.
pub(crate) struct Shared {
    engine: Mutex<Engine>,
    pub(super) clock: OsClock,
    pub(super) control: Arc<Control>,
    inboxes: Box<[Inbox]>,
    /// The connections by session id, to be told that their session has news.
    pub(super) addresses: DashMap<u64, Address>,
    /// When the first loop has to wake, in microseconds of the system's monotonic clock.
    pub(super) timer_at: AtomicU64,
    /// How often a deadline has woken it.
    timer_wakes: AtomicU64,
    /// `busy-reply-threshold`, in milliseconds.
    busy_threshold_ms: AtomicU64,
    /// `maxclients`, and how many clients there are.
    max_clients: AtomicUsize,
    clients: AtomicUsize,
    pub(super) batches: Batches,
    jobs: Arc<Jobs>,
    /// There are jobs, or a loop waits for the engine to be free again.
    waited_for: AtomicBool,
    pub(super) table: Arc<CommandTable>,
    ending: watch::Sender<bool>,
    /// A first signal or SHUTDOWN has been seen.
    pub(super) end_asked: AtomicBool,
    /// How many threads run, and who waits for the end, of them or of the server.
    threads: Mutex<usize>,
    ended: Condvar,
}

/// A client's place among `maxclients`, until dropped.
pub(super) struct Seat(Arc<Shared>);

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.clients.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A thread of the server, until dropped.
pub(crate) struct Running(Arc<Shared>);

impl Drop for Running {
    fn drop(&mut self) {
        *self.0.threads.lock() -= 1;
        self.0.ended.notify_all();
    }
}

/// The engine is held by a script that has run for longer than `busy-reply-threshold`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Busy;

impl Shared {
    /// Makes an engine with the system's clocks.
    pub(crate) fn new(inboxes: Box<[Inbox]>, make: impl FnOnce(crate::time::Now) -> Engine) -> Arc<Self> {
        let clock = OsClock::new();
        let mut engine = make(clock.now());
        let jobs = Arc::new(Jobs::default());
        engine.set_host(Arc::new(World { clock, jobs: jobs.clone() }));
        Arc::new(Shared {
            clock,
            control: engine.control().clone(),
            busy_threshold_ms: AtomicU64::new(engine.config.busy_reply_threshold),
            max_clients: AtomicUsize::new(engine.config.maxclients),
            clients: AtomicUsize::new(0),
            table: engine.table.clone(),
            engine: Mutex::new(engine),
            inboxes,
            addresses: DashMap::new(),
            timer_at: AtomicU64::new(NEVER),
            timer_wakes: AtomicU64::new(0),
            batches: Batches::default(),
            jobs,
            waited_for: AtomicBool::new(false),
            ending: watch::Sender::new(false),
            end_asked: AtomicBool::new(false),
            threads: Mutex::new(0),
            ended: Condvar::new(),
        })
    }

    /// The engine; waits for it, but no longer than a script may run before others are told that it is slow.
    pub(super) fn engine(&self) -> Result<MutexGuard<'_, Engine>, Busy> {
        if let Some(engine) = self.engine.try_lock() {
            return Ok(engine);
        }
        self.wait_for_engine()
    }

    #[cold]
    fn wait_for_engine(&self) -> Result<MutexGuard<'_, Engine>, Busy> {
        loop {
            let left = self.until_slow();
            if left.is_zero() {
                self.control.arm();
                return Err(Busy);
            }
            if let Some(engine) = self.engine.try_lock_for(left) {
                return Ok(engine);
            }
        }
    }

    /// How long the running script may go on before it is slow; the whole threshold when none runs.
    pub(super) fn until_slow(&self) -> Duration {
        let threshold = self.busy_threshold_ms.load(Ordering::Relaxed);
        let left = match self.control.running_since() {
            Some(since) => (since + threshold).saturating_sub(self.clock.now().monotonic_ms().unsigned_abs()),
            None => threshold.max(1),
        };
        Duration::from_millis(left)
    }

    /// Runs `work` on the engine at the present instant, then sees to what it caused. Blocks while a script runs: for
    /// threads of the embedding program.
    pub(crate) fn with_engine<T>(&self, work: impl FnOnce(&mut Engine) -> T) -> T {
        self.run(self.engine.lock(), work)
    }

    fn run<T>(&self, mut engine: MutexGuard<'_, Engine>, work: impl FnOnce(&mut Engine) -> T) -> T {
        let mut woken = Vec::new();
        self.batches.begin();
        engine.begin(self.clock.now());
        let result = work(&mut engine);
        self.settle(&mut engine, &mut woken);
        drop(engine);
        for address in woken.into_iter().filter_map(|id| self.address(id)) {
            self.tell(address);
        }
        result
    }

    /// Runs `work` on the engine, or gives it back when a slow script holds that.
    pub(super) fn hold<T, W: FnOnce(&mut Engine) -> T>(&self, work: W) -> Result<T, W> {
        match self.engine() {
            Ok(engine) => Ok(self.run(engine, work)),
            Err(Busy) => Err(work),
        }
    }

    /// Does something to sessions: at once, or from within the slow script that holds the engine.
    pub(super) fn on_sessions(&self, work: impl FnOnce(&mut Engine) + Send + 'static) {
        if let Err(work) = self.hold(work) {
            self.push_job(Box::new(work));
        }
    }

    /// Does something to sessions as soon as that is possible, without waiting for it.
    pub(super) fn on_sessions_later(&self, work: impl FnOnce(&mut Engine) + Send + 'static) {
        match self.engine.try_lock() {
            Some(engine) => self.run(engine, work),
            None => self.push_job(Box::new(work)),
        }
    }

    /// Lets the slow script's thread do something, or whoever has the engine next.
    pub(super) fn push_job(&self, job: Job) {
        self.jobs.push(job);
        self.waited_for.store(true, Ordering::Release);
        event_loop::look_again();
    }

    /// Lets the loops be woken when the engine is free again.
    pub(super) fn wait_for_free(&self) {
        self.waited_for.store(true, Ordering::Release);
    }

    /// Sees to what waits for the engine, if that is free.
    pub(super) fn see_to_waiting(&self) -> Result<(), Busy> {
        let engine = self.engine.try_lock().ok_or(Busy)?;
        self.run(engine, |_| ());
        Ok(())
    }

    /// Fires what is due, if the time for it has come.
    pub(super) fn fire_due(&self) -> Result<(), Busy> {
        let at = self.timer_at.load(Ordering::Relaxed);
        if at == NEVER || self.clock.now().monotonic_us < at {
            return Ok(());
        }
        self.timer_wakes.fetch_add(1, Ordering::Relaxed);
        self.timer_at.store(NEVER, Ordering::Relaxed);
        self.hold(|_: &mut Engine| ()).map_err(|_| {
            self.timer_at.fetch_min(at, Ordering::Relaxed);
            self.wait_for_free();
            Busy
        })
    }

    /// What every holder of the lock does before it lets go: collects who is to be told, sets the timer.
    pub(super) fn settle(&self, engine: &mut Engine, woken: &mut Vec<u64>) {
        if self.waited_for.load(Ordering::Acquire) {
            self.waited_for.store(false, Ordering::Relaxed);
            self.jobs.drain(engine);
            self.inboxes.iter().for_each(Inbox::wake);
        }
        engine.take_woken(woken);
        if let Some(garbage) = engine.take_garbage() {
            free_elsewhere(garbage);
        }
        let next = engine.next_deadline().unwrap_or(NEVER);
        // An earlier timer is left alone: the loop then finds nothing due and sleeps on.
        if next < self.timer_at.load(Ordering::Relaxed) {
            self.timer_at.store(next, Ordering::Relaxed);
            if !event_loop::is_first() {
                self.inboxes[0].wake();
            }
        }
        self.max_clients.store(engine.config.maxclients, Ordering::Relaxed);
        self.busy_threshold_ms.store(engine.config.busy_reply_threshold, Ordering::Relaxed);
    }

    pub(super) fn inbox(&self, index: usize) -> &Inbox {
        &self.inboxes[index]
    }

    /// The number of the loop with the fewest connections.
    pub(super) fn idlest(&self) -> usize {
        (0..self.inboxes.len()).min_by_key(|&index| self.inboxes[index].connections()).unwrap_or(0)
    }

    /// Where the connection of a session is, if it is still there.
    pub(super) fn address(&self, id: u64) -> Option<Address> {
        self.addresses.get(&id).map(|address| *address)
    }

    /// Tells a connection that its session has news; without the lock.
    pub(super) fn tell(&self, address: Address) {
        self.inbox(address.index).post(Mail::News { key: address.key });
    }

    /// A place for one more client, if `maxclients` leaves one.
    pub(super) fn take_seat(self: &Arc<Self>) -> Option<Seat> {
        let most = self.max_clients.load(Ordering::Relaxed);
        let taken = self.clients.fetch_add(1, Ordering::Relaxed);
        let seat = Seat(self.clone());
        // A seat too many is given back at once, by being dropped.
        (taken < most).then_some(seat)
    }

    /// Sleeps on this thread, but not beyond the end of the server.
    pub(super) fn sleep(&self, time: Duration) {
        const STEP: Duration = Duration::from_millis(20);
        let end = Instant::now().checked_add(time);
        while !self.end_asked.load(Ordering::Relaxed) {
            let left = end.map_or(STEP, |end| end.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return;
            }
            std::thread::sleep(left.min(STEP));
        }
    }

    /// How often a deadline has woken the process since the start.
    pub(crate) fn timer_wakes(&self) -> u64 {
        self.timer_wakes.load(Ordering::Relaxed)
    }

    /// A thread of the server begins.
    pub(crate) fn thread(self: &Arc<Self>) -> Running {
        *self.threads.lock() += 1;
        Running(self.clone())
    }

    /// Asks everything to end; a running script is stopped.
    pub(crate) fn end(&self) {
        self.end_asked.store(true, Ordering::SeqCst);
        self.control.force_kill();
        self.batches.wake();
        self.inboxes.iter().for_each(Inbox::wake);
        self.ending.send_replace(true);
        let _threads = self.threads.lock();
        self.ended.notify_all();
    }

    /// Waits until [`Shared::end`] is called.
    pub(super) async fn ended(&self) {
        let mut ending = self.ending.subscribe();
        // The sender lives as long as self, so waiting cannot fail.
        let _ = ending.wait_for(|&ending| ending).await;
    }

    /// The same, on a thread.
    pub(crate) fn wait(&self) {
        let mut threads = self.threads.lock();
        while !self.end_asked.load(Ordering::Relaxed) {
            self.ended.wait(&mut threads);
        }
    }

    /// Waits until all threads have ended, but no longer than `most`.
    pub(crate) fn join(&self, most: Duration) {
        let until = Instant::now() + most;
        let mut threads = self.threads.lock();
        while *threads > 0 && !self.ended.wait_until(&mut threads, until).timed_out() {}
    }
}

/// Frees what takes long, on a thread that ends with it: it is rare, and nobody is to wait for it.
fn free_elsewhere(garbage: Garbage) {
    let thread = std::thread::Builder::new().name("lockwheel-free".to_owned());
    // Without a thread it is freed here, as the closure is dropped.
    drop(thread.spawn(move || drop(garbage)));
}
