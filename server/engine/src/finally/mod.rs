//! Cleanup after work, even if it panics.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Runs `act` and then `after`. If `act` panics, the panic continues after `after`.
pub(crate) fn finally<S, T>(subject: &mut S, act: impl FnOnce(&mut S) -> T, after: impl FnOnce(&mut S)) -> T {
    let done = catch_unwind(AssertUnwindSafe(|| act(subject)));
    after(subject);
    done.unwrap_or_else(|panic| resume_unwind(panic))
}
