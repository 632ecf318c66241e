//! A state behind a lock, and a queue of work on it for whoever holds the lock.
//!
//! Whoever defers work tries the lock afterwards, and whoever unlocks checks for work afterwards; so one of the two
//! does it. This file knows nothing of engines and sockets: a model of it is checked against all interleavings.

use super::sync::{AtomicBool, Mutex, MutexGuard, Ordering, fence};
use std::collections::VecDeque;

/// A state `S` behind its lock, and the queue of work `W` on it.
pub(super) struct Deferred<S, W> {
    state: Mutex<S>,
    work: Mutex<VecDeque<W>>,
    /// Whoever unlocks is asked to check: there is work, or somebody waits.
    asked: AtomicBool,
}

impl<S, W> Deferred<S, W> {
    /// A state without work.
    pub(super) fn new(state: S) -> Self {
        let (state, work) = (Mutex::new(state), Mutex::new(VecDeque::new()));
        Deferred { state, work, asked: AtomicBool::new(false) }
    }

    /// The lock. Who takes it gives it back by [`Deferred::unlock`].
    pub(super) fn lock(&self) -> &Mutex<S> {
        &self.state
    }

    /// Queues work. It is done by whoever holds the lock, before or after unlocking; when nobody holds it, the caller
    /// gets it, and does the work by [`Deferred::unlock`].
    #[must_use = "who gets the lock gives it back by `unlock`"]
    pub(super) fn defer(&self, work: W) -> Option<MutexGuard<'_, S>> {
        self.work.lock().push_back(work);
        self.ask();
        self.state.try_lock()
    }

    /// Asks whoever unlocks next to check.
    pub(super) fn ask(&self) {
        self.asked.store(true, Ordering::Relaxed);
        // Against the one in `unlock`: either the lock is seen free here, or the question there.
        fence(Ordering::SeqCst);
    }

    /// Whether anybody has asked since [`Deferred::run_asked`].
    #[inline]
    pub(super) fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    /// Does the queued work, in its order, and takes note that whoever has asked is served. For who holds the lock.
    pub(super) fn run_asked(&self, state: &mut S, run: impl FnMut(&mut S, W)) {
        self.asked.store(false, Ordering::Relaxed);
        self.run_all(state, run);
    }

    /// Does the work queued so far, in its order; who has asked is served later. For who holds the lock.
    pub(super) fn run_all(&self, state: &mut S, mut run: impl FnMut(&mut S, W)) {
        loop {
            // Not in the condition of a loop, which would keep the queue locked while the work is done.
            let Some(work) = self.work.lock().pop_front() else { return };
            run(state, work);
        }
    }

    /// Unlocks after `finish`, which calls [`Deferred::run_asked`] if anybody has asked; and again, if somebody has
    /// asked since and nobody else holds the lock.
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
