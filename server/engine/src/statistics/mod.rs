//! The figures of INFO: counters, and the process around the engine.

mod histogram;
mod key_calls;
mod process;
mod rates;
mod stats;

pub(crate) use histogram::DurationHistogram;
pub(crate) use process::Identity;
pub use process::{Allocator, AllocatorUsage, Process, ProcessorTime, Traffic, Usage};
pub(crate) use rates::{Rates, Totals};
pub use stats::ConnectionEvent;
pub(crate) use stats::Stats;
