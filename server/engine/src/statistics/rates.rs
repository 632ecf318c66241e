//! How much was done in each of the last moments: INFO's figures by the second.

use super::process::Traffic;
use std::collections::VecDeque;

/// The most samples: at one each tenth of a second, a little more than a second and a half.
const SAMPLES_MAX: usize = 16;
/// Samples that are older tell nothing of the present.
const OLDEST_US: u64 = 2_000_000;

/// What has been done since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    /// Commands that were run.
    pub(crate) commands: u64,
    /// What has gone over connections.
    pub(crate) traffic: Traffic,
}

/// Samples of what has been done.
#[derive(Debug, Default)]
pub(crate) struct Rates {
    /// Each with its instant on the monotonic clock in microseconds, the oldest first.
    samples: VecDeque<(u64, Totals)>,
}

impl Rates {
    /// So much has been done until this instant, on the monotonic clock in microseconds.
    pub(crate) fn sample(&mut self, at_us: u64, totals: Totals) {
        if self.samples.len() == SAMPLES_MAX {
            self.samples.pop_front();
        }
        self.samples.push_back((at_us, totals));
    }

    /// How much of something is done in a second, as the samples up to `now_us` show.
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
