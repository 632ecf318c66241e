//! Settings of the records that parameters decide.

use super::super::history::{History, StampSource};
use super::fair_queues::FairQueues;
use super::limits::VerifyLimits;
use super::lock_records::LockRecords;
use super::plain_sets::PlainSets;
use super::semaphores::Semaphores;
use lockwheel_store::keyspace::Keyspace;

#[derive(Clone, Debug)]
pub(crate) struct LedgerSettings {
    /// `lock-ledger`: whether the server observes holds that no native command has taken.
    pub(crate) observes: bool,
    /// `lock-history-max`, if `lock-history` is yes.
    pub(crate) history: Option<usize>,
    pub(crate) limits: VerifyLimits,
    /// `lock-jeopardy`, in milliseconds.
    pub(crate) jeopardy_ms: i64,
    /// The source of the stamps that order the history among those of other servers, if there are any.
    pub(crate) stamps: Option<StampSource>,
}

pub(crate) fn configure(keyspace: &mut Keyspace, settings: LedgerSettings) {
    if let Some(records) = LockRecords::in_keyspace_mut(keyspace) {
        records.configure(settings);
        keyspace.renew_interests();
    }
}

impl LockRecords {
    fn configure(&mut self, settings: LedgerSettings) {
        self.ledger.observes = settings.observes;
        self.limits = settings.limits;
        self.subscribers.jeopardy_ms = settings.jeopardy_ms;
        self.sees_leases = settings.history.is_some() || settings.jeopardy_ms > 0;
        match (settings.history, &mut self.subscribers.history) {
            (None, history) => {
                *history = None;
                self.fair_queues = FairQueues::default();
                self.plain_sets = PlainSets::new(self.seed);
                self.unleased.clear();
                self.semaphores = Semaphores::default();
            }
            (Some(most), Some(history)) if history.is_stamped() == settings.stamps.is_some() => {
                history.set_most(most);
            }
            (Some(most), history) => {
                *history = Some(Box::new(History::stamped(most, self.seed, settings.stamps)));
                self.histories += 1;
                self.counted_up_to = 0;
            }
        }
    }

    #[inline]
    pub(in crate::locks) fn history(&self) -> Option<&History> {
        self.subscribers.history.as_deref()
    }

    /// Replaces the history by another one, or by none. Returns the former history.
    pub(in crate::locks) fn exchange_history(&mut self, other: Option<Box<History>>) -> Option<Box<History>> {
        std::mem::replace(&mut self.subscribers.history, other)
    }

    #[inline]
    pub(in crate::locks) fn history_mut(&mut self) -> Option<&mut History> {
        self.subscribers.history.as_deref_mut()
    }
}
