//! Contains panics: they are logged, and the loop goes on.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Does `work`; none if it panicked. What it was working on must still be usable, or be dropped by the caller.
pub(super) fn contained<T>(what: &'static str, work: impl FnOnce() -> T) -> Option<T> {
    let done = catch_unwind(AssertUnwindSafe(work)).ok();
    if done.is_none() {
        tracing::error!(what, "panicked");
    }
    done
}
