//! Rate limiters: a number of permits in any interval, on the layout of Redisson's `RRateLimiter`.
//!
//! A hash holds the rate. Two further keys hold the permits that are left, and a sorted set of the permits that were
//! given out, by time. They exist once for all clients together, or once for each client.

mod acquire;
mod limiter;
mod set;
mod window;

use crate::spec::{BlockingHandler, DataHandler, Row};

pub(super) use acquire::CLASS;

pub(super) const ROWS: &[Row<DataHandler>] = set::ROWS;

pub(super) const BLOCKING_ROWS: &[Row<BlockingHandler>] = acquire::ROWS;
