//! Turns of the clock that a script asks for: they happen when it has ended, and the transaction around it.

use super::clock_turn::RedissonWaiters;
use crate::spec::CommandError;
use crate::time::{Clock, ClockError, Now};

/// The most turns that one script or transaction plans, after what can be one is one.
const TURNS_MAX: usize = 1 << 16;

const TOO_MANY: CommandError = CommandError::text("ERR too many turns of the clock in one script");

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

impl PlannedTurn {
    /// Goes on with the next turn if both can be one: what is due on the way fires at its own instant, so that one
    /// advance does what two do. A step fires what it has passed where it ends.
    fn continues_with(&mut self, next: PlannedTurn) -> bool {
        match (self, next) {
            (
                PlannedTurn::Advance { ms, waiters },
                PlannedTurn::Advance { ms: more, waiters: next_waiters },
            ) if *waiters == next_waiters => {
                *ms += more;
                true
            }
            _ => false,
        }
    }
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
    /// When it would then leave its range, and when they are too many.
    pub(super) fn plan(&mut self, turn: PlannedTurn, clock: &Clock, system: Now) -> Result<(), CommandError> {
        let mut after = self.after.as_ref().unwrap_or(clock).clone();
        match turn {
            PlannedTurn::Advance { ms, .. } => {
                after.advance_us(system, ms.checked_mul(1000).ok_or(ClockError)?)?;
            }
            PlannedTurn::Step(ms) => after.step(system, ms)?,
        }
        if !self.turns.last_mut().is_some_and(|last| last.continues_with(turn)) {
            if self.turns.len() == TURNS_MAX {
                return Err(TOO_MANY);
            }
            self.turns.push(turn);
        }
        self.after = Some(after);
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
