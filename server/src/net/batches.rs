//! The count of batches, by which the watchdog sees activity.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::Thread;

/// What batches share with the watchdog.
#[derive(Debug, Default)]
pub(super) struct Batches {
    /// How many have begun.
    pub(super) count: AtomicU64,
    /// The last that has begun has not ended: a script may still begin in it.
    pub(super) under_way: AtomicBool,
    /// The watchdog is awake.
    pub(super) watched: AtomicBool,
    /// The watchdog.
    pub(super) thread: OnceLock<Thread>,
}

impl Batches {
    /// A batch begins. Called under the engine's lock, so that there is one writer.
    pub(super) fn begin(&self) {
        self.under_way.store(true, Ordering::Relaxed);
        self.count.store(self.count.load(Ordering::Relaxed) + 1, Ordering::SeqCst);
        if !self.watched.load(Ordering::SeqCst) && !self.watched.swap(true, Ordering::SeqCst) {
            self.wake();
        }
    }

    /// A batch ends; again, if something was left over. Called under the engine's lock.
    pub(super) fn end(&self) {
        self.under_way.store(false, Ordering::Release);
    }

    /// Wakes the watchdog.
    pub(super) fn wake(&self) {
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
    }
}
