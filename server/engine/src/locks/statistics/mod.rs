//! `LOCK.STATS`: how locks were used, counted from the history.

mod command;
mod percentiles;
mod tally;

pub(super) use command::ROWS;
