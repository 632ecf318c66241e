//! Rate limiters: so many permits in any interval, on the layout of Redisson's `RRateLimiter`.
//!
//! A hash says the rate. Beside it stand what is left, and a sorted set of what was given out, by when: for all clients
//! together, or for each of them.

mod acquire;
mod limiter;
mod set;
mod window;

use crate::spec::{BlockingHandler, DataHandler, Row};

pub(super) use acquire::CLASS;

/// The rows of the commands that never wait.
pub(super) const ROWS: &[Row<DataHandler>] = set::ROWS;

/// The row of the one that may wait.
pub(super) const BLOCKING_ROWS: &[Row<BlockingHandler>] = acquire::ROWS;
