//! The check that a rate was never exceeded, from the instants of each permit's request and arrival. The permit was
//! given at some instant between the two, and the time by which the client's own script counts also lies there.

use std::time::{Duration, Instant};

/// Each permit, as the instants of its request and its arrival.
#[derive(Debug, Default)]
pub(crate) struct Windows {
    permits: Vec<(Instant, Instant)>,
}

impl Windows {
    pub(crate) fn add(&mut self, asked: Instant, came: Instant) {
        self.permits.push((asked, came));
    }

    /// The first span in which more permits than the rate allows were given for certain. Every permit requested after
    /// the beginning of a span, and received before its end, was given within it. `askers` is the number of
    /// simultaneous clients.
    ///
    /// A span shorter than an interval has the permits of one. In a longer one, each asker's script may count by a time
    /// that another's overtakes; this number of additional permits is tolerated.
    pub(crate) fn excess(&self, most: usize, interval: Duration, askers: usize) -> Option<String> {
        let interval = interval.saturating_sub(ROUNDING);
        let mut asked: Vec<_> = self.permits.clone();
        asked.sort();
        asked.iter().enumerate().step_by(SPARSE).find_map(|(first, (begin, _))| {
            let mut came: Vec<_> = asked[first..].iter().map(|(_, came)| *came - *begin).collect();
            came.sort();
            let beyond = came.iter().enumerate().skip(most).step_by(most + askers);
            let mut spans = (1..).zip(beyond);
            let (_, (given, span)) = spans.find(|(intervals, (_, span))| **span < interval * *intervals)?;
            Some(format!("{} permits within {span:?}, from permit {first}", given + 1))
        })
    }
}

/// Scripts count in whole milliseconds.
const ROUNDING: Duration = Duration::from_millis(1);

/// The step between the permits at which spans are checked.
const SPARSE: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;

    fn excess(millis: &[(u64, u64)]) -> Option<String> {
        let start = Instant::now();
        let mut windows = Windows::default();
        for (asked, came) in millis {
            windows.add(start + Duration::from_millis(*asked), start + Duration::from_millis(*came));
        }
        windows.excess(2, Duration::from_millis(101), 0)
    }

    #[test]
    fn more_permits_than_the_rate_are_noticed() {
        assert!(excess(&[(0, 1), (2, 3), (4, 99)]).is_some());
        assert!(excess(&[(0, 1), (2, 3), (50, 101), (101, 102), (110, 199)]).is_some());
    }

    #[test]
    fn possibly_valid_intervals_are_no_excess() {
        assert_eq!(excess(&[(0, 1), (2, 3), (4, 100)]), None);
        assert_eq!(excess(&[(0, 1), (2, 3), (50, 101), (101, 102), (110, 201)]), None);
    }
}
