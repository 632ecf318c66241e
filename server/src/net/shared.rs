//! What all connections share: the engine behind its lock, the wakers, the timer.

use super::busy::{Job, Jobs, Port};
use super::os_clock::OsClock;
use super::watchdog::Batches;
use crate::engine::{CommandTable, Engine};
use dashmap::DashMap;
use lockwheel_scripting::Control;
use parking_lot::{Mutex, MutexGuard};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::{Notify, oneshot, watch};

/// No deadline.
pub(super) const NEVER: u64 = u64::MAX;

/// The engine behind its one lock, and what connections and the timer need beside it.
pub(crate) struct Shared {
    engine: Mutex<Engine>,
    pub(super) clock: OsClock,
    pub(super) control: Arc<Control>,
    /// The connections by session id, to be told that their session has news.
    pub(super) wakers: DashMap<u64, Arc<Notify>>,
    /// When the timer task wakes next, in microseconds of the system's monotonic clock.
    pub(super) timer_at: AtomicU64,
    pub(super) timer_moved: Notify,
    /// How often the timer task has woken.
    pub(super) timer_wakes: AtomicU64,
    /// `busy-reply-threshold`, in milliseconds.
    busy_threshold_ms: AtomicU64,
    /// `maxclients`, and how many clients there are.
    max_clients: AtomicUsize,
    clients: AtomicUsize,
    pub(super) batches: Batches,
    pub(super) jobs: Arc<Jobs>,
    /// There are jobs, or somebody waits for the engine to be free again.
    waited_for: AtomicBool,
    free_again: Notify,
    pub(super) table: Arc<CommandTable>,
    ending: watch::Sender<bool>,
    /// A first signal or SHUTDOWN has been seen.
    pub(super) end_asked: AtomicBool,
}

/// A client's place among `maxclients`, until dropped.
pub(super) struct Seat(Arc<Shared>);

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.clients.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The engine is held by a script that has run for longer than `busy-reply-threshold`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Busy;

impl Shared {
    /// Makes an engine with the system's clocks.
    pub(crate) fn new(make: impl FnOnce(crate::time::Now) -> Engine) -> Arc<Self> {
        let clock = OsClock::new();
        let mut engine = make(clock.now());
        let jobs = Arc::new(Jobs::default());
        engine.set_busy_port(Box::new(Port(jobs.clone())));
        let engine_table = engine.table.clone();
        Arc::new(Shared {
            clock,
            control: engine.control().clone(),
            busy_threshold_ms: AtomicU64::new(engine.config.busy_reply_threshold),
            max_clients: AtomicUsize::new(engine.config.maxclients),
            clients: AtomicUsize::new(0),
            engine: Mutex::new(engine),
            wakers: DashMap::new(),
            timer_at: AtomicU64::new(NEVER),
            timer_moved: Notify::new(),
            timer_wakes: AtomicU64::new(0),
            batches: Batches::default(),
            jobs,
            waited_for: AtomicBool::new(false),
            free_again: Notify::new(),
            table: engine_table,
            ending: watch::Sender::new(false),
            end_asked: AtomicBool::new(false),
        })
    }

    /// The engine; waits for it, but no longer than a script may run before others are told that it is slow.
    pub(super) fn engine(&self) -> Result<MutexGuard<'_, Engine>, Busy> {
        if let Some(engine) = self.engine.try_lock() {
            return Ok(engine);
        }
        loop {
            let threshold = self.busy_threshold_ms.load(Ordering::Relaxed);
            let left = match self.control.running_since() {
                Some(since) => {
                    (since + threshold).saturating_sub(self.clock.now().monotonic_ms().unsigned_abs())
                }
                None => threshold.max(1),
            };
            if left == 0 {
                self.control.arm();
                return Err(Busy);
            }
            if let Some(engine) = self.engine.try_lock_for(Duration::from_millis(left)) {
                return Ok(engine);
            }
        }
    }

    /// Runs `work` on the engine at the present instant, then sees to what it caused. Blocks while a script runs: for
    /// callers that are no tokio task.
    pub(crate) fn with_engine<T>(&self, work: impl FnOnce(&mut Engine) -> T) -> T {
        self.hold(self.engine.lock(), work)
    }

    fn hold<T>(&self, mut engine: MutexGuard<'_, Engine>, work: impl FnOnce(&mut Engine) -> T) -> T {
        let mut woken = Vec::new();
        let running = self.batches.begin();
        engine.begin(self.clock.now());
        let result = work(&mut engine);
        drop(running);
        self.settle(&mut engine, &mut woken);
        drop(engine);
        self.wake(&woken);
        result
    }

    /// Does something to sessions: at once, or from within the slow script that holds the engine.
    pub(super) async fn on_sessions<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Engine) -> T + Send + 'static,
    ) -> Option<T> {
        match self.try_hold(work) {
            Ok(result) => Some(result),
            Err(work) => {
                let (done, answer) = oneshot::channel();
                // A caller that is gone meanwhile needs no answer.
                self.push_job(Box::new(move |engine| {
                    let result = work(engine);
                    Box::new(move || drop(done.send(result)))
                }));
                answer.await.ok()
            }
        }
    }

    /// The same, without waiting for it.
    pub(super) fn on_sessions_later(&self, work: impl FnOnce(&mut Engine) + Send + 'static) {
        if let Err(work) = self.try_hold(work) {
            self.push_job(Box::new(move |engine| {
                work(engine);
                Box::new(|| ())
            }));
        }
    }

    pub(super) fn push_job(&self, job: Job) {
        self.jobs.push(job);
        self.waited_for.store(true, Ordering::Release);
    }

    /// Fires what is due; waits, without holding a thread, for a slow script to end.
    pub(super) async fn fire_due(&self) {
        loop {
            let free_again = self.free_again.notified();
            if self.try_hold(|_| ()).is_ok() {
                return;
            }
            self.waited_for.store(true, Ordering::Release);
            // The script may have ended in between: then nobody would tell.
            let _ = tokio::time::timeout(Duration::from_millis(50), free_again).await;
        }
    }

    /// Runs `work` on the engine, or gives it back when a slow script holds that.
    fn try_hold<T, W: FnOnce(&mut Engine) -> T>(&self, work: W) -> Result<T, W> {
        match self.engine() {
            Ok(engine) => Ok(self.hold(engine, work)),
            Err(Busy) => Err(work),
        }
    }

    /// What every holder of the lock does before it lets go: collects who is to be woken, sets the timer.
    pub(super) fn settle(&self, engine: &mut Engine, woken: &mut Vec<u64>) {
        if self.waited_for.swap(false, Ordering::Acquire) {
            self.jobs.drain(engine);
            self.free_again.notify_waiters();
        }
        engine.take_woken(woken);
        let next = engine.next_deadline().unwrap_or(NEVER);
        // An earlier timer is left alone: the task then finds nothing due and sleeps on.
        if next < self.timer_at.load(Ordering::Relaxed) {
            self.timer_at.store(next, Ordering::Relaxed);
            self.timer_moved.notify_one();
        }
        self.max_clients.store(engine.config.maxclients, Ordering::Relaxed);
        self.busy_threshold_ms.store(engine.config.busy_reply_threshold, Ordering::Relaxed);
    }

    /// Tells connections that their sessions have news; without the lock.
    pub(super) fn wake(&self, ids: &[u64]) {
        for id in ids {
            if let Some(waker) = self.wakers.get(id) {
                waker.notify_one();
            }
        }
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

    /// How often the timer has woken the process since the start.
    pub(crate) fn timer_wakes(&self) -> u64 {
        self.timer_wakes.load(Ordering::Relaxed)
    }

    /// Asks everything to end; a running script is stopped.
    pub(crate) fn end(&self) {
        self.end_asked.store(true, Ordering::Relaxed);
        self.control.force_kill();
        self.batches.wake();
        self.ending.send_replace(true);
    }

    /// Waits until [`Shared::end`] is called.
    pub(crate) async fn ended(&self) {
        let mut ending = self.ending.subscribe();
        // The sender lives as long as self, so waiting cannot fail.
        let _ = ending.wait_for(|&ending| ending).await;
    }
}
