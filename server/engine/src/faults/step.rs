//! Effects of faults, and the timers that they set.

use super::rule::RuleId;
use crate::clients::Slot;
use crate::clock::{MonotonicTimers, TimerKey, TimerKind};

/// Something that the engine does since faults have changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FaultEffect {
    /// Each connection looks anew at what it may read and write.
    LookAnew,
    /// One connection looks anew at what it may read and write.
    Wake(Slot),
    /// A timer is due at once, on frozen clocks too.
    FireAtOnce,
    /// Rules have come, gone, or may act no longer.
    RulesChanged,
    /// A rule has acted.
    Hit {
        /// The rule.
        rule: RuleId,
        /// The number of times that it has acted now.
        hits: u64,
    },
    /// A request or reply that a rule holds of a client goes on.
    GoOn(u64),
    /// A client is disconnected.
    CutOff(Slot),
    /// The last request of a client that has gone does not arrive.
    DropOrphan(Slot),
    /// Clients are let in, or are refused by the system.
    Doors {
        /// Whether clients are let in.
        are_open: bool,
    },
}

/// One change of faults: the timers at the present instant, and the effects so far, in order.
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

    /// Adds an effect.
    pub(crate) fn add(&mut self, effect: FaultEffect) {
        self.effects.push(effect);
    }

    /// Returns the instant so many milliseconds from now, on the monotonic clock.
    pub(super) fn instant_in(&self, ms: u64) -> i64 {
        self.timers.instant_in(ms)
    }

    /// Sets a timer of a client, or of the server (0), that is due in so many milliseconds of the monotonic clock.
    pub(crate) fn set_timer(&mut self, kind: TimerKind, client: u64, ms: u64) -> TimerKey {
        if ms == 0 {
            self.add(FaultEffect::FireAtOnce);
        }
        self.timers.set(kind, client, ms)
    }

    /// Cancels a timer, if there is one.
    pub(super) fn cancel(&mut self, timer: Option<TimerKey>) {
        self.timers.cancel(timer);
    }
}
