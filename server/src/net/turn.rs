//! The part of an event loop that a connection may use while it runs.

use super::busy::Job;
use super::shared::{Notices, Shared, free};
use lockwheel_engine::Engine;
use std::cell::{Cell, RefCell};
use std::sync::Arc;

pub(super) enum EngineAccess<'a> {
    Lock,
    /// Through a slow script of this thread, which holds the engine and lends it.
    Lent(&'a mut Engine),
}

/// One turn of an event loop, as its connections see it.
pub(super) struct Turn<'a> {
    pub(super) shared: &'a Arc<Shared>,
    pub(super) index: usize,
    pub(super) access: EngineAccess<'a>,
    pub(super) changed: &'a RefCell<Vec<usize>>,
    /// Whether work waits for the engine, which a slow script of another thread holds.
    pub(super) awaits_engine: &'a Cell<bool>,
}

impl Turn<'_> {
    pub(super) fn is_lent(&self) -> bool {
        matches!(self.access, EngineAccess::Lent(_))
    }

    /// Passes work to the holder of the engine, or does it at once if the engine is free.
    pub(super) fn defer(&self, job: Job) {
        if !self.shared.defer(job) {
            self.awaits_engine.set(true);
        }
    }

    #[inline]
    pub(super) fn pass_on(&self, notices: &mut Notices) {
        for id in notices.sessions.drain(..) {
            match self.shared.address(id) {
                Some(address) if address.index == self.index => self.changed.borrow_mut().push(address.key),
                Some(address) => self.shared.notify(address),
                None => self.shared.callers.wake(id),
            }
        }
        if std::mem::take(&mut notices.earlier_deadline) && self.index != 0 {
            self.shared.wake_timekeeper();
        }
        self.shared.outbound.post(std::mem::take(&mut notices.outbound));
        notices.garbage.drain(..).for_each(free);
        if std::mem::take(&mut notices.shutdown) {
            self.shared.shut_down();
        }
        if let Some(membership) = self.shared.membership.get().filter(|_| !self.is_lent()) {
            membership.exchange();
        }
    }
}
