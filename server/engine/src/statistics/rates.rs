//! Samples of the last moments, for the figures per second of INFO.

use super::process::Traffic;
use std::collections::VecDeque;

/// The most samples. At ten samples a second they cover a little more than a second and a half.
const MAX_SAMPLES: usize = 16;
/// The greatest age, in microseconds, of a sample that is still used.
const OLDEST_US: u64 = 2_000_000;

/// The totals since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    /// The number of commands that were run.
    pub(crate) commands: u64,
    /// The traffic over connections.
    pub(crate) traffic: Traffic,
}

/// Samples of the totals.
#[derive(Debug, Default)]
pub(crate) struct Rates {
    /// The samples, the oldest first; each with its instant on the monotonic clock in microseconds.
    samples: VecDeque<(u64, Totals)>,
}

impl Rates {
    /// Records a sample. `at_us` is its instant on the monotonic clock, in microseconds.
    pub(crate) fn sample(&mut self, at_us: u64, totals: Totals) {
        if self.samples.len() == MAX_SAMPLES {
            self.samples.pop_front();
        }
        self.samples.push_back((at_us, totals));
    }

    /// The rate per second of the figure `of`, from the oldest usable sample to `totals` at `now_us`.
    pub(crate) fn per_second(&self, now_us: u64, totals: Totals, of: fn(&Totals) -> u64) -> f64 {
        let from_us = now_us.saturating_sub(OLDEST_US);
        let Some((at_us, then)) = self.samples.iter().find(|(at_us, _)| *at_us >= from_us) else {
            return 0.0;
        };
        let seconds = now_us.saturating_sub(*at_us) as f64 / 1e6;
        let done = of(&totals).saturating_sub(of(then));
        if seconds > 0.0 { done as f64 / seconds } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_those_of_the_last_moments() {
        let mut rates = Rates::default();
        let totals = |commands| Totals { commands, ..Totals::default() };
        let at = |rates: &Rates, now_us, commands| {
            rates.per_second(now_us, totals(commands), |totals| totals.commands)
        };
        assert_eq!(at(&rates, 5, 100), 0.0);
        for tenth in 0..100 {
            rates.sample(tenth * 100_000, totals(tenth * 7));
        }
        assert_eq!((at(&rates, 9_900_000, 693), at(&rates, 9_900_000 + OLDEST_US, 693)), (70.0, 0.0));
        assert_eq!(at(&rates, 8_400_000, 588), 0.0);
    }
}
