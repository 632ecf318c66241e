//! State behind a lock, and a queue of work for its holder. Deferring tries the lock after queueing, and unlocking
//! checks the queue, so one of the two does the work. A model can check all interleavings.

use super::sync::{AtomicBool, Mutex, MutexGuard, Ordering, fence};
use std::collections::VecDeque;

/// A state `S` behind its lock, and a queue of work `W` on the state.
pub(super) struct Deferred<S, W> {
    state: Mutex<S>,
    work: Mutex<VecDeque<W>>,
    /// Whether the next unlock must check, because there is work or a waiter.
    asked: AtomicBool,
}

impl<S, W> Deferred<S, W> {
    pub(super) fn new(state: S) -> Self {
        let (state, work) = (Mutex::new(state), Mutex::new(VecDeque::new()));
        Deferred { state, work, asked: AtomicBool::new(false) }
    }

    /// Returns the lock. Unlock with [`Deferred::unlock`].
    pub(super) fn lock(&self) -> &Mutex<S> {
        &self.state
    }

    /// Queues work for the holder. If the lock is free, the caller gets it and works by [`Deferred::unlock`].
    #[must_use = "who gets the lock gives it back by `unlock`"]
    pub(super) fn defer(&self, work: W) -> Option<MutexGuard<'_, S>> {
        self.work.lock().push_back(work);
        self.ask();
        self.state.try_lock()
    }

    /// Asks the next unlock to check.
    pub(super) fn ask(&self) {
        self.asked.store(true, Ordering::Relaxed);
        // Pairs with the fence in `unlock`: either the lock is seen free here, or the request there.
        fence(Ordering::SeqCst);
    }

    /// Whether a check was requested since [`Deferred::run_asked`].
    #[inline]
    pub(super) fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    /// Does the queued work, in order, and clears the request for a check. Call with the lock held.
    pub(super) fn run_asked(&self, state: &mut S, run: impl FnMut(&mut S, W)) {
        self.asked.store(false, Ordering::Relaxed);
        self.run_all(state, run);
    }

    /// Does the work queued so far, in order; the request for a check stays. Call with the lock held.
    pub(super) fn run_all(&self, state: &mut S, mut run: impl FnMut(&mut S, W)) {
        loop {
            // The queue would stay locked during the work if this were the condition of the loop.
            let Some(work) = self.work.lock().pop_front() else { return };
            run(state, work);
        }
    }

    /// Unlocks after `finish`, which calls [`Deferred::run_asked`] if asked; again, if asked since and still free.
    #[inline]
    pub(super) fn unlock<'a>(&'a self, mut held: MutexGuard<'a, S>, mut finish: impl FnMut(&mut S)) {
        loop {
            finish(&mut held);
            drop(held);
            fence(Ordering::SeqCst);
            if !self.is_asked() {
                return;
            }
            let Some(again) = self.state.try_lock() else { return };
            held = again;
        }
    }
}
