//! Time, which always comes from outside: the instant ([`Now`]), the clock that tests can control ([`Clock`]) and the
//! timers ([`Wheel`]). No code here reads a clock of the operating system.

mod clock;
mod wheel;

pub use clock::{Clock, ClockError, Info, Mode};
pub use wheel::{Fired, IndexedWheel, TimerId, Wheel};

/// Microseconds in a millisecond.
const US_PER_MS: i64 = 1000;

/// One instant, on the wall clock and the monotonic clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Now {
    /// The wall clock, in µs since the Unix epoch, which may jump. It drives `TIME`, key expiry and stream ids.
    pub wall_us: i64,
    /// The monotonic clock, in µs since the start of the process or engine. It never goes back. It drives timeouts.
    pub monotonic_us: u64,
}

impl Now {
    /// The wall clock in whole ms since the Unix epoch, rounded down.
    pub fn wall_ms(self) -> i64 {
        self.wall_us.div_euclid(US_PER_MS)
    }

    /// The wall clock in whole seconds since the Unix epoch, rounded down.
    pub fn wall_second(self) -> i64 {
        self.wall_us.div_euclid(1000 * US_PER_MS)
    }

    /// The monotonic clock in whole ms since the start, rounded down. Signed, as a [`Wheel`] takes it; never negative.
    pub fn monotonic_ms(self) -> i64 {
        (self.monotonic_us / US_PER_MS as u64) as i64
    }

    /// The time until the first of `deadlines` is over, in µs; 0 if one is. `None` if there are none.
    pub fn us_until(self, deadlines: Deadlines, rule: ExpiryRule) -> Option<u64> {
        let wall = deadlines.wall_ms.map(|ms| us_between(i128::from(self.wall_us), rule.begins_ms(ms)));
        let monotonic = deadlines.monotonic_ms;
        let monotonic = monotonic.map(|ms| us_between(i128::from(self.monotonic_us), rule.begins_ms(ms)));
        wall.into_iter().chain(monotonic).min()
    }
}

/// The µs from an instant in µs to a deadline, any `i64` of ms; 0 if that is past.
fn us_between(from_us: i128, to_ms: i128) -> u64 {
    let us = to_ms * i128::from(US_PER_MS) - from_us;
    u64::try_from(us.max(0)).unwrap_or(u64::MAX)
}

/// The rule by which deadlines expire: whole milliseconds, counted from the whole millisecond in which they were set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpiryRule {
    /// Once its millisecond has passed, as in Redis: while time runs, no timeout is shorter than requested.
    Past,
    /// As soon as the clock reaches it: on clocks that are frozen or advanced.
    Reached,
}

impl ExpiryRule {
    /// The last deadline that is over when a clock shows `now_ms`.
    pub fn until_ms(self, now_ms: i64) -> i64 {
        match self {
            ExpiryRule::Past => now_ms.saturating_sub(1),
            ExpiryRule::Reached => now_ms,
        }
    }

    /// The instant from which on a deadline is over, in ms.
    fn begins_ms(self, deadline_ms: i64) -> i128 {
        match self {
            ExpiryRule::Past => i128::from(deadline_ms) + 1,
            ExpiryRule::Reached => i128::from(deadline_ms),
        }
    }
}

/// The earliest deadline on either clock, in ms. `None` if that clock has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Deadlines {
    /// Earliest deadline on the wall clock, in ms since the Unix epoch.
    pub wall_ms: Option<i64>,
    /// Earliest deadline on the monotonic clock, in ms since the start.
    pub monotonic_ms: Option<i64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn milliseconds_round_down_before_the_epoch_too() {
        assert_eq!(Now { wall_us: 1999, monotonic_us: 1999 }.wall_ms(), 1);
        assert_eq!(Now { wall_us: 1999, monotonic_us: 1999 }.monotonic_ms(), 1);
        assert_eq!(Now { wall_us: -1, monotonic_us: 0 }.wall_ms(), -1);
        assert_eq!([1_999_999, -1].map(|wall_us| Now { wall_us, monotonic_us: 0 }.wall_second()), [1, -1]);
        assert_eq!(Now { wall_us: 0, monotonic_us: u64::MAX }.monotonic_ms(), (u64::MAX / 1000) as i64);
    }

    #[test]
    fn distance_is_to_the_earlier_of_the_two_clocks() {
        let now = Now { wall_us: 10_500, monotonic_us: 2_999 };
        let until =
            |wall_ms, monotonic_ms| now.us_until(Deadlines { wall_ms, monotonic_ms }, ExpiryRule::Reached);
        assert_eq!(until(None, None), None);
        assert_eq!(until(Some(11), None), Some(500));
        assert_eq!(until(Some(11), Some(3)), Some(1));
        assert_eq!(until(Some(11), Some(9)), Some(500));
        assert_eq!(until(Some(10), None), Some(0));
        assert_eq!(until(Some(i64::MIN), None), Some(0));
        assert_eq!(until(Some(i64::MAX), Some(i64::MAX)), Some(u64::MAX));
    }

    #[test]
    fn on_a_running_clock_a_deadline_is_over_after_its_millisecond() {
        let now = Now { wall_us: 10_500, monotonic_us: 2_999 };
        let until =
            |wall_ms, monotonic_ms| now.us_until(Deadlines { wall_ms, monotonic_ms }, ExpiryRule::Past);
        assert_eq!(until(Some(11), None), Some(1_500));
        assert_eq!(until(Some(10), Some(3)), Some(500));
        assert_eq!(until(Some(9), None), Some(0));
        assert_eq!(until(Some(i64::MAX), Some(i64::MAX)), Some(u64::MAX));
        assert_eq!((ExpiryRule::Past.until_ms(10), ExpiryRule::Reached.until_ms(10)), (9, 10));
        assert_eq!(ExpiryRule::Past.until_ms(i64::MIN), i64::MIN);
    }
}
