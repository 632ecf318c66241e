//! The resident memory of a process, from `/proc`.

use std::fs;

/// Bytes of a process that are in memory now. `None` where the system does not tell.
pub fn resident(pid: u32) -> Option<u64> {
    // The sum over all mappings is exact; the figure in `status` may be some hundred KiB behind.
    let exact = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok();
    exact.and_then(|text| kibibytes(&text, "Rss:")).or_else(|| {
        let rough = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        kibibytes(&rough, "VmRSS:")
    })
}

/// The bytes that the line of this name tells in kB.
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
