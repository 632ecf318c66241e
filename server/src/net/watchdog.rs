//! Sees to it that sockets are looked after while one batch holds a worker for long.
//!
//! A tokio worker that runs a slow script does not poll the sockets, and the others may be asleep without knowing.
//! This thread wakes one of them when a batch has run for longer than [`PERIOD`], and tells those for whom the slow
//! script's thread has done something. It sleeps while nothing runs: the
//! first batch after a pause wakes it, and a period without a batch sends it back to sleep.

use super::shared::Shared;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle, Thread};
use std::time::Duration;
use tokio::runtime::Handle;

/// How long a batch may run before another worker is woken.
const PERIOD: Duration = Duration::from_millis(50);

/// What batches leave for the thread to see.
#[derive(Debug, Default)]
pub(super) struct Batches {
    /// Grows when a batch begins and when it ends: odd while one runs.
    count: AtomicU64,
    /// The thread is awake.
    watched: AtomicBool,
    thread: std::sync::OnceLock<Thread>,
}

impl Batches {
    /// A batch begins; it runs until the guard is dropped. Under the engine's lock, so that nobody else counts.
    pub(super) fn begin(&self) -> Running<'_> {
        self.step();
        if !self.watched.load(Ordering::SeqCst) && !self.watched.swap(true, Ordering::SeqCst) {
            self.wake();
        }
        Running(self)
    }

    fn step(&self) {
        self.count.store(self.count.load(Ordering::Relaxed) + 1, Ordering::SeqCst);
    }

    /// Wakes the thread, so that it looks around.
    pub(super) fn wake(&self) {
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
    }
}

/// A batch that runs.
pub(super) struct Running<'a>(&'a Batches);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.step();
    }
}

/// Starts the thread; it ends when the server does.
pub(crate) fn start(shared: Arc<Shared>, runtime: Handle) -> std::io::Result<JoinHandle<()>> {
    let watch = move || {
        shared.batches.thread.get_or_init(thread::current);
        shared.jobs.told_by_this_thread();
        while !shared.end_asked.load(Ordering::Relaxed) {
            // It looks around before it sleeps: a batch may have begun before the thread did.
            watch_batches(&shared, &runtime);
            thread::park();
        }
    };
    thread::Builder::new().name("lockwheel-watch".to_owned()).spawn(watch)
}

/// Watches until no batch has run for a period.
fn watch_batches(shared: &Shared, runtime: &Handle) {
    let batches = &shared.batches;
    shared.jobs.tell();
    let mut last = batches.count.load(Ordering::SeqCst);
    while !shared.end_asked.load(Ordering::Relaxed) {
        thread::park_timeout(PERIOD);
        shared.jobs.tell();
        let count = batches.count.load(Ordering::SeqCst);
        let same = std::mem::replace(&mut last, count) == count;
        if same && count % 2 == 1 {
            // A task, however small, wakes a worker; finding nothing else to do, it polls the sockets.
            runtime.spawn(async {});
        } else if same {
            batches.watched.store(false, Ordering::SeqCst);
            // A batch that began just now saw the thread awake and did not wake it.
            if batches.count.load(Ordering::SeqCst) == count || batches.watched.swap(true, Ordering::SeqCst) {
                return;
            }
        }
    }
}
