//! The count of batches, which shows activity to the watchdog.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::Thread;

#[derive(Debug, Default)]
pub(super) struct Batches {
    pub(super) count: AtomicU64,
    /// Whether the latest batch is still running: a script may still start in it.
    pub(super) under_way: AtomicBool,
    pub(super) watched: AtomicBool,
    pub(super) thread: OnceLock<Thread>,
}

impl Batches {
    /// Records the start of a batch. Called under the engine's lock, so that there is one writer.
    pub(super) fn begin(&self) {
        self.under_way.store(true, Ordering::Relaxed);
        self.count.store(self.count.load(Ordering::Relaxed) + 1, Ordering::SeqCst);
        if !self.watched.load(Ordering::SeqCst) && !self.watched.swap(true, Ordering::SeqCst) {
            self.wake();
        }
    }

    /// Records the end of a batch; called again if work was left over. Called under the engine's lock.
    pub(super) fn end(&self) {
        self.under_way.store(false, Ordering::Release);
    }

    pub(super) fn wake(&self) {
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
    }
}
