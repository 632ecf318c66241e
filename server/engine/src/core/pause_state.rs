//! The pause of CLIENT PAUSE, and whom it holds.

use super::shutdown_state::ShuttingDown;
use crate::clock::TimerKey;
use std::collections::BTreeMap;

/// Which requests are paused; the later is the stricter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PauseKind {
    /// Those that may write, or send something that replicas are told.
    Write,
    /// All.
    All,
}

/// The pause, and whom it holds.
#[derive(Debug, Default)]
pub(crate) struct Pausing {
    /// Its kind, and the timer that ends it with when that is due, on the monotonic clock in milliseconds.
    pub(super) pause: Option<(PauseKind, TimerKey, i64)>,
    /// Who would write is paused until the master's part is handed over, or is not.
    pub(super) fails_over: bool,
    /// The timer that ends the time which that has, if it has not as long as it needs.
    pub(super) failover_timeout: Option<TimerKey>,
    /// Who would write is paused until replicas have everything, or are waited for no longer, and then for good.
    pub(super) shutting_down: Option<ShuttingDown>,
    /// The clients whose requests are parked, by arrival.
    pub(super) parked: BTreeMap<u64, u64>,
    /// The pause is over: they go on when the next batch begins.
    pub(super) is_over: bool,
}

impl Pausing {
    /// Which requests are paused, if any are.
    pub(super) fn kind(&self) -> Option<PauseKind> {
        let pauses_writes = self.fails_over || self.shutting_down.is_some();
        self.pause.map(|(kind, ..)| kind).max(pauses_writes.then_some(PauseKind::Write))
    }
}
