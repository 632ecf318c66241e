//! Accesses of keys: the effect of an access on the key's clock, by the measure in use and the accessing client.

use super::access_clock::AccessClock;
use super::rng::Rng;
use crate::time::Now;
use std::cell::Cell;

/// The quantity that the clocks of keys measure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Measure {
    /// The time since a key was last accessed.
    #[default]
    IdleTime,
    /// The frequency of a key's accesses.
    Frequency,
}

/// The settings that decide how accesses are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessRules {
    /// The quantity that is measured.
    pub measure: Measure,
    /// The degree to which each counted access makes the next one rarer: one in `n * log_factor + 1` is counted, n the
    /// count above that of a new key. 0: every access counts.
    pub log_factor: u32,
    /// The minutes without an access after which a count goes down by one. 0: counts do not decay.
    pub decay_minutes: u32,
}

impl Default for AccessRules {
    /// The defaults of Redis' parameters.
    fn default() -> Self {
        AccessRules { measure: Measure::IdleTime, log_factor: 10, decay_minutes: 1 }
    }
}

/// The effect of accesses at the present instant.
#[derive(Debug)]
pub struct Accesses {
    /// Whether accesses leave the clocks of existing keys alone, as the client has asked (CLIENT NO-TOUCH).
    ignored: bool,
    /// Whether accesses may add to a count. Otherwise an access sets the clock to that of a new key.
    counts: bool,
    /// The clock of a key that is made now.
    fresh: AccessClock,
    /// The wall clock, in whole seconds.
    second: i64,
    rules: AccessRules,
    rng: Rng,
}

impl Accesses {
    pub(super) fn new(seed: u64) -> Self {
        let fresh = AccessClock::default();
        let rules = AccessRules::default();
        Accesses { ignored: false, counts: false, fresh, second: 0, rules, rng: Rng::new(seed) }
    }

    /// Sets how accesses are measured from now on. The clocks of keys keep their values, as in Redis.
    pub(super) fn set_rules(&mut self, rules: AccessRules) {
        self.rules = rules;
        self.counts = rules.measure == Measure::Frequency;
        self.refresh();
    }

    /// Moves to an instant.
    #[inline]
    pub(super) fn go_on_at(&mut self, now: Now) {
        let second = now.wall_second();
        if second != self.second {
            self.second = second;
            self.refresh();
        }
    }

    #[inline(never)]
    fn refresh(&mut self) {
        self.fresh = match self.rules.measure {
            Measure::IdleTime => AccessClock::in_second(self.second),
            Measure::Frequency => AccessClock::new_in_minute(self.minute()),
        };
    }

    fn minute(&self) -> i64 {
        self.second.div_euclid(60)
    }

    /// Sets whether accesses leave the clocks of existing keys alone from now on; returns the setting before.
    #[inline]
    pub(super) fn ignore(&mut self, ignored: bool) -> bool {
        std::mem::replace(&mut self.ignored, ignored)
    }

    #[inline]
    pub(super) fn fresh(&self) -> AccessClock {
        self.fresh
    }

    #[inline(always)]
    pub(super) fn note(&mut self, clock: &Cell<AccessClock>) {
        if self.ignored | self.counts {
            self.count(clock);
        } else {
            clock.set(self.fresh);
        }
    }

    #[inline(never)]
    fn count(&mut self, clock: &Cell<AccessClock>) {
        if !self.ignored {
            let count = self.frequency(clock.get());
            let counts = self.rng.below(AccessClock::one_in(count, self.rules.log_factor)) == 0;
            let count = count.saturating_add(u8::from(counts));
            clock.set(AccessClock::counted(count, self.minute()));
        }
    }

    /// The quantity that the clocks of keys measure.
    pub fn measure(&self) -> Measure {
        self.rules.measure
    }

    /// The time since a key with this clock was last accessed, in seconds.
    pub fn idle_seconds(&self, clock: AccessClock) -> i64 {
        clock.idle_seconds(self.second)
    }

    /// The access frequency of a key with this clock: about the logarithm of its number of accesses.
    pub fn frequency(&self, clock: AccessClock) -> u8 {
        clock.count(self.minute(), self.rules.decay_minutes)
    }

    /// The clock of a key that has not been accessed for `seconds`.
    pub fn clock_of_idle(&self, seconds: i64) -> AccessClock {
        AccessClock::idle_for(seconds, self.second)
    }

    /// The clock of a key of this frequency.
    pub fn clock_of_frequency(&self, frequency: u8) -> AccessClock {
        AccessClock::counted(frequency, self.minute())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Now {
        Now { wall_us: second * 1_000_000 + 999_999, monotonic_us: 0 }
    }

    fn counting(log_factor: u32) -> Accesses {
        let mut accesses = Accesses::new(7);
        accesses.set_rules(AccessRules { measure: Measure::Frequency, log_factor, decay_minutes: 1 });
        accesses
    }

    #[test]
    fn an_access_restarts_the_idle_time() {
        let mut accesses = Accesses::new(7);
        accesses.go_on_at(at(100));
        let clock = Cell::new(accesses.fresh());
        accesses.go_on_at(at(160));
        assert_eq!(accesses.idle_seconds(clock.get()), 60);
        assert!(!accesses.ignore(true));
        accesses.note(&clock);
        assert_eq!(accesses.idle_seconds(clock.get()), 60);
        assert!(accesses.ignore(false));
        accesses.note(&clock);
        assert_eq!(accesses.idle_seconds(clock.get()), 0);
    }

    #[test]
    fn counts_grow_with_the_logarithm_of_accesses() {
        let mut accesses = counting(10);
        let clock = Cell::new(accesses.fresh());
        let after = |accesses: &mut Accesses, count: usize| {
            (0..count).for_each(|_| accesses.note(&clock));
            accesses.frequency(clock.get())
        };
        // Redis' configuration file says 10 of 100 accesses, 18 of 1000, 142 of 100,000, on average.
        assert!((8..=13).contains(&after(&mut accesses, 100)));
        assert!((14..=25).contains(&after(&mut accesses, 900)));
        assert!((125..=160).contains(&after(&mut accesses, 99_000)));
        assert_eq!(after(&mut counting(0), 1000), 255, "no further");
    }

    #[test]
    fn a_count_decays_before_it_grows() {
        let mut accesses = counting(0);
        let clock = Cell::new(accesses.fresh());
        (0..20).for_each(|_| accesses.note(&clock));
        assert_eq!(accesses.frequency(clock.get()), 25);
        accesses.go_on_at(at(600));
        assert_eq!(accesses.frequency(clock.get()), 15);
        accesses.note(&clock);
        assert_eq!(accesses.frequency(clock.get()), 16);
    }

    #[test]
    fn changed_rules_keep_the_ignored_clients() {
        let mut accesses = Accesses::new(7);
        accesses.ignore(true);
        accesses.set_rules(AccessRules { measure: Measure::Frequency, ..AccessRules::default() });
        let clock = Cell::new(accesses.clock_of_frequency(3));
        accesses.note(&clock);
        assert_eq!(accesses.frequency(clock.get()), 3);
        assert!(accesses.ignore(false));
        accesses.note(&clock);
        assert_eq!(accesses.frequency(clock.get()), 4);
    }
}
