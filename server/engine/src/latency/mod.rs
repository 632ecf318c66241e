//! LATENCY's events: what took the server longer than its threshold, and when.

mod doctor;
mod graph;

pub(crate) use doctor::{Advised, report};
pub(crate) use graph::draw;

use std::collections::VecDeque;

/// The most samples of an event.
const SAMPLES_MAX: usize = 160;

/// What is watched for taking long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A command that takes constant or logarithmic time.
    FastCommand,
    /// Any other command.
    Command,
    /// A command that is served after a wait.
    CommandUnblocking,
    /// Keys that expire, of one batch.
    ExpireCycle,
    /// Keys that are evicted, before one batch.
    EvictionCycle,
}

impl Event {
    /// Its name.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Event::FastCommand => "fast-command",
            Event::Command => "command",
            Event::CommandUnblocking => "command-unblocking",
            Event::ExpireCycle => "expire-cycle",
            Event::EvictionCycle => "eviction-cycle",
        }
    }
}

/// One that took long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sample {
    /// When, in seconds since the epoch.
    pub(crate) unix_time: i64,
    /// How long, in milliseconds.
    pub(crate) took_ms: u64,
}

/// The samples of an event.
#[derive(Debug)]
pub(crate) struct Series {
    pub(crate) event: Event,
    /// The oldest first: at least one.
    samples: VecDeque<Sample>,
    /// The longest of all, also of those that are forgotten.
    pub(crate) longest_ms: u64,
}

impl Series {
    fn new(event: Event) -> Self {
        Series { event, samples: VecDeque::new(), longest_ms: 0 }
    }

    /// The samples, the oldest first.
    pub(crate) fn samples(&self) -> impl ExactSizeIterator<Item = &Sample> + Clone {
        self.samples.iter()
    }

    /// The latest sample.
    pub(crate) fn latest(&self) -> Option<&Sample> {
        self.samples.back()
    }

    /// Of the samples of one second only the longest is kept.
    fn add(&mut self, sample: Sample) {
        self.longest_ms = self.longest_ms.max(sample.took_ms);
        match self.samples.back_mut() {
            Some(last) if last.unix_time == sample.unix_time => {
                last.took_ms = last.took_ms.max(sample.took_ms);
            }
            _ => {
                if self.samples.len() == SAMPLES_MAX {
                    self.samples.pop_front();
                }
                self.samples.push_back(sample);
            }
        }
    }
}

/// What took long.
#[derive(Debug)]
pub(crate) struct Latency {
    /// From so many milliseconds on; 0: nothing is watched.
    threshold_ms: u64,
    /// Those of which something took long, in the order of their first samples.
    series: Vec<Series>,
}

impl Latency {
    /// Nothing yet; see [`Latency::configure`].
    pub(crate) fn new(threshold_ms: i64) -> Self {
        Latency { threshold_ms: threshold_ms.unsigned_abs(), series: Vec::new() }
    }

    /// Watches for what takes so many milliseconds or longer; for nothing, when that is 0.
    pub(crate) fn configure(&mut self, threshold_ms: i64) {
        self.threshold_ms = threshold_ms.unsigned_abs();
    }

    /// From how many milliseconds on something took long; 0: nothing is watched.
    pub(crate) fn threshold_ms(&self) -> u64 {
        self.threshold_ms
    }

    /// From how many nanoseconds on; the largest number is never reached.
    pub(crate) fn threshold_ns(&self) -> u64 {
        match self.threshold_ms {
            0 => u64::MAX,
            ms => ms.saturating_mul(1_000_000),
        }
    }

    /// Something has taken so many nanoseconds, until this second since the epoch.
    pub(crate) fn took(&mut self, event: Event, took_ns: u64, unix_time: i64) {
        if took_ns < self.threshold_ns() {
            return;
        }
        let at = self.series.iter().position(|series| series.event == event).unwrap_or_else(|| {
            self.series.push(Series::new(event));
            self.series.len() - 1
        });
        self.series[at].add(Sample { unix_time, took_ms: took_ns / 1_000_000 });
    }

    /// The samples of all events that have any.
    pub(crate) fn series(&self) -> &[Series] {
        &self.series
    }

    /// The samples of the event of this name.
    pub(crate) fn find(&self, name: &[u8]) -> Option<&Series> {
        self.series.iter().find(|series| series.event.name().as_bytes() == name)
    }

    /// Forgets the samples of these events, named in any case, or of all; of how many events.
    pub(crate) fn forget(&mut self, names: &[&[u8]]) -> usize {
        let before = self.series.len();
        let is_named = |series: &Series| {
            names.iter().any(|name| series.event.name().as_bytes().eq_ignore_ascii_case(name))
        };
        self.series.retain(|series| !names.is_empty() && !is_named(series));
        before - self.series.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn the_longest_of_a_second_is_kept_and_so_many_seconds() {
        let mut latency = Latency::new(10);
        latency.took(Event::Command, 10 * MS - 1, 1);
        assert!(latency.series().is_empty());
        for (second, ms) in [(1, 10), (1, 30), (1, 20), (2, 15)] {
            latency.took(Event::Command, ms * MS, second);
        }
        let series = latency.find(b"command").expect("it took long");
        let samples: Vec<_> = series.samples().map(|sample| (sample.unix_time, sample.took_ms)).collect();
        assert_eq!((samples, series.longest_ms), (vec![(1, 30), (2, 15)], 30));
        (3..1000).for_each(|second| latency.took(Event::Command, 10 * MS, second));
        let series = latency.find(b"command").expect("it took long");
        assert_eq!((series.samples().len(), series.longest_ms), (SAMPLES_MAX, 30));
    }

    #[test]
    fn events_are_forgotten_by_name_or_all() {
        let mut latency = Latency::new(1);
        for event in [Event::Command, Event::FastCommand, Event::ExpireCycle] {
            latency.took(event, MS, 1);
        }
        assert_eq!((latency.forget(&[b"x", b"Command"]), latency.series().len()), (1, 2));
        assert_eq!((latency.forget(&[]), latency.series().len()), (2, 0));
        latency.configure(0);
        latency.took(Event::Command, u64::MAX - 1, 1);
        assert!(latency.series().is_empty());
    }
}
