//! The resident memory of a process, from `/proc`.

use std::fs;

/// Returns the resident bytes of a process. Returns `None` if the system does not report them.
pub fn resident(pid: u32) -> Option<u64> {
    // The sum over all mappings is exact. The figure in `status` may lag by some hundred KiB.
    let exact = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok();
    exact.and_then(|text| kibibytes(&text, "Rss:")).or_else(|| {
        let rough = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        kibibytes(&rough, "VmRSS:")
    })
}

/// Returns the bytes of the line with this name, which has a value in kB.
fn kibibytes(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_found() {
        let text = "55e0-7ffd ---p 00000000 00:00 0 [rollup]\nRss:                1234 kB\nPss: 1 kB\n";
        assert_eq!(kibibytes(text, "Rss:"), Some(1234 * 1024));
        assert_eq!(kibibytes(text, "VmRSS:"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_is_resident() {
        assert!(resident(std::process::id()).is_some_and(|bytes| bytes > 100_000));
    }
}
