//! The CPU time of a process, to the nanosecond, from `/proc`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// The number of ticks of `/proc/PID/stat` a second, which is the same on every current Linux.
const TICKS: f64 = 100.0;

/// The CPU time of a process so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// The nanoseconds of each live thread.
    threads: BTreeMap<u32, u64>,
    /// The ticks in the process' own code and in the kernel's, including ended threads.
    user_ticks: u64,
    system_ticks: u64,
}

/// The CPU time of a process between two samples.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Used {
    /// The time of all threads.
    pub total: Duration,
    /// The share of the process' own code, from 0 to 1; the rest is the kernel's. Its precision is ticks of 10 ms.
    pub user_share: f64,
}

impl Sample {
    /// Takes a sample of a process. Returns `None` if the system does not report it.
    pub fn of(pid: u32) -> Option<Sample> {
        Sample::read(Path::new(&format!("/proc/{pid}")))
    }

    fn read(process: &Path) -> Option<Sample> {
        let mut threads = BTreeMap::new();
        for entry in fs::read_dir(process.join("task")).ok()?.flatten() {
            let Some(id) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
            // A thread may end after it was listed.
            let Ok(text) = fs::read_to_string(entry.path().join("schedstat")) else { continue };
            threads.insert(id, nanoseconds(&text)?);
        }
        let (user_ticks, system_ticks) = ticks(&fs::read_to_string(process.join("stat")).ok()?)?;
        Some(Sample { threads, user_ticks, system_ticks })
    }

    /// Returns the CPU time from `self` to a later sample.
    pub fn until(&self, later: &Sample) -> Used {
        let user = later.user_ticks.saturating_sub(self.user_ticks) as f64;
        let system = later.system_ticks.saturating_sub(self.system_ticks) as f64;
        let by_ticks = Duration::from_secs_f64((user + system) / TICKS);
        let total = if self.threads.keys().all(|id| later.threads.contains_key(id)) {
            let before = |id| self.threads.get(id).copied().unwrap_or(0);
            let sum = later.threads.iter().map(|(id, &after)| after.saturating_sub(before(id))).sum();
            Duration::from_nanos(sum)
        } else {
            // A thread has ended, and its nanoseconds are lost. The ticks still contain them.
            by_ticks
        };
        Used { total, user_share: if user + system > 0.0 { user / (user + system) } else { 0.0 } }
    }
}

/// Returns the CPU time of the calling thread.
pub fn own_thread() -> Option<Duration> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    nanoseconds(&text).map(Duration::from_nanos)
}

/// Returns the first number of a `schedstat`: nanoseconds on a core.
fn nanoseconds(schedstat: &str) -> Option<u64> {
    schedstat.split_whitespace().next()?.parse().ok()
}

/// Returns `utime` and `stime` of a `stat`. The program name before them may contain anything, including brackets.
fn ticks(stat: &str) -> Option<(u64, u64)> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

/// Returns the time that the host has taken from this machine so far, over all cores, in ticks of 10 ms.
pub fn stolen_ticks() -> Option<u64> {
    let text = fs::read_to_string("/proc/stat").ok()?;
    text.lines().next()?.split_whitespace().nth(8)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(threads: &[(u32, u64)], user_ticks: u64, system_ticks: u64) -> Sample {
        Sample { threads: threads.iter().copied().collect(), user_ticks, system_ticks }
    }

    #[test]
    fn the_files_are_read() {
        assert_eq!(nanoseconds("123456789 42 7\n"), Some(123_456_789));
        assert_eq!(nanoseconds(""), None);
        let stat = "12 (a) b (c)) S 1 2 3 4 -1 4194560 100 0 0 0 250 31 8 9 20 0 5 0 123 456\n";
        assert_eq!(ticks(stat), Some((250, 31)));
        assert_eq!(ticks("12 (a) S 1 2"), None);
    }

    #[test]
    fn threads_are_added_up_and_new_ones_count_whole() {
        let (before, after) =
            (sample(&[(1, 1_000), (2, 500)], 10, 5), sample(&[(1, 4_000), (2, 500), (3, 70)], 13, 6));
        let used = before.until(&after);
        assert_eq!((used.total, used.user_share), (Duration::from_nanos(3_070), 0.75));
    }

    #[test]
    fn a_thread_that_ended_is_not_forgotten() {
        let (before, after) = (sample(&[(1, 1_000), (2, 500)], 10, 5), sample(&[(1, 4_000)], 13, 6));
        assert_eq!(before.until(&after).total, Duration::from_millis(40));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn work_of_this_process_is_seen() {
        let before = Sample::of(std::process::id()).unwrap();
        let mut sum = 0u64;
        let after = loop {
            (0..1_000_000u64).for_each(|n| sum = std::hint::black_box(sum ^ n));
            let after = Sample::of(std::process::id()).unwrap();
            if before.until(&after).total >= Duration::from_millis(5) {
                break after;
            }
        };
        assert!(before.until(&after).user_share <= 1.0);
        assert!(own_thread().is_some_and(|time| time > Duration::ZERO));
    }
}
