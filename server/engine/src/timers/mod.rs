//! The engine's own timers: when blocked clients have waited long enough.

use crate::keyspace::Order;
use crate::time::{TimerId, Wheel};

/// All timers of an engine.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    /// On the monotonic hand.
    pub(crate) monotonic: Wheel<Waiting>,
    /// In real time, whatever the clock that a test turns shows.
    pub(crate) real: Wheel<Waiting>,
}

/// What a timer of a blocked client stands for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Waiting {
    /// The client.
    pub(crate) id: u64,
    /// When it began to wait, among all deadlines.
    pub(crate) order: Order,
}

/// The timer of a blocked client.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Timeout {
    /// On the monotonic hand.
    Monotonic(TimerId),
    /// In real time.
    Real(TimerId),
}
