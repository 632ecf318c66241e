//! Time in the engine: what has become due fires, on either hand, in the order of the deadlines.

use super::Engine;
use crate::time::{Clock, ClockError, Deadlines, Now};

/// What is due first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Due {
    Key,
    Wait,
}

impl Engine {
    /// The system's monotonic instant, in microseconds, at which [`Engine::begin`] must be called at the latest;
    /// `None` while nothing is pending, or what is pending stands on a frozen clock. O(1) amortised.
    pub fn next_deadline(&mut self) -> Option<u64> {
        let deadlines =
            Deadlines { wall_ms: self.keyspace.next_deadline(), monotonic_ms: self.timeouts.next_deadline() };
        let virtual_us = self.clock.until(self.system, deadlines);
        let real = Deadlines { wall_ms: None, monotonic_ms: self.real_timeouts.next_deadline() };
        let first = virtual_us.into_iter().chain(self.system.us_until(real)).min()?;
        Some(self.system.monotonic_us.saturating_add(first))
    }

    /// Fires everything due at the current instant. How many deadlines there were.
    pub(super) fn fire_due(&mut self) -> u64 {
        let mut fired = 0;
        while let Some((due, _)) = self.earliest().filter(|&(_, in_ms)| in_ms <= 0) {
            self.fire(due);
            fired += 1;
        }
        while let Some(timeout) = self.real_timeouts.pop_due(self.system.monotonic_ms()) {
            self.time_out(timeout.payload.id);
            fired += 1;
        }
        fired
    }

    fn fire(&mut self, due: Due) {
        match due {
            Due::Key => drop(self.keyspace.expire_next(self.now)),
            Due::Wait => {
                if let Some(timeout) = self.timeouts.pop_due(self.now.monotonic_ms()) {
                    self.time_out(timeout.payload.id);
                }
            }
        }
        self.commit();
    }

    /// What is due first on either hand, and in how many milliseconds from now (negative: overdue). Of two at one
    /// instant, the one that was made first.
    fn earliest(&mut self) -> Option<(Due, i64)> {
        let (wall_ms, monotonic_ms) = (self.now.wall_ms(), self.now.monotonic_ms());
        let key = self.keyspace.next_expiry().map(|(at, order)| (at.saturating_sub(wall_ms), order));
        let wait = self.timeouts.peek().map(|(at, waiting)| (at.saturating_sub(monotonic_ms), waiting.order));
        match (key, wait) {
            (Some((key, _)), None) => Some((Due::Key, key)),
            (None, Some((wait, _))) => Some((Due::Wait, wait)),
            (Some((key, made)), Some((wait, begun))) => {
                let key_first = key < wait || (key == wait && made.is_before(begun));
                Some(if key_first { (Due::Key, key) } else { (Due::Wait, wait) })
            }
            (None, None) => None,
        }
    }

    /// Moves both hands by `ms`, stopping at each deadline on the way: what fires, fires at its own instant.
    /// How many deadlines fired.
    ///
    /// # Errors
    /// When a hand would leave its range; then nothing has moved.
    pub fn advance(&mut self, ms: u64) -> Result<u64, ClockError> {
        let target = self.clock.after(self.system, ms)?;
        let mut fired = 0;
        while let Some(due) = self.earliest_until(target) {
            fired += self.go_to_and_fire(due);
        }
        self.turn(target.monotonic_us - self.now.monotonic_us);
        Ok(fired)
    }

    /// Moves both hands to the next deadline and fires all that is due there. How many fired; `None` when none is
    /// pending.
    pub fn advance_to_next(&mut self) -> Option<u64> {
        let (first, in_us) = self.earliest_in_us()?;
        let mut fired = self.go_to_and_fire((first, in_us));
        while let Some((due, 0)) = self.earliest_in_us() {
            fired += self.go_to_and_fire((due, 0));
        }
        Some(fired)
    }

    fn go_to_and_fire(&mut self, (due, in_us): (Due, u64)) -> u64 {
        self.turn(in_us);
        self.fire(due);
        1
    }

    /// What is due first, and how far it is from now in microseconds.
    fn earliest_in_us(&mut self) -> Option<(Due, u64)> {
        let (due, _) = self.earliest()?;
        let deadlines = match due {
            Due::Key => Deadlines { wall_ms: self.keyspace.next_deadline(), monotonic_ms: None },
            Due::Wait => Deadlines { wall_ms: None, monotonic_ms: self.timeouts.next_deadline() },
        };
        Some((due, self.now.us_until(deadlines)?))
    }

    fn earliest_until(&mut self, target: Now) -> Option<(Due, u64)> {
        let left = target.monotonic_us - self.now.monotonic_us;
        self.earliest_in_us().filter(|&(_, in_us)| in_us <= left)
    }

    fn turn(&mut self, us: u64) {
        // The target was within the range, and so is all on the way to it; a deadline beyond the range is never due.
        if self.clock.advance_us(self.system, us).is_ok() {
            self.now = self.clock.read(self.system);
        }
    }

    /// Does something to the clock, then fires what is due by the new time.
    pub(crate) fn turn_clock<T>(&mut self, verb: impl FnOnce(&mut Clock, Now) -> T) -> T {
        let result = verb(&mut self.clock, self.system);
        self.now = self.clock.read(self.system);
        self.fire_due();
        result
    }

    /// The present instant, as the hands show it.
    pub fn now(&self) -> Now {
        self.now
    }

    /// Stops both hands. The wall hand.
    pub fn freeze(&mut self) -> i64 {
        self.turn_clock(Clock::freeze);
        self.now.wall_ms()
    }

    /// Lets both hands run from where they stand. The wall hand.
    pub fn resume(&mut self) -> i64 {
        self.turn_clock(Clock::resume);
        self.now.wall_ms()
    }

    /// Moves the wall hand alone; keys now past their deadline go at once, and none comes back. The wall hand.
    ///
    /// # Errors
    /// When the hand would leave its range.
    pub fn step_wall(&mut self, ms: i64) -> Result<i64, ClockError> {
        self.turn_clock(|clock, system| clock.step(system, ms))?;
        Ok(self.now.wall_ms())
    }

    /// In how many milliseconds the next deadline on either hand is.
    pub(crate) fn next_in_ms(&mut self) -> Option<i64> {
        self.earliest().map(|(_, in_ms)| in_ms.max(0))
    }

    /// How many deadlines are pending on either hand.
    pub(crate) fn pending_timers(&self) -> usize {
        self.keyspace.timers() + self.timeouts.len()
    }
}
