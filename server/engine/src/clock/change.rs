//! A change of the clock that does not lead through time: deadlines that it passes fire where it ends.

use lockwheel_store::time::{Clock, ClockError, ExpiryRule, Now};

/// A change of the clock.
#[derive(Clone, Debug)]
pub enum ClockChange {
    /// Both clocks stand still.
    Freeze,
    /// Both clocks run from where they stand.
    Resume,
    /// The wall clock is the system's again, and both clocks run.
    Reset,
    /// The wall clock moves by so many milliseconds, backward when negative.
    Step(i64),
    /// The wall clock moves to this instant, in milliseconds since the epoch.
    Set(i64),
    /// Both clocks show and do what these do.
    Follow(Clock),
}

impl ClockChange {
    /// Changes a clock, at this instant of the system's clocks.
    ///
    /// # Errors
    /// When the clock would leave its range; then it is as before.
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

    /// The rule by which deadlines expire where the change ends.
    pub(crate) fn rule(&self) -> ExpiryRule {
        match self {
            ClockChange::Freeze | ClockChange::Step(_) | ClockChange::Set(_) => ExpiryRule::Reached,
            ClockChange::Resume | ClockChange::Reset => ExpiryRule::Past,
            ClockChange::Follow(clock) => clock.expiry_rule(),
        }
    }
}
