//! `LOCK.STATS`: the use of locks, counted from the history.

mod command;
mod percentiles;
mod tally;

pub(super) use command::ROWS;
