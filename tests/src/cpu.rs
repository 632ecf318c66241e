//! The processor time of a thread, in which a simulated server runs.

use std::fs;
use std::time::Duration;

/// Returns the processor time that this thread has used. On Linux only.
///
/// # Panics
/// Panics if the system does not tell.
pub fn of_thread() -> Duration {
    let told = fs::read_to_string("/proc/thread-self/schedstat").expect("this is Linux");
    Duration::from_nanos(told.split(' ').next().and_then(|ns| ns.parse().ok()).expect("nanoseconds"))
}

/// Returns the processor time that this thread uses for `run`.
///
/// # Panics
/// Panics if the system does not tell.
pub fn of(run: impl FnOnce()) -> Duration {
    let began = of_thread();
    run();
    of_thread() - began
}
