//! The system's figures of this process, for INFO.

use super::processor;
use super::stopwatch::Stopwatch;
use lockwheel_engine::statistics::{Allocator, Process, Usage};
use std::{env, fs};

/// The name of the system interface that waits for sockets.
const MULTIPLEXING_API: &str = match env::consts::OS.as_bytes() {
    b"linux" | b"android" => "epoll",
    b"macos" | b"freebsd" | b"netbsd" | b"openbsd" => "kqueue",
    _ => "poll",
};

/// Describes this process, which listens on `port`. `allocator` is `None` if the server must not know it.
pub(crate) fn this_process(port: u16, allocator: Option<Allocator>) -> Process {
    let read_allocator = allocator.as_ref().map(|allocator| allocator.usage);
    let executable = env::current_exe().map(|path| path.to_string_lossy().into_owned());
    Process {
        id: std::process::id(),
        os: system(),
        executable: executable.unwrap_or_default(),
        port,
        multiplexing_api: MULTIPLEXING_API,
        monotonic_clock: Stopwatch::new().kind().to_owned(),
        allocator,
        usage: Box::new(move || Usage { allocator: read_allocator.map(|read| read()), ..usage() }),
        ..Process::default()
    }
}

/// Returns the name of the system as `uname -srm` prints it, as far as the system's files show it.
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

/// Returns the current usage; 0 where the system does not report it.
fn usage() -> Usage {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let status = read("/proc/self/status");
    Usage {
        allocator: None,
        resident: kilobytes(&status, "VmRSS:"),
        peak: kilobytes(&status, "VmHWM:"),
        machine: kilobytes(&read("/proc/meminfo"), "MemTotal:"),
        process: processor::of_process(),
        children: processor::of_children(),
        thread: processor::of_thread(),
    }
}

/// Parses a line `name: N kB` and returns bytes.
fn kilobytes(text: &str, name: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    line.split_whitespace().next().and_then(|number| number.parse::<u64>().ok()).unwrap_or(0) * 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_the_system_are_read() {
        assert_eq!(kilobytes("Name:\tx\nVmRSS:\t    4321 kB\n", "VmRSS:"), 4321 * 1024);
        assert_eq!(kilobytes("", "VmRSS:"), 0);
    }
}
