//! Turns of the clock that a script asks for: they happen when it has ended, and the transaction around it.

use super::clock_turn::RedissonWaiters;
use crate::time::{Clock, ClockError, Now};

/// A turn of the clock that a running script has asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PlannedTurn {
    /// CLOCK.ADVANCE.
    Advance {
        /// Milliseconds.
        ms: u64,
        /// Whether Redisson's waiters are woken.
        waiters: RedissonWaiters,
    },
    /// CLOCK.STEP, by so many milliseconds.
    Step(i64),
}

/// Those of the running script or transaction, in order.
#[derive(Debug, Default)]
pub(crate) struct PlannedTurns {
    turns: Vec<PlannedTurn>,
    /// Where the clocks will then stand.
    after: Option<Clock>,
}

impl PlannedTurns {
    /// Plans a turn of this clock, after those that are planned already.
    ///
    /// # Errors
    /// When it would then leave its range.
    pub(super) fn plan(&mut self, turn: PlannedTurn, clock: &Clock, system: Now) -> Result<(), ClockError> {
        let mut after = self.after.as_ref().unwrap_or(clock).clone();
        match turn {
            PlannedTurn::Advance { ms, .. } => {
                after.advance_us(system, ms.checked_mul(1000).ok_or(ClockError)?)?;
            }
            PlannedTurn::Step(ms) => after.step(system, ms)?,
        }
        self.after = Some(after);
        self.turns.push(turn);
        Ok(())
    }

    /// Whether none is planned.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.turns.is_empty()
    }

    /// Takes all of them.
    pub(super) fn take(&mut self) -> Vec<PlannedTurn> {
        std::mem::take(self).turns
    }
}
