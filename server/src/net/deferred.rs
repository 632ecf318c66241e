//! Something behind a lock, and work that is left for whoever has the lock.
//!
//! Who leaves work looks for the lock afterwards, and who lets go of the lock looks for work afterwards; so one of the
//! two does it, whatever comes in between. This file knows nothing of engines and sockets: a model of it is checked
//! against all interleavings.

use super::sync::{AtomicBool, Mutex, MutexGuard, Ordering, fence};
use std::collections::VecDeque;

/// A state `S` behind its lock, and the queue of work `W` on it.
pub(super) struct Deferred<S, W> {
    state: Mutex<S>,
    work: Mutex<VecDeque<W>>,
    /// Whoever lets go of the lock is asked to look around: there is work, or somebody waits.
    asked: AtomicBool,
}

impl<S, W> Deferred<S, W> {
    /// A state without work.
    pub(super) fn new(state: S) -> Self {
        let (state, work) = (Mutex::new(state), Mutex::new(VecDeque::new()));
        Deferred { state, work, asked: AtomicBool::new(false) }
    }

    /// The lock.
    pub(super) fn lock(&self) -> &Mutex<S> {
        &self.state
    }

    /// Leaves work. It is done by whoever has the lock, before or after letting go; when nobody has it, the caller gets
    /// it, and does the work by letting go.
    #[must_use = "who gets the lock has to let go of it by `let_go`"]
    pub(super) fn leave(&self, work: W) -> Option<MutexGuard<'_, S>> {
        self.work.lock().push_back(work);
        self.ask();
        self.state.try_lock()
    }

    /// Asks whoever lets go of the lock next to look around.
    pub(super) fn ask(&self) {
        self.asked.store(true, Ordering::Relaxed);
        // Against the one in `let_go`: either the lock is seen free here, or the question there.
        fence(Ordering::SeqCst);
    }

    /// Whether anybody has asked since the last time.
    #[inline]
    pub(super) fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    /// Does the work that was left, in its order; whether anybody has asked since the last time. For who has the lock.
    #[inline]
    pub(super) fn serve(&self, state: &mut S, run: impl FnMut(&mut S, W)) -> bool {
        let asked = self.is_asked();
        if asked {
            self.serve_asked(state, run);
        }
        asked
    }

    #[cold]
    fn serve_asked(&self, state: &mut S, run: impl FnMut(&mut S, W)) {
        self.asked.store(false, Ordering::Relaxed);
        self.work_off(state, run);
    }

    /// Does the work that was left so far, in its order; who has asked is served later. For who has the lock.
    pub(super) fn work_off(&self, state: &mut S, mut run: impl FnMut(&mut S, W)) {
        loop {
            // Not in the condition of a loop, which would keep the queue locked while the work is done.
            let Some(work) = self.work.lock().pop_front() else { return };
            run(state, work);
        }
    }

    /// Lets go of the lock after `finish`, which serves what was left; and again, if somebody has asked since and
    /// nobody else has the lock.
    #[inline]
    pub(super) fn let_go<'a>(&'a self, mut held: MutexGuard<'a, S>, mut finish: impl FnMut(&mut S)) {
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
