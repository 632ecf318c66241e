//! The effects of changed faults, and the timers that they set.

use super::rule::RuleId;
use crate::clients::Slot;
use crate::clock::{MonotonicTimers, TimerKey, TimerKind};

/// An action of the engine that follows a change of faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FaultEffect {
    /// Each connection checks again what it may read and write.
    LookAnew,
    /// One connection checks again what it may read and write.
    Wake(Slot),
    /// A timer is due immediately, even if the clocks are frozen.
    FireAtOnce,
    /// Rules were added, were removed, or may no longer act.
    RulesChanged,
    /// A rule has acted.
    Hit {
        rule: RuleId,
        /// The total number of times that the rule has acted.
        hits: u64,
    },
    /// The held request or reply of a client is released.
    GoOn(u64),
    /// A client is disconnected.
    CutOff(Slot),
    /// The held request of a disconnected client is dropped.
    DropOrphan(Slot),
    /// Connections are accepted or refused.
    Doors {
        /// Whether connections are accepted.
        are_open: bool,
    },
}

/// A change of faults: the timers at the current time, and the effects so far, in order.
pub(crate) struct FaultStep<'e> {
    timers: MonotonicTimers<'e>,
    effects: Vec<FaultEffect>,
}

impl<'e> FaultStep<'e> {
    /// Begins a change that sets timers of the monotonic clock.
    pub(crate) fn new(timers: MonotonicTimers<'e>) -> Self {
        FaultStep { timers, effects: Vec::new() }
    }

    /// Ends the change; returns its effects in order.
    pub(crate) fn end(self) -> Vec<FaultEffect> {
        self.effects
    }

    pub(crate) fn add(&mut self, effect: FaultEffect) {
        self.effects.push(effect);
    }

    /// Returns the instant this number of milliseconds from now, on the monotonic clock.
    pub(super) fn instant_in(&self, ms: u64) -> i64 {
        self.timers.instant_in(ms)
    }

    /// Sets a timer of a client, or of the server (0), due in so many milliseconds of the monotonic clock.
    pub(crate) fn set_timer(&mut self, kind: TimerKind, client: u64, ms: u64) -> TimerKey {
        if ms == 0 {
            self.add(FaultEffect::FireAtOnce);
        }
        self.timers.set(kind, client, ms)
    }

    pub(super) fn cancel(&mut self, timer: Option<TimerKey>) {
        self.timers.cancel(timer);
    }
}
