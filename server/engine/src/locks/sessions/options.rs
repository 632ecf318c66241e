//! The options by which a command asks for a session's lease.

use crate::spec::{CommandError, ParsedArgs, Symbol};

/// The shortest lease, in milliseconds. Renewals cost work, and a shorter lease would run out before it is renewed.
const MIN_LEASE_MS: i64 = 100;

/// Returns the shortest lease in milliseconds, with or without a session.
pub(in crate::locks) fn least_ms(is_session: bool) -> i64 {
    if is_session { MIN_LEASE_MS } else { 1 }
}

pub(in crate::locks) fn lease_ms(ms: i64) -> Result<i64, CommandError> {
    let too_short =
        || format!("ERR the lease of a session must be at least {MIN_LEASE_MS} milliseconds, not {ms}");
    if ms < MIN_LEASE_MS { Err(CommandError::new(too_short())) } else { Ok(ms) }
}

const PING_TOO_SHORT: CommandError = CommandError::text("ERR invalid PING interval");

/// Returns the longest silence of a client that keeps its session: `PING milliseconds`, if given.
pub(in crate::locks) fn ping_ms(args: &ParsedArgs<'_>, ping: Symbol) -> Result<Option<i64>, CommandError> {
    args.integer_or(ping, PING_TOO_SHORT)
}
