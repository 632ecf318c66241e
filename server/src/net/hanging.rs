//! A server of several in one process as the others see it: whether its engine can be had, and what it has missed.
//!
//! A server hangs when it sleeps (DEBUG SLEEP), runs a slow script or any other long batch, or waits for another server
//! (MIGRATE). The others go on without it, as they would with a process that hangs. It makes up for what it has missed
//! when its batch ends.

use super::shared::Shared;
use lockwheel_engine::Engine;
use lockwheel_engine::outbound::OutboundId;
use lockwheel_store::time::{Clock, Now};
use parking_lot::{Mutex, MutexGuard};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// Longest time of one attempt to get a lock.
pub(super) const ATTEMPT: Duration = Duration::from_millis(2);
/// Longest time of a script before the others go on without its server, in milliseconds.
const SLOW_SCRIPT_MS: u64 = 20;
/// Longest time of any other batch before that. What a server was sent arrives before its sender is answered, unless
/// it hangs: the limit is far above the time for which a busy machine stops a thread.
const SLOW_BATCH: Duration = Duration::from_millis(500);

/// A server of several in one process.
pub(super) struct Place {
    shared: Weak<Shared>,
    /// Its connections that are to be looked at.
    pub(super) pending: Mutex<Vec<OutboundId>>,
    /// Whether it has ended.
    pub(super) has_left: AtomicBool,
    /// Whether it is to be killed, its script or its sleep with it.
    pub(super) is_doomed: AtomicBool,
    /// How many of the times that all partitions were to end it has heard of.
    healed: AtomicU64,
    /// Whether the last exchange has left it out.
    is_left_out: AtomicBool,
    /// Whether an exchange holds its engine.
    is_held: AtomicBool,
    /// The number of the batch that was found to be slow.
    slow_batch: AtomicU64,
    /// The clock of all, which it has to follow.
    missed_clock: Mutex<Option<Clock>>,
}

/// The time for which a server's batch has been waited for.
#[derive(Clone, Copy, Default)]
pub(super) struct Waited(Option<(u64, Instant)>);

/// An attempt to get a server's engine.
pub(super) enum Attempt<'a> {
    /// The engine is held now.
    Held(MutexGuard<'a, Engine>),
    /// The server hangs.
    Hangs,
    /// A batch runs, which ends soon.
    Busy,
}

impl Place {
    pub(super) fn new(shared: &Arc<Shared>) -> Self {
        Place {
            shared: Arc::downgrade(shared),
            pending: Mutex::default(),
            has_left: AtomicBool::new(false),
            is_doomed: AtomicBool::new(false),
            healed: AtomicU64::new(0),
            is_left_out: AtomicBool::new(false),
            is_held: AtomicBool::new(false),
            slow_batch: AtomicU64::new(u64::MAX),
            missed_clock: Mutex::default(),
        }
    }

    /// The server, unless all that belongs to it is gone.
    pub(super) fn shared(&self) -> Option<Arc<Shared>> {
        self.shared.upgrade()
    }

    /// Tries to get the engine.
    pub(super) fn try_hold<'a>(&self, shared: &'a Shared, waited: &mut Waited) -> Attempt<'a> {
        if let Some(engine) = shared.lock().try_lock() {
            return Attempt::Held(engine);
        }
        let count = shared.batches.count.load(Ordering::SeqCst);
        if is_slow(shared) || self.slow_batch.load(Ordering::SeqCst) == count {
            return Attempt::Hangs;
        }
        if let Some(engine) = shared.lock().try_lock_for(ATTEMPT) {
            return Attempt::Held(engine);
        }
        match waited.0 {
            Some((same, since)) if same == count => {
                if since.elapsed() >= SLOW_BATCH {
                    self.slow_batch.store(count, Ordering::SeqCst);
                }
            }
            _ => waited.0 = Some((count, Instant::now())),
        }
        Attempt::Busy
    }

    /// Whether an exchange that holds its engine is itself kept by it, as by a script that has begun in the exchange.
    pub(super) fn keeps_exchange(&self) -> bool {
        self.is_held.load(Ordering::SeqCst) && self.shared().is_some_and(|shared| is_slow(&shared))
    }

    /// An exchange begins, which holds its engine or leaves it out.
    pub(super) fn exchange_begins(&self, is_held: bool) {
        self.is_left_out.store(!is_held, Ordering::SeqCst);
        self.is_held.store(is_held, Ordering::SeqCst);
        if is_held {
            // Clients that wait for its end are answered now.
            self.is_doomed.store(false, Ordering::SeqCst);
        }
    }

    /// All partitions were to end so many times until now. Whether it has not heard of the last one before.
    pub(super) fn has_to_heal(&self, heals: u64) -> bool {
        self.healed.fetch_max(heals, Ordering::SeqCst) < heals
    }

    /// The exchange has unlocked its engine; or it was left out, and this is the clock of all that it has to follow.
    pub(super) fn exchange_ends(&self, clock: Option<&Clock>) {
        self.is_held.store(false, Ordering::SeqCst);
        if self.is_left_out() {
            *self.missed_clock.lock() = clock.cloned();
        }
    }

    /// Whether the last exchange has left it out: it has to take part in another.
    pub(super) fn is_left_out(&self) -> bool {
        self.is_left_out.load(Ordering::SeqCst)
    }

    /// Follows the clock of all, if it has missed that at this instant; whether it had. An exchange that holds the
    /// engine again, before its own batch could follow, does so too.
    pub(super) fn catch_up(&self, engine: &mut Engine, now: Now) -> bool {
        let clock = self.missed_clock.lock().take();
        clock.iter().for_each(|clock| engine.catch_up(clock, now));
        clock.is_some()
    }
}

/// Whether a server is known to take long.
fn is_slow(shared: &Shared) -> bool {
    let now_ms = shared.clock.now().monotonic_ms().unsigned_abs();
    let script = shared.script.running();
    let is_slow_script =
        script.is_some_and(|script| now_ms.saturating_sub(script.since_ms) >= SLOW_SCRIPT_MS);
    is_slow_script || shared.is_asleep() || shared.awaits_target.load(Ordering::SeqCst)
}
