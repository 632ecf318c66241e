//! The system's figures of this process, for INFO.

use super::stopwatch::Stopwatch;
use lockwheel_engine::statistics::{Allocator, Process, Usage};
use std::{env, fs};

/// What sockets are waited for with.
const MULTIPLEXING_API: &str = match env::consts::OS.as_bytes() {
    b"linux" | b"android" => "epoll",
    b"macos" | b"freebsd" | b"netbsd" | b"openbsd" => "kqueue",
    _ => "poll",
};

/// This process, which listens on `port`, with its allocator if the server may know it.
pub(crate) fn this_process(port: u16, allocator: Option<Allocator>) -> Process {
    let read_allocator = allocator.as_ref().map(|allocator| allocator.usage);
    let executable = env::current_exe().map(|path| path.to_string_lossy().into_owned());
    Process {
        id: std::process::id(),
        os: system(),
        executable: executable.unwrap_or_default(),
        config_file: String::new(),
        port,
        multiplexing_api: MULTIPLEXING_API,
        monotonic_clock: Stopwatch::new().kind().to_owned(),
        allocator,
        usage: Box::new(move || Usage { allocator: read_allocator.map(|read| read()), ..usage() }),
        ..Process::default()
    }
}

/// Like `uname -srm`, as far as the system's files show it.
fn system() -> String {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let name = match env::consts::OS {
        "linux" => "Linux",
        "macos" => "Darwin",
        "windows" => "Windows",
        other => other,
    };
    [name, release.trim(), env::consts::ARCH]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

/// What it uses now; 0 where there is no `/proc`.
fn usage() -> Usage {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let (status, stat) = (read("/proc/self/status"), read("/proc/self/stat"));
    let resident = kilobytes(&status, "VmRSS:");
    let (user_us, system_us) = processor_time(&stat);
    // The first thread has the number of the process.
    let main = read(&format!("/proc/self/task/{}/stat", std::process::id()));
    let (main_user_us, main_system_us) = processor_time(&main);
    Usage {
        allocator: None,
        resident,
        peak: kilobytes(&status, "VmHWM:"),
        machine: kilobytes(&read("/proc/meminfo"), "MemTotal:"),
        user_us,
        system_us,
        main_user_us,
        main_system_us,
    }
}

/// A line `name: N kB`, in bytes.
fn kilobytes(text: &str, name: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    line.split_whitespace().next().and_then(|number| number.parse::<u64>().ok()).unwrap_or(0) * 1024
}

/// The processor time of `/proc/self/stat` in microseconds: in the program, in the system.
fn processor_time(stat: &str) -> (u64, u64) {
    /// Linux counts in hundredths of a second, whatever the kernel's own tick.
    const TICK_US: u64 = 10_000;
    // The name of the program, in brackets, may hold anything; behind it the state is the third field.
    let fields = stat.rsplit(')').next().unwrap_or_default();
    let mut ticks =
        fields.split_whitespace().skip(11).map(|field| field.parse::<u64>().unwrap_or(0) * TICK_US);
    (ticks.next().unwrap_or(0), ticks.next().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_the_system_are_read() {
        assert_eq!(kilobytes("Name:\tx\nVmRSS:\t    4321 kB\n", "VmRSS:"), 4321 * 1024);
        assert_eq!(kilobytes("", "VmRSS:"), 0);
        let stat = "7 (a (b) c) S 1 7 7 0 -1 4194304 100 0 0 0 12 34 0 0 20 0 5 0 99 1 2";
        assert_eq!(processor_time(stat), (120_000, 340_000));
        assert_eq!(processor_time(""), (0, 0));
    }
}
