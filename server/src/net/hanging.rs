//! One of several servers in a process, as the others see it. It hangs while it sleeps (DEBUG SLEEP), runs a slow
//! script or another long batch, or waits for another server (MIGRATE). The others continue without it, as if its
//! process were hung, and it catches up when its batch ends.

use super::shared::Shared;
use lockwheel_engine::Engine;
use lockwheel_engine::outbound::OutboundId;
use lockwheel_store::time::{Clock, Now};
use parking_lot::{Mutex, MutexGuard};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// The longest time of one attempt to get a lock.
pub(super) const ATTEMPT: Duration = Duration::from_millis(2);
/// The longest time of a script, in milliseconds, before the other servers continue without its server.
const SLOW_SCRIPT_MS: u64 = 20;
/// The longest time of any other batch. A message arrives before its sender gets a reply, unless the server hangs, so
/// the limit is far above the time for which a busy machine stops a thread.
const SLOW_BATCH: Duration = Duration::from_millis(500);

pub(super) struct Place {
    shared: Weak<Shared>,
    /// The connections of the server that have work.
    pub(super) pending: Mutex<Vec<OutboundId>>,
    pub(super) has_left: AtomicBool,
    /// Whether the server is about to be killed, together with its script or its sleep.
    pub(super) is_doomed: AtomicBool,
    /// The number of heals of all partitions that the server has taken note of.
    healed: AtomicU64,
    is_left_out: AtomicBool,
    is_held: AtomicBool,
    /// The number of the batch that was found to be slow.
    slow_batch: AtomicU64,
    /// The common clock, which the server still has to adopt.
    missed_clock: Mutex<Option<Clock>>,
}

/// The time spent waiting for a batch of a server.
#[derive(Clone, Copy, Default)]
pub(super) struct Waited(Option<(u64, Instant)>);

pub(super) enum Attempt<'a> {
    Held(MutexGuard<'a, Engine>),
    Hangs,
    /// A batch runs and will end soon.
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

    pub(super) fn shared(&self) -> Option<Arc<Shared>> {
        self.shared.upgrade()
    }

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

    /// Whether an exchange holds the engine and is stopped by it, for instance by a script that began in the exchange.
    pub(super) fn keeps_exchange(&self) -> bool {
        self.is_held.load(Ordering::SeqCst) && self.shared().is_some_and(|shared| is_slow(&shared))
    }

    /// Records the start of an exchange, which holds the engine or leaves the server out.
    pub(super) fn exchange_begins(&self, is_held: bool) {
        self.is_left_out.store(!is_held, Ordering::SeqCst);
        self.is_held.store(is_held, Ordering::SeqCst);
        if is_held {
            // The exchange now reaches the server itself: clients that wait for the kill are answered.
            self.is_doomed.store(false, Ordering::SeqCst);
        }
    }

    /// Records the number of heals of all partitions so far. Returns whether the last one is new to the server.
    pub(super) fn has_to_heal(&self, heals: u64) -> bool {
        self.healed.fetch_max(heals, Ordering::SeqCst) < heals
    }

    /// Records the end of an exchange, which has unlocked the engine. A server that was left out has to adopt `clock`.
    pub(super) fn exchange_ends(&self, clock: Option<&Clock>) {
        self.is_held.store(false, Ordering::SeqCst);
        if self.is_left_out() {
            *self.missed_clock.lock() = clock.cloned();
        }
    }

    /// Whether the last exchange left the server out. The server must then take part in another exchange.
    pub(super) fn is_left_out(&self) -> bool {
        self.is_left_out.load(Ordering::SeqCst)
    }

    /// Adopts the common clock at this instant, and returns true, if the server has missed it. An exchange that holds
    /// the engine again first does the same.
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
