//! The engine's clock: the instant, the two clocks that a test moves, the engine's own timers, and how both clocks
//! advance from deadline to deadline.
//!
//! [`EngineClock`] owns the state. A handler of `CLOCK.*` sees only the clock and answers with a `ClockOrder`, which
//! [`core`](crate::core) carries out. A [`ClockAdvance`] is a state machine: it answers each event with the next step:
//!
//! 1. `resume`: it waits for silence, has the present instant finished, changes the clock, or goes on its way;
//! 2. `next`, again and again: find the first deadline, move there, fire, let servers exchange, look for more;
//! 3. `stopped`: its piece ends, amid an instant or between two.

mod advance;
mod change;
mod due;
mod engine_clock;
mod fired;
mod monotonic_timers;
mod order;
mod piece;
mod planned;
mod recurrences;
mod settle;
mod stopwatch;
mod timers;
mod waiting;

pub(crate) use advance::{AdvanceEvent, AdvanceStep, Opening, Situation};
pub use advance::{AdvanceProgress, ClockAdvance, RedissonWaiters};
pub use change::ClockChange;
pub(crate) use due::{Agenda, Due, FirstDue};
pub use engine_clock::EngineClock;
pub(crate) use fired::Fired;
pub(crate) use monotonic_timers::MonotonicTimers;
pub(crate) use order::{ClockHandler, ClockOrder, OUT_OF_RANGE, write_info};
pub(crate) use planned::PlannedAdvance;
pub use settle::Settle;
pub(crate) use timers::{Timer, TimerKey, TimerKind, Timers};
pub(crate) use waiting::AdvanceOwner;
