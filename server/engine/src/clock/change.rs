//! Changes of the clock that skip the time in between. Deadlines that a change passes fire at its end.

use lockwheel_store::time::{Clock, ClockError, ExpiryRule, Now};

/// A change of the clock.
#[derive(Clone, Debug)]
pub enum ClockChange {
    /// Both clocks stop.
    Freeze,
    /// Both clocks run from their present instants.
    Resume,
    /// The wall clock shows the system's time again, and both clocks run.
    Reset,
    /// The wall clock moves by this many milliseconds; backward if the number is negative.
    Step(i64),
    /// The wall clock moves to this instant, in milliseconds since the epoch.
    Set(i64),
    /// Both clocks take over the state of these.
    Follow(Clock),
}

impl ClockChange {
    /// Changes a clock at this instant of the system's clocks. Fails, without a change, if it would leave its range.
    pub(super) fn apply(&self, clock: &mut Clock, system: Now) -> Result<(), ClockError> {
        match self {
            ClockChange::Freeze => clock.freeze(system),
            ClockChange::Resume => clock.resume(system),
            ClockChange::Reset => clock.reset(system),
            ClockChange::Step(ms) => clock.step(system, *ms)?,
            ClockChange::Set(wall_ms) => clock.set(system, *wall_ms)?,
            ClockChange::Follow(other) => *clock = other.clone(),
        }
        Ok(())
    }

    pub(crate) fn rule(&self) -> ExpiryRule {
        match self {
            ClockChange::Freeze | ClockChange::Step(_) | ClockChange::Set(_) => ExpiryRule::Reached,
            ClockChange::Resume | ClockChange::Reset => ExpiryRule::Past,
            ClockChange::Follow(clock) => clock.expiry_rule(),
        }
    }
}
