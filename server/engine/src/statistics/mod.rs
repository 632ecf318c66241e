//! The figures of INFO: counters, and the process around the engine.

mod key_calls;
mod process;
mod stats;

pub(crate) use process::Identity;
pub use process::{AllocatorUsage, Process, Usage};
pub(crate) use stats::Stats;
