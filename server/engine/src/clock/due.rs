//! The first deadline on either clock.

use lockwheel_store::keyspace::Order;
use lockwheel_store::time::{Deadlines, Now};

/// The kind of a deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// A key expires.
    Key,
    /// Fields of a hash expire.
    Fields,
    KeyTimer,
    /// A timer on the monotonic clock.
    Timer,
}

/// The first deadline of each kind: milliseconds on its clock, and its order among the deadlines.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Agenda {
    /// A key expires, on the wall clock.
    pub(crate) key: Option<(i64, Order)>,
    /// Fields of a hash expire, on the wall clock.
    pub(crate) fields: Option<(i64, Order)>,
    /// The first other timer of a key, on the wall clock. A request may have set it for the present instant.
    pub(crate) key_timer: Option<(i64, Option<Order>)>,
    /// A timer on the monotonic clock.
    pub(crate) timer: Option<(i64, Order)>,
}

/// The first deadline of all kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FirstDue {
    pub(crate) due: Due,
    /// The milliseconds until the deadline; negative if it is overdue.
    pub(crate) in_ms: i64,
    pub(crate) deadlines: Deadlines,
}

impl Agenda {
    /// Returns the first deadline of all kinds. Of two at one instant, it is the one that was set first.
    pub(crate) fn first(&self, now: Now) -> Option<FirstDue> {
        let wall = |due, at_ms: i64| {
            let deadlines = Deadlines { wall_ms: Some(at_ms), monotonic_ms: None };
            FirstDue { due, in_ms: at_ms.saturating_sub(now.wall_ms()), deadlines }
        };
        let monotonic = |due, at_ms: i64| {
            let deadlines = Deadlines { wall_ms: None, monotonic_ms: Some(at_ms) };
            FirstDue { due, in_ms: at_ms.saturating_sub(now.monotonic_ms()), deadlines }
        };
        let of_kinds = [
            self.key.map(|(at_ms, made)| (wall(Due::Key, at_ms), Some(made))),
            self.fields.map(|(at_ms, made)| (wall(Due::Fields, at_ms), Some(made))),
            self.key_timer.map(|(at_ms, made)| (wall(Due::KeyTimer, at_ms), made)),
            self.timer.map(|(at_ms, made)| (monotonic(Due::Timer, at_ms), Some(made))),
        ];
        let first = of_kinds.into_iter().flatten().reduce(|one, other| {
            let is_made_first = match (one.1, other.1) {
                (Some(made), Some(later)) => made.is_before(later),
                (made, _) => made.is_none(),
            };
            let is_first = one.0.in_ms < other.0.in_ms || (one.0.in_ms == other.0.in_ms && is_made_first);
            if is_first { one } else { other }
        });
        first.map(|(first, _)| first)
    }
}
