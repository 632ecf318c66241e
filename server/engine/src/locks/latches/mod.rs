//! Latches: a count that others wait for to reach zero, on the layout of Redisson's `RCountDownLatch`.
//!
//! The count is a string, which goes when it reaches zero. How it went, for those who wait, is in `ends`.

mod await_zero;
mod ends;
mod set;

use super::redisson;
use crate::spec::{BlockingHandler, DataHandler, Row};

pub(crate) use ends::LatchEnds;

pub(super) use await_zero::CLASS;

/// The rows of the commands that never wait.
pub(super) const ROWS: &[Row<DataHandler>] = set::ROWS;

/// The row of the one that may wait.
pub(super) const BLOCKING_ROWS: &[Row<BlockingHandler>] = await_zero::ROWS;
