//! Contains panics: they are logged, and the loop goes on.

use lockwheel_resp::allocation::OutOfMemory;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Does `work`; none if it panicked. What it was working on must still be usable, or be dropped by the caller.
pub(super) fn contained<T>(what: &'static str, work: impl FnOnce() -> T) -> Option<T> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(done) => return Some(done),
        Err(panic) => match panic.downcast_ref::<OutOfMemory>() {
            Some(OutOfMemory { bytes }) => {
                tracing::warn!(what, bytes, "ended for lack of memory")
            }
            None => tracing::error!(what, "panicked"),
        },
    }
    None
}
