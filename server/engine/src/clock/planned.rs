//! Advances of the clock that a script asks for. They run after the script and its transaction have ended.

use super::advance::RedissonWaiters;
use crate::spec::CommandError;
use lockwheel_store::time::{Clock, ClockError, Now};

/// The maximum number of advances that one script or transaction plans, after mergeable ones have been merged.
const MAX_PLANNED: usize = 1 << 16;

const TOO_MANY: CommandError = CommandError::text("ERR too many advances of the clock in one script");

#[derive(Clone, Copy, Debug)]
pub(crate) enum PlannedAdvance {
    /// CLOCK.ADVANCE.
    Advance {
        /// The length, in milliseconds.
        ms: u64,
        /// Whether Redisson's waiters are woken.
        waiters: RedissonWaiters,
    },
    /// CLOCK.STEP, in milliseconds.
    Step(i64),
}

impl PlannedAdvance {
    /// Merges the next advance into this one, if possible. Deadlines on the way fire at their own instants, so one
    /// longer advance is equivalent to two. A step cannot be merged, because it fires the passed deadlines at its end.
    fn continues_with(&mut self, next: PlannedAdvance) -> bool {
        match (self, next) {
            (
                PlannedAdvance::Advance { ms, waiters },
                PlannedAdvance::Advance { ms: more, waiters: next_waiters },
            ) if *waiters == next_waiters => {
                *ms += more;
                true
            }
            _ => false,
        }
    }
}

/// The planned advances of the running script or transaction, in order.
#[derive(Debug, Default)]
pub(crate) struct PlannedAdvances {
    advances: Vec<PlannedAdvance>,
    after: Option<Clock>,
}

impl PlannedAdvances {
    /// Plans an advance of this clock after the planned ones. Fails for too many, or out of the clock's range.
    pub(super) fn plan(
        &mut self,
        planned: PlannedAdvance,
        clock: &Clock,
        system: Now,
    ) -> Result<(), CommandError> {
        let mut after = self.after.as_ref().unwrap_or(clock).clone();
        match planned {
            PlannedAdvance::Advance { ms, .. } => {
                after.advance_us(system, ms.checked_mul(1000).ok_or(ClockError)?)?;
            }
            PlannedAdvance::Step(ms) => after.step(system, ms)?,
        }
        if !self.advances.last_mut().is_some_and(|last| last.continues_with(planned)) {
            if self.advances.len() == MAX_PLANNED {
                return Err(TOO_MANY);
            }
            self.advances.push(planned);
        }
        self.after = Some(after);
        Ok(())
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.advances.is_empty()
    }

    pub(super) fn take(&mut self) -> Vec<PlannedAdvance> {
        std::mem::take(self).advances
    }
}
