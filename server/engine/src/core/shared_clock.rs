//! A clock that several engines of one process share: what each asks of it.

use super::planned_turns::PlannedTurn;
use crate::timers::TimerKey;
use std::collections::VecDeque;

/// What an engine asks of the clock that it shares.
#[derive(Debug)]
pub(crate) enum ClockRequest {
    /// It has changed it: the others follow.
    Changed,
    /// Something arrives from another engine.
    Arrival,
    /// This client of it waits for a turn.
    Turn(u64),
    /// A script or a transaction of it has asked for a turn.
    Planned(PlannedTurn),
}

/// Whether an engine shares its clock, and what it has asked for, in order.
#[derive(Debug, Default)]
pub(crate) struct SharedClock {
    pub(super) is_shared: bool,
    pub(super) requests: VecDeque<ClockRequest>,
    /// When something arrives from another engine, and its timer.
    pub(super) arrival: Option<(i64, TimerKey)>,
}
