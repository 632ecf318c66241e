//! Latches: clients wait until a count reaches zero. The layout is that of Redisson's `RCountDownLatch`: a string that
//! is deleted at zero. `ends` keeps for the waiters how it ended.

mod await_zero;
mod ends;
mod set;

use super::redisson;
use crate::spec::{BlockingHandler, DataHandler, Row};

pub(crate) use ends::LatchEnds;

pub(super) use await_zero::CLASS;

pub(super) const ROWS: &[Row<DataHandler>] = set::ROWS;

pub(super) const BLOCKING_ROWS: &[Row<BlockingHandler>] = await_zero::ROWS;
