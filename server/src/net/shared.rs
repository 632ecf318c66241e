//! The state that all threads share: the engine behind its lock, the inboxes of the loops, the next deadline.

use super::admission::Admission;
use super::append_log::{FileLog, LogOwner};
use super::batches::Batches;
use super::busy::{Job, Refused};
use super::callers::Callers;
use super::client_limit::ClientLimit;
use super::contain::contained;
use super::deferred::Deferred;
use super::files::Claim;
use super::hooks::{Hooks, Point};
use super::inbox::Inbox;
use super::membership::Membership;
use super::messages::{Address, LoopMessage};
use super::os_clock::OsClock;
use super::outbound_inbox::OutboundInbox;
use super::shutdown::Shutdown;
use super::socket::Socket;
use super::traffic::{self, AllTraffic, LoopTraffic};
use dashmap::DashMap;
use lockwheel_engine::Engine;
use lockwheel_engine::clock::{AdvanceProgress, ClockAdvance};
use lockwheel_engine::core::{Crash, DiskEvent, EndSignal, Output};
use lockwheel_engine::faults::Link;
use lockwheel_engine::outbound::OutboundId;
use lockwheel_engine::spec::{CommandId, CommandTable};
use lockwheel_resp::allocation;
use lockwheel_scripting::ScriptControl;
use lockwheel_store::keyspace::Garbage;
use lockwheel_store::memory::BufferBytes;
use parking_lot::{Mutex, MutexGuard};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

/// The instant that stands for no deadline.
pub(super) const NEVER: u64 = u64::MAX;

/// The engine behind its one lock, and the state that loops need without it.
pub(crate) struct Shared {
    engine: Deferred<Engine, Job>,
    pub(super) clock: OsClock,
    /// The state of a running script, readable without the engine.
    pub(super) script: Arc<ScriptControl>,
    /// Whether the thread that holds the engine waits for another server.
    pub(super) awaits_target: Arc<AtomicBool>,
    /// Whether the thread that holds the engine sleeps, as DEBUG SLEEP demands.
    is_asleep: AtomicBool,
    inboxes: Box<[Inbox]>,
    pub(super) traffic: AllTraffic,
    /// The connected clients by session id.
    pub(super) clients: DashMap<u64, Client>,
    pub(super) claim: Claim,
    pub(super) callers: Callers,
    pub(super) log: Arc<FileLog>,
    pub(super) outbound: OutboundInbox,
    /// The other servers of this process.
    pub(super) membership: OnceLock<Box<dyn Membership>>,
    pub(super) client_limit: Arc<ClientLimit>,
    pub(super) admission: Admission,
    /// Changed links of sessions without a connection: some are about to get one.
    links_of_new: Mutex<BTreeMap<u64, Link>>,
    /// Microseconds of the system's monotonic clock at which the first loop has to wake.
    pub(super) timer_at: AtomicU64,
    timer_wakes: AtomicU64,
    /// The bytes of the buffers of all clients, and the total from which clients are evicted.
    client_buffers: BufferBytes,
    client_buffers_limit: AtomicUsize,
    is_open: AtomicBool,
    busy_threshold_ms: AtomicU64,
    /// Whether requests of formerly paused clients continue with the next batch that does not belong to a client.
    lets_requests_go_on: AtomicBool,
    /// The loop that locked the engine last: a running script runs there.
    holder: AtomicUsize,
    pub(super) batches: Batches,
    refused: Refused,
    /// Deferred work for the session whose script is running.
    put_off: Mutex<Vec<Job>>,
    pub(super) table: Arc<CommandTable>,
    pub(super) hooks: Hooks,
    pub(crate) shutdown: Arc<Shutdown>,
    /// Ends the process abruptly; set if it belongs to this server alone.
    pub(crate) on_crash: OnceLock<EndProcess>,
    is_shut_down: AtomicBool,
    is_loading: AtomicBool,
}

impl LogOwner for Shared {
    fn tell(&self, event: DiskEvent) {
        self.defer(Job::new(move |engine| engine.disk_event(event)));
    }

    fn start_log(&self) {
        self.log.clone().start_thread(self.shutdown.clone(), self.shutdown.thread());
    }

    fn give_up(&self) {
        self.end_abruptly(Crash::Exit);
    }
}

pub(super) struct Client {
    pub(super) address: Address,
    pub(super) socket: Arc<Socket>,
}

type EndProcess = Box<dyn Fn(Crash) + Send + Sync>;

/// The error if a script that has run for longer than `busy-reply-threshold` holds the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Busy;

/// The notifications to deliver once the engine is unlocked.
#[derive(Debug, Default)]
pub(super) struct Notices {
    /// The ids of sessions whose state has changed, or that have output which their own requests did not cause.
    pub(super) sessions: Vec<u64>,
    /// Whether the next deadline has come nearer, so that the first loop must wake earlier.
    pub(super) earlier_deadline: bool,
    pub(super) shutdown: bool,
    pub(super) outbound: Vec<OutboundId>,
    pub(super) garbage: Vec<Garbage>,
}

impl Shared {
    pub(super) fn new(
        mut engine: Engine,
        clock: OsClock,
        inboxes: Box<[Inbox]>,
        (outbound, log): (OutboundInbox, Arc<FileLog>),
    ) -> Self {
        let traffic: AllTraffic = inboxes.iter().map(|_| Arc::new(LoopTraffic::default())).collect();
        let counted = traffic.clone();
        engine.process_mut().traffic = Box::new(move || traffic::sum(&counted));
        Shared {
            traffic,
            clock,
            script: engine.scripts().control().clone(),
            awaits_target: Arc::default(),
            is_asleep: AtomicBool::new(false),
            client_limit: ClientLimit::new(engine.config.maxclients, engine.sessions().next_id()),
            admission: Admission::of(&engine),
            links_of_new: Mutex::default(),
            client_buffers: engine.client_buffers().0,
            client_buffers_limit: AtomicUsize::new(engine.client_buffers().1),
            is_open: AtomicBool::new(engine.users().are_open()),
            busy_threshold_ms: AtomicU64::new(engine.config.busy_reply_threshold),
            lets_requests_go_on: AtomicBool::new(false),
            holder: AtomicUsize::new(0),
            refused: Refused::new(&engine.commands),
            put_off: Mutex::default(),
            table: engine.commands.clone(),
            engine: Deferred::new(engine),
            inboxes,
            clients: DashMap::new(),
            claim: Claim::default(),
            callers: Callers::default(),
            log,
            outbound,
            membership: OnceLock::new(),
            timer_at: AtomicU64::new(NEVER),
            timer_wakes: AtomicU64::new(0),
            batches: Batches::default(),
            hooks: Hooks::default(),
            shutdown: Shutdown::new(),
            on_crash: OnceLock::new(),
            is_shut_down: AtomicBool::new(false),
            is_loading: AtomicBool::new(false),
        }
    }

    /// Locks the engine for loop number `index`, waiting at most until the running script counts as slow.
    pub(super) fn engine(&self, index: usize) -> Result<MutexGuard<'_, Engine>, Busy> {
        let engine = match self.lock().try_lock() {
            Some(engine) => engine,
            None => self.wait_for_engine()?,
        };
        self.holder.store(index, Ordering::Relaxed);
        Ok(engine)
    }

    #[cold]
    fn wait_for_engine(&self) -> Result<MutexGuard<'_, Engine>, Busy> {
        /// The longest single wait. The threshold may have changed in the batch before the script.
        const LOOK_AGAIN: Duration = Duration::from_millis(50);
        loop {
            let left = self.until_slow();
            if left.is_zero() {
                self.script.arm();
                return Err(Busy);
            }
            if let Some(engine) = self.lock().try_lock_for(left.min(LOOK_AGAIN)) {
                return Ok(engine);
            }
        }
    }

    /// Returns the engine's lock. Unlock with [`Shared::unlock`].
    pub(super) fn lock(&self) -> &Mutex<Engine> {
        self.engine.lock()
    }

    /// Whether every client may do everything without logging in, as of the last batch or change of users.
    pub(super) fn is_open(&self) -> bool {
        self.is_open.load(Ordering::Relaxed)
    }

    /// Returns the time until the running script counts as slow, or the whole threshold if none runs. A threshold of 0
    /// is never reached.
    pub(super) fn until_slow(&self) -> Duration {
        const NEVER: Duration = Duration::from_secs(3600);
        let threshold = self.busy_threshold_ms.load(Ordering::Relaxed);
        if threshold == 0 {
            return NEVER;
        }
        let left = match self.script.running().map(|script| script.since_ms) {
            Some(since) => (since + threshold).saturating_sub(self.clock.now().monotonic_ms().unsigned_abs()),
            None => threshold,
        };
        Duration::from_millis(left).min(NEVER)
    }

    /// Runs `work` on the engine now, as a separate batch, for the embedding program. Blocks while a script runs.
    pub(crate) fn with_engine<T>(&self, work: impl FnOnce(&mut Engine) -> T) -> T {
        self.run(None, self.lock().lock(), work)
    }

    /// Begins a batch of a client: fires due deadlines, then does deferred work, which precedes later requests.
    pub(super) fn begin(&self, engine: &mut Engine) {
        self.begin_with(engine, Self::read_time);
    }

    fn begin_with(&self, engine: &mut Engine, read_time: impl FnOnce(&Self, &mut Engine)) {
        self.batches.begin();
        read_time(self, engine);
        // Loops that wait for the engine are woken at the end of the batch.
        if self.engine.is_asked() {
            self.run_jobs(engine);
        }
    }

    /// Brings the engine to the present within a client's batch. Starts no other request: it may be an endless script.
    pub(super) fn read_time(&self, engine: &mut Engine) {
        if engine.parks_requests() {
            contained("what was due", || engine.go_on_at(self.clock.now()));
        } else {
            self.fire(engine);
        }
    }

    /// Brings the engine to the present instant and fires due deadlines.
    fn fire(&self, engine: &mut Engine) {
        contained("what was due", || {
            self.hooks.reach(Point::Begin);
            engine.begin(self.clock.now());
            // The deadlines may have taken long to fire.
            if !self.is_fresh(engine) {
                engine.go_on_at(self.clock.now());
            }
        });
    }

    /// Whether the engine's instant is recent enough for a request.
    pub(super) fn is_fresh(&self, engine: &Engine) -> bool {
        /// The age limit, in microseconds. With the error of the work estimate it stays below a millisecond.
        const FRESH_US: u64 = 500;
        self.clock.us_since(engine.clock().system()) < FRESH_US
    }

    /// Does deferred work; the request for a check stays. A slow script calls this function, too.
    pub(super) fn run_jobs(&self, engine: &mut Engine) {
        self.engine.run_all(engine, |engine, job: Job| self.run_job(engine, job));
    }

    fn run_job(&self, engine: &mut Engine, job: Job) {
        if job.must_wait(engine) { self.put_off(job) } else { job.run(engine, &self.hooks) }
    }

    /// Defers work to the end of the batch.
    pub(super) fn put_off(&self, job: Job) {
        self.put_off.lock().push(job);
        self.engine.ask();
    }

    /// Runs `work` as a separate batch, on loop number `index` or on another thread.
    fn run<T>(
        &self,
        index: Option<usize>,
        mut engine: MutexGuard<'_, Engine>,
        work: impl FnOnce(&mut Engine) -> T,
    ) -> T {
        self.begin_with(&mut engine, Self::fire);
        let result = catch_unwind(AssertUnwindSafe(|| work(&mut engine)));
        let mut notices = Notices::default();
        self.unlock(engine, &mut notices);
        self.log.flush();
        notices.earlier_deadline &= index != Some(0);
        self.deliver(notices);
        if let Some(membership) = self.membership.get() {
            membership.exchange();
        }
        result.unwrap_or_else(|panic| resume_unwind(panic))
    }

    /// Continues an advance of the clock. If the clock is shared, the advance applies to all servers of this process.
    pub(crate) fn continue_advance(&self, advance: &mut ClockAdvance) -> AdvanceProgress {
        match self.membership.get() {
            Some(membership) => membership.continue_advance(advance),
            None => self.with_engine(|engine| engine.continue_advance(advance)),
        }
    }

    pub(super) fn deliver(&self, notices: Notices) {
        for id in notices.sessions {
            match self.address(id) {
                Some(address) => self.notify(address),
                None => self.callers.wake(id),
            }
        }
        self.outbound.post(notices.outbound);
        if notices.earlier_deadline {
            self.wake_timekeeper();
        }
        if notices.shutdown {
            self.shut_down();
        }
    }

    pub(super) fn shut_down(&self) {
        self.is_shut_down.store(true, Ordering::SeqCst);
        self.end();
        self.membership.get().into_iter().for_each(|membership| membership.leave());
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.shutdown.is_requested()
    }

    /// Whether a client has ended the server, rather than a signal or the process.
    pub(crate) fn is_shut_down(&self) -> bool {
        self.is_shut_down.load(Ordering::SeqCst)
    }

    pub(super) fn set_loading(&self, is_loading: bool) {
        self.is_loading.store(is_loading, Ordering::SeqCst);
    }

    pub(super) fn is_loading(&self) -> bool {
        self.is_loading.load(Ordering::SeqCst)
    }

    /// Runs `work` on the engine, or returns it if a slow script holds the engine.
    pub(super) fn run_unless_busy<T, W: FnOnce(&mut Engine) -> T>(
        &self,
        index: usize,
        work: W,
    ) -> Result<T, W> {
        match self.engine(index) {
            Ok(engine) => Ok(self.run(Some(index), engine, work)),
            Err(Busy) => Err(work),
        }
    }

    /// Passes work to the holder of the engine, or does it if the engine is free, and returns whether it is done. Else
    /// a loop soon checks whether the engine is free: the holder may have unlocked without seeing the work.
    pub(super) fn defer(&self, job: Job) -> bool {
        let engine = self.engine.defer(job);
        engine.map(|engine| self.run(None, engine, |_| ())).is_some()
    }

    /// Asks for the loops to be woken when the engine is free again.
    pub(super) fn wake_when_free(&self) {
        self.engine.ask();
    }

    /// Does deferred work on loop number `index`, if the engine is free.
    pub(super) fn run_deferred(&self, index: usize) -> Result<(), Busy> {
        let engine = self.lock().try_lock().ok_or(Busy)?;
        self.run(Some(index), engine, |_| ());
        Ok(())
    }

    /// Fires due deadlines, if the timer has expired. Only the first loop calls it.
    pub(super) fn fire_due(&self) -> Result<(), Busy> {
        let at = self.timer_at.load(Ordering::Relaxed);
        if at == NEVER || self.clock.now().monotonic_us < at {
            return Ok(());
        }
        self.timer_wakes.fetch_add(1, Ordering::Relaxed);
        self.timer_at.store(NEVER, Ordering::Relaxed);
        self.run_unless_busy(0, |_: &mut Engine| ()).map_err(|_| {
            self.timer_at.fetch_min(at, Ordering::Relaxed);
            self.wake_when_free();
            Busy
        })
    }

    /// Unlocks the engine. Before that, its output is handled or put into `notices`, and deferred work is done.
    #[inline]
    pub(super) fn unlock(&self, engine: MutexGuard<'_, Engine>, notices: &mut Notices) {
        self.engine.unlock(engine, |engine| self.before_unlock(engine, notices));
    }

    fn before_unlock(&self, engine: &mut Engine, notices: &mut Notices) {
        self.drain(engine, notices);
        if let Some(membership) = self.membership.get()
            && membership.catch_up(engine, self.clock.now())
        {
            self.read_time(engine);
            self.drain(engine, notices);
        }
        if self.engine.is_asked() {
            self.serve_asked(engine, notices);
        }
        if let Some(membership) = self.membership.get() {
            let is_woken = |id: &u64| self.address(*id).is_none() && !self.callers.is_waiting(*id);
            let woken = notices.sessions.iter().any(is_woken);
            membership.note(engine, &mut notices.outbound, woken);
        }
        self.follow(engine);
        self.batches.end();
    }

    /// Copies the settings that threads read without the engine: after each batch, and at a change of parameters or
    /// users, since the next request of the batch may run a slow script.
    #[inline]
    pub(super) fn follow(&self, engine: &Engine) {
        self.client_limit.set(engine.config.maxclients);
        self.admission.follow(engine);
        self.client_buffers_limit.store(engine.client_buffers().1, Ordering::Relaxed);
        self.is_open.store(engine.users().are_open(), Ordering::Relaxed);
        self.busy_threshold_ms.store(engine.config.busy_reply_threshold, Ordering::Relaxed);
        self.lets_requests_go_on.store(engine.lets_requests_go_on(), Ordering::Relaxed);
    }

    #[inline]
    pub(super) fn lets_requests_go_on(&self) -> bool {
        self.lets_requests_go_on.load(Ordering::Relaxed)
    }

    /// Does deferred work, and wakes the loops that wait for the engine.
    #[cold]
    fn serve_asked(&self, engine: &mut Engine, notices: &mut Notices) {
        // Deferred work runs at its own instant, not at that of the script before it.
        self.read_time(engine);
        self.engine.run_asked(engine, |engine, job: Job| self.run_job(engine, job));
        let put_off = std::mem::take(&mut *self.put_off.lock());
        put_off.into_iter().for_each(|job| self.run_job(engine, job));
        self.refused.report(engine, &self.table);
        self.inboxes.iter().for_each(Inbox::wake);
        self.drain(engine, notices);
    }

    /// Whether client buffers exceed their limit, so that [`Engine::evict_clients`] has to check.
    #[inline]
    pub(super) fn has_large_clients(&self) -> bool {
        self.client_buffers.get() >= self.client_buffers_limit.load(Ordering::Relaxed)
    }

    /// Handles the engine's output, as far as that needs the lock.
    pub(super) fn drain(&self, engine: &mut Engine, notices: &mut Notices) {
        // The whole server stops, so the lock stays held.
        while let Some(time) = self.drain_until_sleep(engine, notices) {
            self.sleep(time);
        }
    }

    /// Handles the engine's output up to a sleep, whose length it returns, or to the end of the output.
    pub(super) fn drain_until_sleep(&self, engine: &mut Engine, notices: &mut Notices) -> Option<Duration> {
        loop {
            match engine.poll_output() {
                Output::Sleep(time) => return Some(time),
                Output::Session(id) => notices.sessions.push(id),
                Output::Outbound(id) => notices.outbound.push(id),
                Output::Garbage(garbage) => notices.garbage.push(garbage),
                Output::Shutdown => notices.shutdown = true,
                Output::Crash(crash) => self.crash(engine, crash),
                Output::Idle { deadline_us } => {
                    notices.earlier_deadline |= self.set_timer(deadline_us.unwrap_or(NEVER));
                    return None;
                }
            }
        }
    }

    /// Ends the process abruptly if it belongs to this server alone, else only the server. The engine may be locked.
    #[cold]
    pub(super) fn end_abruptly(&self, crash: Crash) {
        if let Some(end_process) = self.on_crash.get() {
            end_process(crash);
        }
        self.shut_down();
    }

    #[cold]
    fn crash(&self, engine: &mut Engine, crash: Crash) {
        if let Some(end_process) = self.on_crash.get() {
            end_process(crash);
        }
        engine.crash_alone(crash);
    }

    fn sleep(&self, time: Duration) {
        self.is_asleep.store(true, Ordering::SeqCst);
        self.shutdown.sleep(time, || !self.is_asleep());
        self.is_asleep.store(false, Ordering::SeqCst);
    }

    /// Sleeps on a new thread, as a batch. If no thread can be started, there is no sleep.
    pub(super) fn sleep_on_a_thread(self: &Arc<Self>, time: Duration) {
        let (shared, guard) = (self.clone(), self.shutdown.thread());
        let sleep = move || {
            let _guard = guard;
            shared.with_engine(|_| shared.sleep(time));
        };
        drop(thread::Builder::new().name("lockwheel-sleep".to_owned()).spawn(sleep));
    }

    pub(super) fn is_asleep(&self) -> bool {
        self.is_asleep.load(Ordering::SeqCst)
    }

    pub(super) fn wake(&self) {
        self.is_asleep.store(false, Ordering::SeqCst);
    }

    /// Makes the first loop wake at this instant at the latest. Returns whether that is earlier than before.
    fn set_timer(&self, at_us: u64) -> bool {
        // An earlier timer stays: the loop then finds no due deadline and sleeps again.
        let is_earlier = at_us < self.timer_at.load(Ordering::Relaxed);
        if is_earlier {
            self.timer_at.store(at_us, Ordering::Relaxed);
        }
        is_earlier
    }

    pub(super) fn wake_timekeeper(&self) {
        self.inboxes[0].wake();
    }

    pub(super) fn inbox(&self, index: usize) -> &Inbox {
        &self.inboxes[index]
    }

    /// Returns the loop with the fewest connections. A loop that runs a script is chosen last.
    pub(super) fn idlest(&self) -> usize {
        let at_work = self.script.running().map(|_| self.holder.load(Ordering::Relaxed));
        let load = |&index: &usize| (at_work == Some(index), self.inboxes[index].connections());
        (0..self.inboxes.len()).min_by_key(load).unwrap_or(0)
    }

    pub(super) fn address(&self, id: u64) -> Option<Address> {
        self.clients.get(&id).map(|client| client.address)
    }

    /// Notifies connections of changed links (what may be read and written) while a slow script holds the engine.
    pub(super) fn relink(&self, links: &[(u64, Link)]) {
        let mut unannounced = self.links_of_new.lock();
        unannounced.clear();
        for &(id, link) in links {
            match self.address(id) {
                Some(Address { index, key }) => {
                    self.inbox(index).post(LoopMessage::Relinked { key, id, link });
                }
                None => _ = unannounced.insert(id, link),
            }
        }
    }

    /// Returns the link of a connection that has just got its address, if the link has changed since the session began.
    pub(super) fn take_link_of_new(&self, id: u64) -> Option<Link> {
        self.links_of_new.lock().remove(&id)
    }

    /// Notifies a connection that its session has changed. Call it without the lock.
    pub(super) fn notify(&self, address: Address) {
        self.inbox(address.index).post(LoopMessage::SessionChanged { key: address.key });
    }

    /// Returns the number of times that a deadline has woken the process since the start.
    pub(crate) fn timer_wakes(&self) -> u64 {
        self.timer_wakes.load(Ordering::Relaxed)
    }

    /// Counts a request that was refused because a script is slow. The engine takes the count over when it is free.
    pub(super) fn refuse(&self, command: CommandId) {
        self.refused.add(command);
        self.engine.ask();
    }

    /// Notifies the engine, unless busy, of a signal that ends the server. Returns whether it did. `done` is called
    /// before a client can see the effect.
    pub(super) fn signalled(&self, signal: EndSignal, done: &mut dyn FnMut()) -> bool {
        let Some(engine) = self.lock().try_lock() else { return false };
        self.run(None, engine, |engine| {
            engine.signalled(signal);
            done();
        });
        true
    }

    /// Asks all threads to end; a running script is killed.
    pub(crate) fn end(&self) {
        self.shutdown.request();
        self.script.force_kill();
        self.batches.wake();
        self.callers.wake_all();
        self.outbound.wake();
        self.log.wake();
        self.inboxes.iter().for_each(Inbox::wake);
    }

    /// Releases the claim on files once the threads have ended, even if a handle of this server still exists.
    pub(crate) fn give_up_files(&self) {
        self.claim.give_up();
    }
}

/// Frees garbage. Large garbage is freed on a new thread, since it is rare and no client should wait for it.
#[cold]
pub(super) fn free(garbage: Garbage) {
    /// The most memory, in bytes, that a new thread needs. A thread that finds less ends the process.
    const THREAD: usize = 4 << 20;
    if !garbage.takes_long() || allocation::check(THREAD).is_err() {
        return drop(garbage);
    }
    let thread = thread::Builder::new().name("lockwheel-free".to_owned());
    // If no thread can be started, dropping the closure frees the garbage here.
    drop(thread.spawn(move || drop(garbage)));
}
