//! Finds out that a script is slow when nobody else does.
//!
//! The thread that runs the script cannot, and the others may be asleep without knowing. This thread looks from time
//! to time whether a script has run for longer than `busy-reply-threshold`; then it arms the interpreter's hook, from
//! which the script's thread serves its sockets. It sleeps while nothing runs: the first batch after a pause wakes it,
//! and a period without a batch sends it back to sleep.

use super::shared::{Running, Shared};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, Thread};
use std::time::Duration;

/// How often it looks.
const PERIOD: Duration = Duration::from_millis(50);

/// What batches leave for the thread to see.
#[derive(Debug, Default)]
pub(super) struct Batches {
    /// How many have begun.
    count: AtomicU64,
    /// The thread is awake.
    watched: AtomicBool,
    thread: std::sync::OnceLock<Thread>,
}

impl Batches {
    /// A batch begins. Under the engine's lock, so that nobody else counts.
    pub(super) fn begin(&self) {
        self.count.store(self.count.load(Ordering::Relaxed) + 1, Ordering::SeqCst);
        if !self.watched.load(Ordering::SeqCst) && !self.watched.swap(true, Ordering::SeqCst) {
            self.wake();
        }
    }

    /// Wakes the thread, so that it looks around.
    pub(super) fn wake(&self) {
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
    }
}

/// Starts the thread; it ends when the server does.
pub(crate) fn start(shared: Arc<Shared>, running: Running) -> std::io::Result<()> {
    let watch = move || {
        let _running = running;
        shared.batches.thread.get_or_init(thread::current);
        loop {
            // It looks around before it sleeps: a batch may have begun before the thread did.
            watch_scripts(&shared);
            if shared.end_asked.load(Ordering::SeqCst) {
                return;
            }
            thread::park();
        }
    };
    thread::Builder::new().name("lockwheel-watch".to_owned()).spawn(watch).map(drop)
}

/// Watches until no batch has begun for a period, and no script runs.
fn watch_scripts(shared: &Shared) {
    let batches = &shared.batches;
    let mut last = batches.count.load(Ordering::SeqCst);
    while !shared.end_asked.load(Ordering::Relaxed) {
        thread::park_timeout(PERIOD);
        let running = shared.control.running().is_some();
        if running && shared.until_slow().is_zero() {
            shared.control.arm();
        }
        let count = batches.count.load(Ordering::SeqCst);
        let same = std::mem::replace(&mut last, count) == count;
        if same && !running {
            batches.watched.store(false, Ordering::SeqCst);
            // A batch that began just now saw the thread awake and did not wake it.
            if batches.count.load(Ordering::SeqCst) == count || batches.watched.swap(true, Ordering::SeqCst) {
                return;
            }
        }
    }
}
