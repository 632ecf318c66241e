//! The count of batches, by which the watchdog sees activity.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::Thread;

/// What batches share with the watchdog.
#[derive(Debug, Default)]
pub(super) struct Batches {
    /// How many have begun.
    pub(super) count: AtomicU64,
    /// The watchdog is awake.
    pub(super) watched: AtomicBool,
    /// The watchdog.
    pub(super) thread: OnceLock<Thread>,
}

impl Batches {
    /// A batch begins. Called under the engine's lock, so that there is one writer.
    pub(super) fn begin(&self) {
        self.count.store(self.count.load(Ordering::Relaxed) + 1, Ordering::SeqCst);
        if !self.watched.load(Ordering::SeqCst) && !self.watched.swap(true, Ordering::SeqCst) {
            self.wake();
        }
    }

    /// Wakes the watchdog.
    pub(super) fn wake(&self) {
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
    }
}
