//! Tests of scripts, run with a host of a few commands.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "tests stop scripts from other threads"
)]
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

mod cache;
mod functions;
mod kill;
mod limits;
mod mock;
mod numerals;
mod observed;
mod replies;
mod sandbox;
