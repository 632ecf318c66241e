//! LATENCY DOCTOR: a report on slow events, with advice, in the words of Redis.

use super::{LatencyEvent, Series};
use std::fmt;

const DISABLED: &str = "I'm sorry, Dave, I can't do that. Latency monitoring is disabled in this Redis instance. You \
     may use \"CONFIG SET latency-monitor-threshold <milliseconds>.\" in order to enable it. If we weren't in a deep \
     space mission I'd suggest to take a look at https://redis.io/topics/latency-monitor.";
const GREETING: &str = "Dave, I have observed latency spikes in this Redis instance. You don't mind talking about \
     it, do you Dave?";
const NOTHING: &str = "Dave, no latency spike was observed during the lifetime of this Redis instance, not in the \
     slightest bit. I honestly think you ought to sit down calmly, take a stress pill, and think things over.";
const NO_ADVICE: &str = "While there are latency events logged, I'm not able to suggest any easy fix. Please use the \
     Redis community to get some help, providing this report in your help request.";
const INSPECT: &str = "- Check your Slow Log to understand what are the commands you are running which are too slow \
     to execute. Please check https://redis.io/commands/slowlog for more information.";
const LARGE_OBJECTS: &str = "- Deleting, expiring or evicting (because of maxmemory policy) large objects is a \
     blocking operation. If you have very large objects that are often deleted, expired, or evicted, try to fragment \
     those objects into multiple smaller objects.";
const HZ: &str = "- In order to make the Redis keys expiring process more incremental, try to set the 'hz' \
     configuration parameter to 100 using 'CONFIG SET hz 100'.";
const MASS_EVICTION: &str = "- Sudden changes to the 'maxmemory' setting via 'CONFIG SET', or allocation of \
     large objects via sets or sorted sets intersections, STORE option of SORT, Redis Cluster large keys migrations \
     (RESTORE command), may create sudden memory pressure forcing the server to block trying to evict keys. ";
const SCHEDULER: &[&str] = &[
    "- The system is slow to execute Redis code paths not containing system calls. This usually means the system \
     does not provide Redis CPU time to run for long periods. You should try to:",
    "  1) Lower the system load.",
    "  2) Use a computer / VM just for Redis if you are running other software in the same system.",
    "  3) Check if you have a \"noisy neighbour\" problem.",
    "  4) Check with 'redis-cli --intrinsic-latency 100' what is the intrinsic latency in your system.",
    "  5) Check if the problem is allocator-related by recompiling Redis with MALLOC=libc, if you are using \
     Jemalloc. However this may create fragmentation problems.",
];

/// The settings on which the advice depends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Advised {
    /// `latency-monitor-threshold`.
    pub(crate) threshold_ms: u64,
    /// `slowlog-log-slower-than`.
    pub(crate) slow_log_us: i64,
    /// `slowlog-max-len`.
    pub(crate) slow_log_len: usize,
}

/// Returns the report on these events at `now`, in seconds since the epoch.
pub(crate) fn report(all: &[Series], setting: Advised, now: i64) -> String {
    if all.is_empty() {
        return format!("{}\n", if setting.threshold_ms == 0 { DISABLED } else { NOTHING });
    }
    let mut report = format!("{GREETING}\n\n");
    for (number, series) in (1..).zip(all) {
        report.push_str(&format!("{number}. {}\n", Figures::of(series, now)));
    }
    let advice = advice(all, setting);
    if advice.is_empty() {
        report.push_str(&format!("\n{NO_ADVICE}\n"));
        return report;
    }
    report.push_str("\nI have a few advices for you:\n\n");
    for line in advice {
        report.push_str(&line);
        report.push('\n');
    }
    report
}

/// The figures of an event in the report, except the number of samples. In milliseconds or seconds.
struct Figures {
    name: &'static str,
    samples: u64,
    average_ms: u64,
    deviation_ms: u64,
    period: i64,
    longest_ms: u64,
}

impl Figures {
    fn of(series: &Series, now: i64) -> Self {
        let samples = series.samples().len().max(1) as u64;
        let average_ms = series.samples().map(|sample| sample.took_ms).sum::<u64>() / samples;
        let deviations = series.samples().map(|sample| sample.took_ms.abs_diff(average_ms));
        let oldest = series.samples().map(|sample| sample.unix_time).min().unwrap_or(now);
        Figures {
            name: series.event.name(),
            samples,
            average_ms,
            deviation_ms: deviations.sum::<u64>() / samples,
            period: now.saturating_sub(oldest).max(1),
            longest_ms: series.longest_ms,
        }
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Figures { name, samples, average_ms, deviation_ms, period, longest_ms } = *self;
        let period = period as f64 / samples as f64;
        write!(
            f,
            "{name}: {samples} latency spikes (average {average_ms}ms, mean deviation {deviation_ms}ms, period \
             {period:.2} sec). Worst all time event {longest_ms}ms."
        )
    }
}

/// Returns the lines of advice, in Redis' order.
fn advice(all: &[Series], setting: Advised) -> Vec<String> {
    let has = |event: LatencyEvent| all.iter().any(|series| series.event == event);
    let mut lines = Vec::new();
    if has(LatencyEvent::Command) {
        lines.extend(slow_log_advice(setting));
        lines.push(INSPECT.to_owned());
    }
    if has(LatencyEvent::FastCommand) {
        lines.extend(SCHEDULER.iter().map(|&line| line.to_owned()));
    }
    if has(LatencyEvent::ExpireCycle) {
        lines.push(HZ.to_owned());
    }
    if has(LatencyEvent::Command) || has(LatencyEvent::ExpireCycle) {
        lines.push(LARGE_OBJECTS.to_owned());
    }
    if has(LatencyEvent::EvictionCycle) {
        lines.push(MASS_EVICTION.to_owned());
    }
    lines
}

/// Returns the change of the settings with which the slow log would show the commands.
fn slow_log_advice(setting: Advised) -> Option<String> {
    let threshold_us = setting.threshold_ms.saturating_mul(1000);
    if setting.slow_log_us < 0 || setting.slow_log_len == 0 {
        return Some(format!(
            "- There are latency issues with potentially slow commands you are using. Try to enable the Slow Log \
             Redis feature using the command 'CONFIG SET slowlog-log-slower-than {threshold_us}'. If the Slow log is \
             disabled Redis is not able to log slow commands execution for you."
        ));
    }
    (setting.slow_log_us / 1000 > i64::try_from(setting.threshold_ms).unwrap_or(i64::MAX)).then(|| {
        format!(
            "- Your current Slow Log configuration only logs events that are slower than your configured latency \
             monitor threshold. Please use 'CONFIG SET slowlog-log-slower-than {threshold_us}'."
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::Latency;
    use super::*;

    const SETTING: Advised = Advised { threshold_ms: 50, slow_log_us: 10_000, slow_log_len: 128 };

    fn reported(samples: &[(LatencyEvent, i64, u64)], setting: Advised) -> String {
        let mut latency = Latency::new(1);
        for &(event, second, ms) in samples {
            latency.took(event, ms * 1_000_000, second);
        }
        report(latency.series(), setting, 10)
    }

    #[test]
    fn latency_doctor_reports_a_disabled_monitor_and_an_empty_one() {
        assert!(reported(&[], Advised { threshold_ms: 0, ..SETTING }).starts_with("I'm sorry, Dave"));
        assert!(reported(&[], SETTING).starts_with("Dave, no latency spike was observed"));
    }

    #[test]
    fn events_have_their_figures_and_their_advice() {
        let told = reported(&[(LatencyEvent::Command, 5, 110), (LatencyEvent::Command, 6, 130)], SETTING);
        let line = "\n1. command: 2 latency spikes (average 120ms, mean deviation 10ms, period 2.50 sec). Worst all \
                    time event 130ms.\n";
        assert!(told.contains(line), "{told}");
        assert_eq!(told.matches("\n- ").count(), 2, "{told}");
        let told = reported(&[(LatencyEvent::CommandUnblocking, 5, 110)], SETTING);
        assert!(told.contains("I'm not able to suggest any easy fix"), "{told}");
        let told = reported(&[(LatencyEvent::EvictionCycle, 5, 110)], SETTING);
        assert!(told.ends_with("forcing the server to block trying to evict keys. \n"), "{told}");
        let told = reported(&[(LatencyEvent::FastCommand, 5, 1), (LatencyEvent::ExpireCycle, 5, 1)], SETTING);
        assert_eq!((told.matches("\n- ").count(), told.matches("\n  ").count()), (3, 5), "{told}");
    }

    #[test]
    fn latency_doctor_advises_a_lower_slow_log_threshold() {
        let command = [(LatencyEvent::Command, 5, 110)];
        let off = reported(&command, Advised { slow_log_us: -1, ..SETTING });
        assert!(off.contains("Try to enable") && off.contains("slower-than 50000'. If"), "{off}");
        let short = reported(&command, Advised { slow_log_us: 51_000, ..SETTING });
        assert!(short.contains("Please use 'CONFIG SET slowlog-log-slower-than 50000'."), "{short}");
    }
}
