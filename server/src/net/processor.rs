//! Processor time as counted by the system, in microseconds.

use lockwheel_engine::statistics::ProcessorTime;

/// Returns the time of the process, with all its threads.
pub(super) fn of_process() -> ProcessorTime {
    #[cfg(unix)]
    return read(nix::sys::resource::UsageWho::RUSAGE_SELF);
    #[cfg(not(unix))]
    ProcessorTime::default()
}

/// Returns the time of the ended child processes.
pub(super) fn of_children() -> ProcessorTime {
    #[cfg(unix)]
    return read(nix::sys::resource::UsageWho::RUSAGE_CHILDREN);
    #[cfg(not(unix))]
    ProcessorTime::default()
}

/// Returns the time of the calling thread; zero if the system does not count single threads.
pub(super) fn of_thread() -> ProcessorTime {
    #[cfg(any(target_os = "linux", target_os = "freebsd", target_os = "openbsd"))]
    return read(nix::sys::resource::UsageWho::RUSAGE_THREAD);
    #[cfg(not(any(target_os = "linux", target_os = "freebsd", target_os = "openbsd")))]
    ProcessorTime::default()
}

#[cfg(unix)]
fn read(who: nix::sys::resource::UsageWho) -> ProcessorTime {
    use nix::sys::time::TimeValLike;
    let Ok(usage) = nix::sys::resource::getrusage(who) else { return ProcessorTime::default() };
    let microseconds = |time: nix::sys::time::TimeVal| time.num_microseconds().try_into().unwrap_or(0);
    ProcessorTime { user_us: microseconds(usage.user_time()), system_us: microseconds(usage.system_time()) }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    fn work() {
        (0..1_000_000_u64).fold(1, |hash: u64, byte| (hash ^ byte).wrapping_mul(0x100_0000_01b3));
    }

    #[test]
    fn each_thread_has_its_own_processor_time() {
        let before = of_thread();
        let mut seen = Vec::new();
        while seen.len() < 20 {
            work();
            let now = of_thread();
            if seen.last() != Some(&now.user_us) {
                seen.push(now.user_us);
            }
        }
        assert!(seen[0] >= before.user_us && seen.is_sorted());
        assert!(seen.iter().any(|us| us % 1000 != 0), "{seen:?}");
        assert!(of_process().user_us >= seen[19]);
    }
}
