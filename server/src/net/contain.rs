//! A mistake of ours, kept to where it happened: it is told in the log, and the loop goes on.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Does `work`; none if it panicked. What it was working on must be usable still, or be given up by the caller.
pub(super) fn contained<T>(what: &'static str, work: impl FnOnce() -> T) -> Option<T> {
    let done = catch_unwind(AssertUnwindSafe(work)).ok();
    if done.is_none() {
        tracing::error!(what, "panicked");
    }
    done
}
