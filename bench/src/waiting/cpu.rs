//! The processor's time that a server has used.

use super::Target;
use std::fs;
use std::io;

/// Nanoseconds used by all threads of the target until now; `None` when its process is not known.
pub(super) fn of(target: &Target) -> io::Result<Option<u64>> {
    let Some(pid) = target.pid else { return Ok(None) };
    let mut total = 0;
    for thread in fs::read_dir(format!("/proc/{pid}/task"))? {
        let text = fs::read_to_string(thread?.path().join("schedstat"))?;
        let first = text.split_ascii_whitespace().next().and_then(|word| word.parse::<u64>().ok());
        total += first.ok_or_else(|| io::Error::other(format!("schedstat says `{}`", text.trim())))?;
    }
    Ok(Some(total))
}
