//! A few thousand times and their percentiles. There are few enough to keep each one.

use std::time::Duration;

/// Times in microseconds.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    values: Vec<f64>,
    sorted: bool,
}

impl Samples {
    /// Adds a time.
    pub fn add(&mut self, time: Duration) {
        self.add_us(time.as_secs_f64() * 1e6);
    }

    /// Adds a time in microseconds.
    pub fn add_us(&mut self, us: f64) {
        self.values.push(us);
        self.sorted = false;
    }

    /// Returns the number of times.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Returns the smallest sample that at least this share of all do not exceed: 0.5 for the median, 1.0 for the
    /// largest. Returns zero without samples. O(n log n) once, then O(1).
    pub fn quantile(&mut self, share: f64) -> f64 {
        if !self.sorted {
            self.values.sort_unstable_by(f64::total_cmp);
            self.sorted = true;
        }
        let Some(last) = self.values.len().checked_sub(1) else { return 0.0 };
        let rank = (share * self.values.len() as f64).ceil() as usize;
        self.values[rank.saturating_sub(1).min(last)]
    }

    /// Returns the quantile of each share.
    pub fn quantiles<const N: usize>(&mut self, shares: [f64; N]) -> [f64; N] {
        shares.map(|share| self.quantile(share))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_samples_by_rank() {
        let mut samples = Samples::default();
        assert_eq!(samples.quantile(0.5), 0.0);
        for us in (1..=100).rev() {
            samples.add(Duration::from_micros(us));
        }
        assert_eq!(samples.len(), 100);
        assert_eq!(samples.quantiles([0.0, 0.5, 0.99, 0.999, 1.0]), [1.0, 50.0, 99.0, 100.0, 100.0]);
        samples.add_us(0.5);
        assert_eq!(samples.quantile(0.0), 0.5);
    }
}
