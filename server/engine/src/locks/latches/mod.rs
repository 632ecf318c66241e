//! Latches: clients wait until a count reaches zero. The layout is that of Redisson's `RCountDownLatch`.
//!
//! The count is a string, which is deleted when it reaches zero. `ends` keeps how it ended, for the waiters.

mod await_zero;
mod ends;
mod set;

use super::redisson;
use crate::spec::{BlockingHandler, DataHandler, Row};

pub(crate) use ends::LatchEnds;

pub(super) use await_zero::CLASS;

/// The rows of the commands that never wait.
pub(super) const ROWS: &[Row<DataHandler>] = set::ROWS;

/// The row of the command that may wait.
pub(super) const BLOCKING_ROWS: &[Row<BlockingHandler>] = await_zero::ROWS;
