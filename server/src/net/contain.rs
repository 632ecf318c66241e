//! Containment of panics: a panic is logged, and the loop continues.

use lockwheel_resp::allocation::OutOfMemory;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Does `work`; returns `None` if it panicked. The caller keeps only data that are still usable.
pub(super) fn contained<T>(what: &'static str, work: impl FnOnce() -> T) -> Option<T> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(done) => return Some(done),
        Err(panic) => match panic.downcast_ref::<OutOfMemory>() {
            Some(OutOfMemory { bytes }) => {
                tracing::warn!(what, bytes, "ended: out of memory")
            }
            None => tracing::error!(what, "panicked"),
        },
    }
    None
}
