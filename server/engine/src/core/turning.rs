//! The clock that a test turns: what is due on the way fires at its own instant.

use super::deadlines::Due;
use super::engine::Engine;
use crate::time::{Clock, ClockError, Deadlines, Now, Over};

/// Whether Redisson waiters get an unlock message when turning the clock ends the lease they wait for: they
/// count its time on their own machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedissonWaiters {
    /// They get the message of an unlock.
    Woken,
    /// They get none.
    LeftAsleep,
}

impl Engine {
    /// Moves both clocks by `ms`, stopping at each deadline on the way, so that each fires at its own instant.
    /// How many deadlines fired.
    ///
    /// # Errors
    /// When a clock would leave its range; then nothing has moved.
    pub fn advance(&mut self, ms: u64, waiters: RedissonWaiters) -> Result<u64, ClockError> {
        let target = self.time.clock.after(self.time.system, ms)?;
        self.keyspace.turn_quietly(waiters == RedissonWaiters::LeftAsleep);
        let mut fired = 0;
        while let Some(due) = self.earliest_until(target) {
            fired += self.go_to_and_fire(due);
        }
        self.turn(target.monotonic_us - self.time.now.monotonic_us);
        self.keyspace.set_expiry_backlog(None);
        self.keyspace.turn_quietly(false);
        Ok(fired)
    }

    /// Moves both clocks to the next deadline and fires all that is due there. How many fired; `None` when none is
    /// pending within the reach of both clocks.
    pub fn advance_to_next(&mut self, waiters: RedissonWaiters) -> Option<u64> {
        let (first, in_us) = self.earliest_in_us()?;
        self.keyspace.turn_quietly(waiters == RedissonWaiters::LeftAsleep);
        let mut fired = self.go_to_and_fire((first, in_us));
        while let Some((due, 0)) = self.earliest_in_us() {
            fired += self.go_to_and_fire((due, 0));
        }
        self.keyspace.set_expiry_backlog(None);
        self.keyspace.turn_quietly(false);
        Some(fired)
    }

    fn go_to_and_fire(&mut self, (due, in_us): (Due, u64)) -> u64 {
        self.turn(in_us);
        self.fire(due, Over::Reached);
        1
    }

    /// What is due first, and how far it is from now in microseconds; `None` when a clock cannot be turned so far.
    fn earliest_in_us(&mut self) -> Option<(Due, u64)> {
        let (due, _) = self.earliest(i64::MAX)?;
        let deadlines = match due {
            Due::Key => Deadlines { wall_ms: self.keyspace.next_deadline(), monotonic_ms: None },
            Due::Timer => Deadlines { wall_ms: None, monotonic_ms: self.time.timers.next_deadline(false) },
        };
        let in_us = self.time.now.us_until(deadlines, Over::Reached)?;
        self.time.clock.reaches_us(self.time.system, in_us).then_some((due, in_us))
    }

    fn earliest_until(&mut self, target: Now) -> Option<(Due, u64)> {
        let left = target.monotonic_us - self.time.now.monotonic_us;
        self.earliest_in_us().filter(|&(_, in_us)| in_us <= left)
    }

    fn turn(&mut self, us: u64) {
        // The target was within the range, and so is everything on the way to it.
        if us > 0 && self.time.clock.advance_us(self.time.system, us).is_ok() {
            self.time.now = self.time.clock.read(self.time.system);
            self.keyspace.note_turn();
        }
    }

    /// Changes the clock, then fires what is due by the new time.
    pub(crate) fn turn_clock<T>(&mut self, over: Over, verb: impl FnOnce(&mut Clock, Now) -> T) -> T {
        let before = self.time.now;
        let result = verb(&mut self.time.clock, self.time.system);
        self.time.now = self.time.clock.read(self.time.system);
        if self.time.now.wall_us > before.wall_us {
            self.keyspace.note_turn();
        }
        self.fire_due(usize::MAX, over);
        result
    }

    /// The present instant, as the clocks show it.
    pub fn now(&self) -> Now {
        self.time.now
    }

    /// Stops both clocks. The wall clock.
    pub fn freeze(&mut self) -> i64 {
        self.turn_clock(Over::Reached, Clock::freeze);
        self.time.now.wall_ms()
    }

    /// Lets both clocks run from where they stand. The wall clock.
    pub fn resume(&mut self) -> i64 {
        self.turn_clock(Over::Past, Clock::resume);
        self.time.now.wall_ms()
    }

    /// Moves the wall clock alone; keys now past their deadline expire at once, and none comes back. The wall clock.
    ///
    /// # Errors
    /// When the clock would leave its range.
    pub fn step_wall(&mut self, ms: i64) -> Result<i64, ClockError> {
        self.turn_clock(Over::Reached, |clock, system| clock.step(system, ms))?;
        Ok(self.time.now.wall_ms())
    }

    /// In how many milliseconds the next deadline on either clock is, if the clocks can be turned so far.
    pub(crate) fn next_in_ms(&mut self) -> Option<i64> {
        self.earliest_in_us()?;
        self.earliest(i64::MAX).map(|(_, in_ms)| in_ms.max(0))
    }

    /// How many deadlines are pending on either clock.
    pub(crate) fn pending_timers(&self) -> usize {
        self.keyspace.timers() + self.time.timers.on_monotonic()
    }
}
