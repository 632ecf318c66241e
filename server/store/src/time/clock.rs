//! A clock that tests can control: a wall clock and a monotonic one, based on the system's time.

use std::fmt;

use super::{Deadlines, ExpiryRule, Now, US_PER_MS};

/// The largest value that either clock can be set or advanced to, in µs: some 146,000 years. It is half of the type's
/// range, so that a clock that runs on from there has room.
const MAX_US: i64 = 1 << 62;

/// Whether the clocks run by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Both clocks run with the system's time.
    Real,
    /// Both clocks stand still until they are moved.
    Manual,
}

/// The error of a command that would move a clock before the Unix epoch or beyond some 146,000 years.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockError;

impl fmt::Display for ClockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("time is out of range")
    }
}

impl std::error::Error for ClockError {}

/// The state of a clock, for `CLOCK.INFO`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Info {
    /// Whether the clocks run.
    pub mode: Mode,
    /// The present instant of both clocks.
    pub now: Now,
    /// The wall clock minus the system's, in ms.
    pub offset_ms: i64,
}

/// The relation of both clocks to the system's time.
#[derive(Clone, Copy, Debug)]
enum State {
    /// Each clock is the system's clock plus an offset in µs.
    Running { wall_offset_us: i64, monotonic_offset_us: i64 },
    /// Both clocks stand at this instant, a whole ms each.
    Frozen(Now),
}

/// A wall clock and a monotonic clock for the engine, computed from the system's time that each call passes in.
///
/// - The wall clock follows the system's wall clock with an offset; it can be stepped, set and advanced.
/// - The monotonic clock starts at 0. It can only be advanced, and never goes back if the system's does not.
///
/// While frozen, both clocks stand at a whole ms, and no deadline expires by itself. Freezing rounds the wall clock
/// down, so that no key expires by it, and the monotonic clock up, so that it does not go back.
///
/// Every command takes the system's time of its call. A command that fails changes nothing. All are O(1).
#[derive(Clone, Debug)]
pub struct Clock {
    state: State,
}

impl Clock {
    /// The highest reading of the clocks, in ms.
    pub const MAX_MS: i64 = MAX_US / US_PER_MS;

    /// A clock that starts at the system's wall time, with its monotonic clock at 0 ms. In manual mode it is frozen
    /// there. While both clocks run, their milliseconds begin at the same instants. So a client that measures by the
    /// wall clock sees that a wait lasted longer than requested, as in Redis.
    pub fn new(mode: Mode, system: Now) -> Clock {
        let phase = if mode == Mode::Real { system.wall_us.rem_euclid(US_PER_MS) } else { 0 };
        let start = Now { wall_us: system.wall_us, monotonic_us: phase.unsigned_abs() };
        let mut clock = Clock { state: running(start, system) };
        if mode == Mode::Manual {
            clock.freeze(system);
        }
        clock
    }

    /// The instant of both clocks at the system's time `system`. The wall clock is never before the Unix epoch.
    pub fn read(&self, system: Now) -> Now {
        match self.state {
            State::Frozen(now) => now,
            State::Running { wall_offset_us, monotonic_offset_us } => Now {
                wall_us: system.wall_us.saturating_add(wall_offset_us).max(0),
                monotonic_us: system.monotonic_us.saturating_add_signed(monotonic_offset_us),
            },
        }
    }

    /// Whether the clocks run.
    pub fn mode(&self) -> Mode {
        match self.state {
            State::Running { .. } => Mode::Real,
            State::Frozen(_) => Mode::Manual,
        }
    }

    /// The rule by which deadlines expire, while the clocks are not moved.
    pub fn expiry_rule(&self) -> ExpiryRule {
        match self.mode() {
            Mode::Real => ExpiryRule::Past,
            Mode::Manual => ExpiryRule::Reached,
        }
    }

    /// Mode, instant and offset, for `CLOCK.INFO`.
    pub fn info(&self, system: Now) -> Info {
        let now = self.read(system);
        Info { mode: self.mode(), now, offset_ms: now.wall_ms().saturating_sub(system.wall_ms()) }
    }

    /// The time until the first of `deadlines` is over, in µs of the system's time; 0 if one is over. `None` if there
    /// are none or the clock is frozen, since only a command moves it then.
    pub fn until(&self, system: Now, deadlines: Deadlines) -> Option<u64> {
        match self.mode() {
            Mode::Manual => None,
            Mode::Real => self.read(system).us_until(deadlines, self.expiry_rule()),
        }
    }

    /// Freezes both clocks at this instant. Freezing a frozen clock does nothing.
    pub fn freeze(&mut self, system: Now) {
        if self.mode() == Mode::Real {
            let now = self.read(system);
            let whole = now.monotonic_us.checked_next_multiple_of(US_PER_MS as u64);
            self.state = State::Frozen(Now {
                wall_us: now.wall_us - now.wall_us.rem_euclid(US_PER_MS),
                monotonic_us: whole.unwrap_or(now.monotonic_us),
            });
        }
    }

    /// Lets both clocks run on from where they stand; an offset stays. Resuming a running clock does nothing.
    pub fn resume(&mut self, system: Now) {
        if let State::Frozen(now) = self.state {
            self.state = running(now, system);
        }
    }

    /// Sets the wall clock to the system's. The monotonic clock continues from where it is, and both run.
    pub fn reset(&mut self, system: Now) {
        let now = Now { wall_us: system.wall_us, ..self.read(system) };
        self.state = running(now, system);
    }

    /// Returns the wall clock to the offset and the mode of `at_start`. The monotonic clock goes on, or stands still.
    pub fn restart(&mut self, at_start: &Clock, system: Now) {
        let now = Now { wall_us: at_start.read(system).wall_us, ..self.read(system) };
        self.state = running(now, system);
        if at_start.mode() == Mode::Manual {
            self.freeze(system);
        }
    }

    /// Moves the wall clock alone by `ms`, back if negative: a jump of the clock.
    ///
    /// # Errors
    /// Returns [`ClockError`] if the clock would leave its range.
    pub fn step(&mut self, system: Now, ms: i64) -> Result<(), ClockError> {
        let now = self.read(system);
        let wall_us =
            ms.checked_mul(US_PER_MS).and_then(|us| now.wall_us.checked_add(us)).ok_or(ClockError)?;
        self.turn(system, Now { wall_us, ..now })
    }

    /// Sets the wall clock alone to `wall_ms`, in ms since the Unix epoch.
    ///
    /// # Errors
    /// Returns [`ClockError`] if that is out of range.
    pub fn set(&mut self, system: Now, wall_ms: i64) -> Result<(), ClockError> {
        let wall_us = wall_ms.checked_mul(US_PER_MS).ok_or(ClockError)?;
        let now = self.read(system);
        self.turn(system, Now { wall_us, ..now })
    }

    /// The instant to which [`advance_us`](Clock::advance_us) by `ms` ms would bring the clocks, without moving them.
    /// Callers check it before any deadline expires, so that an advance that is too far is refused as a whole.
    ///
    /// # Errors
    /// Returns [`ClockError`] if a clock would leave its range.
    pub fn after(&self, system: Now, ms: u64) -> Result<Now, ClockError> {
        let us = ms.checked_mul(US_PER_MS as u64).ok_or(ClockError)?;
        in_range(moved(self.read(system), us)?)
    }

    /// Moves both clocks by `us` µs, frozen or not. An advance by deadlines is a loop of these, with the same `system`
    /// throughout: by [`Now::us_until`] to each deadline within it, which then expires, and by the rest at the end.
    ///
    /// # Errors
    /// Returns [`ClockError`] if a clock would leave its range.
    pub fn advance_us(&mut self, system: Now, us: u64) -> Result<(), ClockError> {
        self.turn(system, moved(self.read(system), us)?)
    }

    /// The largest argument, in µs, of a valid [`advance_us`](Clock::advance_us). `None`: already out of range.
    pub fn room_us(&self, system: Now) -> Option<u64> {
        let Now { wall_us, monotonic_us } = in_range(self.read(system)).ok()?;
        Some((MAX_US - wall_us).unsigned_abs().min(MAX_US as u64 - monotonic_us))
    }

    /// Sets both clocks to `to`; they stay running or frozen.
    fn turn(&mut self, system: Now, to: Now) -> Result<(), ClockError> {
        let to = in_range(to)?;
        self.state = match self.state {
            State::Frozen(_) => State::Frozen(to),
            State::Running { .. } => running(to, system),
        };
        Ok(())
    }
}

/// Clocks that show `now` at `system` and run on from there.
fn running(now: Now, system: Now) -> State {
    let monotonic = i128::from(now.monotonic_us) - i128::from(system.monotonic_us);
    State::Running {
        wall_offset_us: now.wall_us.saturating_sub(system.wall_us),
        monotonic_offset_us: monotonic.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64,
    }
}

/// The instant `us` µs after `now`, on both clocks.
fn moved(now: Now, us: u64) -> Result<Now, ClockError> {
    Ok(Now {
        wall_us: now.wall_us.checked_add_unsigned(us).ok_or(ClockError)?,
        monotonic_us: now.monotonic_us.checked_add(us).ok_or(ClockError)?,
    })
}

fn in_range(now: Now) -> Result<Now, ClockError> {
    let fits = (0..=MAX_US).contains(&now.wall_us) && now.monotonic_us <= MAX_US as u64;
    fits.then_some(now).ok_or(ClockError)
}

#[cfg(test)]
mod tests;
