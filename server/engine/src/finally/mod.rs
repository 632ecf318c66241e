//! What is put back after work, however that ends.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Runs `act` and then `after`, also when `act` panics; the panic goes on then.
pub(crate) fn finally<S, T>(subject: &mut S, act: impl FnOnce(&mut S) -> T, after: impl FnOnce(&mut S)) -> T {
    let done = catch_unwind(AssertUnwindSafe(|| act(subject)));
    after(subject);
    done.unwrap_or_else(|panic| resume_unwind(panic))
}
