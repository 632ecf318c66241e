//! The latency monitor: events that took longer than the threshold, and their times.

mod doctor;
mod graph;

pub(crate) use doctor::{Advised, report};
pub(crate) use graph::draw;

use std::collections::VecDeque;

/// The maximum number of samples of an event.
const MAX_SAMPLES: usize = 160;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LatencyEvent {
    /// A command with constant or logarithmic cost.
    FastCommand,
    Command,
    /// A command that is served after a wait.
    CommandUnblocking,
    /// The expiry of keys in one batch.
    ExpireCycle,
    /// The eviction of keys before one batch.
    EvictionCycle,
}

impl LatencyEvent {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            LatencyEvent::FastCommand => "fast-command",
            LatencyEvent::Command => "command",
            LatencyEvent::CommandUnblocking => "command-unblocking",
            LatencyEvent::ExpireCycle => "expire-cycle",
            LatencyEvent::EvictionCycle => "eviction-cycle",
        }
    }
}

/// A slow occurrence of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sample {
    /// The end of the occurrence, in seconds since the epoch.
    pub(crate) unix_time: i64,
    /// The duration, in milliseconds.
    pub(crate) took_ms: u64,
}

#[derive(Debug)]
pub(crate) struct Series {
    pub(crate) event: LatencyEvent,
    /// At least one sample, oldest first.
    samples: VecDeque<Sample>,
    /// The longest duration ever, including that of dropped samples.
    pub(crate) longest_ms: u64,
}

impl Series {
    fn new(event: LatencyEvent) -> Self {
        Series { event, samples: VecDeque::new(), longest_ms: 0 }
    }

    pub(crate) fn samples(&self) -> impl ExactSizeIterator<Item = &Sample> + Clone {
        self.samples.iter()
    }

    pub(crate) fn latest(&self) -> Option<&Sample> {
        self.samples.back()
    }

    /// Adds a sample. Of the samples of one second, only the longest is kept.
    fn add(&mut self, sample: Sample) {
        self.longest_ms = self.longest_ms.max(sample.took_ms);
        match self.samples.back_mut() {
            Some(last) if last.unix_time == sample.unix_time => {
                last.took_ms = last.took_ms.max(sample.took_ms);
            }
            _ => {
                if self.samples.len() == MAX_SAMPLES {
                    self.samples.pop_front();
                }
                self.samples.push_back(sample);
            }
        }
    }
}

#[derive(Debug)]
pub(crate) struct Latency {
    /// The minimum duration of a sample, in milliseconds. 0 turns the monitor off.
    threshold_ms: u64,
    /// The events with samples, in the order of their first samples.
    series: Vec<Series>,
}

impl Latency {
    /// Returns a monitor without samples; see [`Latency::configure`].
    pub(crate) fn new(threshold_ms: i64) -> Self {
        Latency { threshold_ms: threshold_ms.unsigned_abs(), series: Vec::new() }
    }

    /// Sets the minimum duration of a sample, in milliseconds. 0 turns the monitor off.
    pub(crate) fn configure(&mut self, threshold_ms: i64) {
        self.threshold_ms = threshold_ms.unsigned_abs();
    }

    /// Returns the minimum duration of a sample, in milliseconds; 0 if the monitor is off.
    pub(crate) fn threshold_ms(&self) -> u64 {
        self.threshold_ms
    }

    /// Returns the minimum duration of a sample, in nanoseconds; `u64::MAX` if the monitor is off.
    pub(crate) fn threshold_ns(&self) -> u64 {
        match self.threshold_ms {
            0 => u64::MAX,
            ms => ms.saturating_mul(1_000_000),
        }
    }

    /// Records an event of `took_ns` nanoseconds, if that reaches the threshold, which ended at `unix_time` (seconds).
    pub(crate) fn took(&mut self, event: LatencyEvent, took_ns: u64, unix_time: i64) {
        if took_ns < self.threshold_ns() {
            return;
        }
        let at = self.series.iter().position(|series| series.event == event).unwrap_or_else(|| {
            self.series.push(Series::new(event));
            self.series.len() - 1
        });
        self.series[at].add(Sample { unix_time, took_ms: took_ns / 1_000_000 });
    }

    /// Returns the samples of all events that have any.
    pub(crate) fn series(&self) -> &[Series] {
        &self.series
    }

    /// Returns the samples of the event with this name.
    pub(crate) fn find(&self, name: &[u8]) -> Option<&Series> {
        self.series.iter().find(|series| series.event.name().as_bytes() == name)
    }

    /// Forgets the samples of these events, named in any case, or of all without a name. Returns their number.
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
    fn the_maximum_of_each_second_is_kept_for_a_limited_time() {
        let mut latency = Latency::new(10);
        latency.took(LatencyEvent::Command, 10 * MS - 1, 1);
        assert!(latency.series().is_empty());
        for (second, ms) in [(1, 10), (1, 30), (1, 20), (2, 15)] {
            latency.took(LatencyEvent::Command, ms * MS, second);
        }
        let series = latency.find(b"command").expect("it took long");
        let samples: Vec<_> = series.samples().map(|sample| (sample.unix_time, sample.took_ms)).collect();
        assert_eq!((samples, series.longest_ms), (vec![(1, 30), (2, 15)], 30));
        (3..1000).for_each(|second| latency.took(LatencyEvent::Command, 10 * MS, second));
        let series = latency.find(b"command").expect("it took long");
        assert_eq!((series.samples().len(), series.longest_ms), (MAX_SAMPLES, 30));
    }

    #[test]
    fn events_are_forgotten_by_name_or_all() {
        let mut latency = Latency::new(1);
        for event in [LatencyEvent::Command, LatencyEvent::FastCommand, LatencyEvent::ExpireCycle] {
            latency.took(event, MS, 1);
        }
        assert_eq!((latency.forget(&[b"x", b"Command"]), latency.series().len()), (1, 2));
        assert_eq!((latency.forget(&[]), latency.series().len()), (2, 0));
        latency.configure(0);
        latency.took(LatencyEvent::Command, u64::MAX - 1, 1);
        assert!(latency.series().is_empty());
    }
}
