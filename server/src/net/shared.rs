//! What all threads share: the engine behind its lock, the loops' inboxes, when a deadline is next.

use super::accept::Acceptor;
use super::busy::{Job, Refused};
use super::contain::contained;
use super::deferred::Deferred;
use super::event_loop;
use super::hooks::{Hooks, Point};
use super::host::World;
use super::inbox::{Address, Client, Inbox, LoopMessage};
use super::os_clock::OsClock;
use super::stopwatch::Stopwatch;
use super::watchdog::Batches;
use dashmap::DashMap;
use lockwheel_engine::Engine;
use lockwheel_engine::keyspace::Garbage;
use lockwheel_engine::spec::{CommandId, CommandTable};
use lockwheel_scripting::ScriptControl;
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// No deadline.
pub(super) const NEVER: u64 = u64::MAX;

/// The engine behind its one lock, and what loops need beside it.
pub(crate) struct Shared {
    engine: Deferred<Engine, Job>,
    pub(super) clock: OsClock,
    pub(super) control: Arc<ScriptControl>,
    inboxes: Box<[Inbox]>,
    /// The connected clients by session id.
    pub(super) clients: DashMap<u64, Client>,
    /// When the first loop has to wake, in microseconds of the system's monotonic clock.
    pub(super) timer_at: AtomicU64,
    /// How often a deadline has woken it.
    timer_wakes: AtomicU64,
    /// `busy-reply-threshold`, in milliseconds.
    busy_threshold_ms: AtomicU64,
    /// `maxclients`, and how many clients there are.
    max_clients: AtomicUsize,
    seats_taken: AtomicUsize,
    /// The number of the client that was accepted last.
    last_client: AtomicU64,
    /// The loop that had the engine last: a script that runs, runs there.
    holder: AtomicUsize,
    pub(super) batches: Batches,
    pub(super) refused: Refused,
    pub(super) table: Arc<CommandTable>,
    pub(super) hooks: Hooks,
    ending: watch::Sender<bool>,
    /// A first signal or SHUTDOWN has been seen.
    pub(super) end_asked: AtomicBool,
    /// How many threads run, and who waits for the end, of them or of the server.
    threads: Mutex<usize>,
    ended: Condvar,
}

/// A client's place among `maxclients`, until dropped.
pub(super) struct Seat {
    shared: Arc<Shared>,
    /// The client's number, in the order of accepting.
    pub(super) id: u64,
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.shared.seats_taken.fetch_sub(1, Ordering::Relaxed);
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
    pub(super) fn new(
        inboxes: Box<[Inbox]>,
        acceptor: Arc<Acceptor>,
        make: impl FnOnce(lockwheel_engine::time::Now) -> Engine,
    ) -> Arc<Self> {
        let clock = OsClock::new();
        let mut engine = make(clock.now());
        Arc::new_cyclic(|world| {
            engine.set_host(Arc::new(World {
                clock,
                stopwatch: Stopwatch::new(),
                acceptor,
                shared: world.clone(),
            }));
            Shared {
                clock,
                control: engine.control().clone(),
                busy_threshold_ms: AtomicU64::new(engine.config.busy_reply_threshold),
                max_clients: AtomicUsize::new(engine.config.maxclients),
                seats_taken: AtomicUsize::new(0),
                last_client: AtomicU64::new(0),
                holder: AtomicUsize::new(0),
                refused: Refused::new(&engine.table),
                table: engine.table.clone(),
                engine: Deferred::new(engine),
                inboxes,
                clients: DashMap::new(),
                timer_at: AtomicU64::new(NEVER),
                timer_wakes: AtomicU64::new(0),
                batches: Batches::default(),
                hooks: Hooks::default(),
                ending: watch::Sender::new(false),
                end_asked: AtomicBool::new(false),
                threads: Mutex::new(0),
                ended: Condvar::new(),
            }
        })
    }

    /// The engine, for loop number `index`; waits for it, but no longer than a script may run before others are told
    /// that it is slow.
    pub(super) fn engine(&self, index: usize) -> Result<MutexGuard<'_, Engine>, Busy> {
        let engine = match self.engine.lock().try_lock() {
            Some(engine) => engine,
            None => self.wait_for_engine()?,
        };
        self.holder.store(index, Ordering::Relaxed);
        Ok(engine)
    }

    #[cold]
    fn wait_for_engine(&self) -> Result<MutexGuard<'_, Engine>, Busy> {
        loop {
            let left = self.until_slow();
            if left.is_zero() {
                self.control.arm();
                return Err(Busy);
            }
            if let Some(engine) = self.engine.lock().try_lock_for(left) {
                return Ok(engine);
            }
        }
    }

    /// How long the running script may go on before it is slow; the whole threshold when none runs. A threshold of 0
    /// is never reached.
    pub(super) fn until_slow(&self) -> Duration {
        const NEVER: Duration = Duration::from_secs(3600);
        let threshold = self.busy_threshold_ms.load(Ordering::Relaxed);
        if threshold == 0 {
            return NEVER;
        }
        let left = match self.control.running().map(|script| script.since_ms) {
            Some(since) => (since + threshold).saturating_sub(self.clock.now().monotonic_ms().unsigned_abs()),
            None => threshold,
        };
        Duration::from_millis(left).min(NEVER)
    }

    /// Runs `work` on the engine at the present instant, then sees to what it caused. Blocks while a script runs: for
    /// threads of the embedding program.
    pub(crate) fn with_engine<T>(&self, work: impl FnOnce(&mut Engine) -> T) -> T {
        self.run(self.engine.lock().lock(), work)
    }

    /// The engine, as a test wants it: nothing else happens while it is held.
    #[cfg(test)]
    pub(super) fn lock_for_test(&self) -> MutexGuard<'_, Engine> {
        self.engine.lock().lock()
    }

    /// What every batch begins with: what is due fires, and what was left by others is done before what came later.
    pub(super) fn begin(&self, engine: &mut Engine) {
        self.batches.begin();
        self.read_time(engine);
        // Who has asked to be told is told at the end of the batch.
        if self.engine.is_asked() {
            self.work_off(engine);
        }
    }

    /// Lets the engine know what time it is.
    pub(super) fn read_time(&self, engine: &mut Engine) {
        contained("what was due", || {
            self.hooks.reach(Point::Begin);
            engine.begin(self.clock.now());
            // What was due may have taken long.
            if !self.is_fresh(engine) {
                engine.go_on_at(self.clock.now());
            }
        });
    }

    /// Whether the instant at which the engine is may still be that of a request.
    pub(super) fn is_fresh(&self, engine: &Engine) -> bool {
        /// How old it may be, in microseconds: with what the estimate of work leaves out, less than a millisecond.
        const FRESH_US: u64 = 500;
        self.clock.us_since(engine.system()) < FRESH_US
    }

    /// Does what was left for whoever has the engine; whether anybody has asked for it.
    pub(super) fn serve_deferred(&self, engine: &mut Engine) -> bool {
        self.engine.serve(engine, |engine, job: Job| job.run(engine, &self.hooks))
    }

    /// Does what was left, and tells nobody yet: before a batch, and from within a slow script.
    pub(super) fn work_off(&self, engine: &mut Engine) {
        self.engine.work_off(engine, |engine, job: Job| job.run(engine, &self.hooks));
    }

    fn run<T>(&self, mut engine: MutexGuard<'_, Engine>, work: impl FnOnce(&mut Engine) -> T) -> T {
        self.begin(&mut engine);
        let result = catch_unwind(AssertUnwindSafe(|| work(&mut engine)));
        let mut woken = Vec::new();
        self.let_go(engine, &mut woken);
        self.tell_all(woken);
        result.unwrap_or_else(|panic| resume_unwind(panic))
    }

    fn tell_all(&self, woken: Vec<u64>) {
        for address in woken.into_iter().filter_map(|id| self.address(id)) {
            self.tell(address);
        }
    }

    /// Runs `work` on the engine, or gives it back when a slow script holds that.
    pub(super) fn run_unless_busy<T, W: FnOnce(&mut Engine) -> T>(
        &self,
        index: usize,
        work: W,
    ) -> Result<T, W> {
        match self.engine(index) {
            Ok(engine) => Ok(self.run(engine, work)),
            Err(Busy) => Err(work),
        }
    }

    /// Leaves something to be done by whoever has the engine, or does it when nobody has.
    pub(super) fn leave(&self, job: Job) {
        match self.engine.leave(job) {
            Some(engine) => self.run(engine, |_| ()),
            None => event_loop::retry_engine(),
        }
    }

    /// Lets the loops be woken when the engine is free again.
    pub(super) fn wait_for_free(&self) {
        self.engine.ask();
    }

    /// Sees to what waits for the engine, if that is free.
    pub(super) fn run_deferred(&self) -> Result<(), Busy> {
        let engine = self.engine.lock().try_lock().ok_or(Busy)?;
        self.run(engine, |_| ());
        Ok(())
    }

    /// Fires what is due, if the time for it has come: for the first loop.
    pub(super) fn fire_due(&self) -> Result<(), Busy> {
        let at = self.timer_at.load(Ordering::Relaxed);
        if at == NEVER || self.clock.now().monotonic_us < at {
            return Ok(());
        }
        self.timer_wakes.fetch_add(1, Ordering::Relaxed);
        self.timer_at.store(NEVER, Ordering::Relaxed);
        self.run_unless_busy(0, |_: &mut Engine| ()).map_err(|_| {
            self.timer_at.fetch_min(at, Ordering::Relaxed);
            self.wait_for_free();
            Busy
        })
    }

    /// What every holder of the engine ends with: who is to be told is put into `woken`, the timer is set, and what
    /// others have left meanwhile is done.
    pub(super) fn let_go(&self, engine: MutexGuard<'_, Engine>, woken: &mut Vec<u64>) {
        self.engine.let_go(engine, |engine| self.before_unlock(engine, woken));
    }

    fn before_unlock(&self, engine: &mut Engine, woken: &mut Vec<u64>) {
        if self.engine.is_asked() {
            // What was left runs at its own instant, not at that of the script before it.
            self.take_garbage(engine);
            self.read_time(engine);
        }
        if self.serve_deferred(engine) {
            self.refused.tell(engine, &self.table);
            self.inboxes.iter().for_each(Inbox::wake);
        }
        engine.take_woken(woken);
        self.take_garbage(engine);
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

    fn take_garbage(&self, engine: &mut Engine) {
        if let Some(garbage) = engine.take_garbage() {
            free_elsewhere(garbage);
        }
    }

    pub(super) fn inbox(&self, index: usize) -> &Inbox {
        &self.inboxes[index]
    }

    /// The number of the loop with the fewest connections; not of the one that runs a script now, if there is another.
    pub(super) fn idlest(&self) -> usize {
        let at_work = self.control.running().map(|_| self.holder.load(Ordering::Relaxed));
        let load = |&index: &usize| (at_work == Some(index), self.inboxes[index].connections());
        (0..self.inboxes.len()).min_by_key(load).unwrap_or(0)
    }

    /// Where the connection of a session is, if it is still there.
    pub(super) fn address(&self, id: u64) -> Option<Address> {
        self.clients.get(&id).map(|client| client.address)
    }

    /// Tells a connection that its session has news; without the lock.
    pub(super) fn tell(&self, address: Address) {
        self.inbox(address.index).post(LoopMessage::SessionStatus { key: address.key });
    }

    /// A place for one more client, if `maxclients` leaves one.
    pub(super) fn take_seat(self: &Arc<Self>) -> Option<Seat> {
        let most = self.max_clients.load(Ordering::Relaxed);
        if self.seats_taken.fetch_add(1, Ordering::Relaxed) >= most {
            self.seats_taken.fetch_sub(1, Ordering::Relaxed);
            return None;
        }
        let id = self.last_client.fetch_add(1, Ordering::Relaxed) + 1;
        Some(Seat { shared: self.clone(), id })
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

    /// Whether the server is to end.
    pub(super) fn is_ending(&self) -> bool {
        self.end_asked.load(Ordering::Relaxed)
    }

    /// A request was refused because a script is slow; the engine is told when it is free.
    pub(super) fn refuse(&self, command: CommandId) {
        self.refused.add(command);
        self.engine.ask();
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
