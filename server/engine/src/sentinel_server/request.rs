//! Requests that a command on a sentinel ends with.

use crate::sentinel::{Sentinel, Verdict};
use crate::spec::{Args, CommandError};
use lockwheel_resp::Reply;

/// The handler of a command that sees what a sentinel knows.
pub(crate) type SentinelHandler = fn(&mut Sentinel, Args<'_>, &mut dyn Reply) -> SentinelOutcome;
/// The end of a command on a sentinel.
pub(crate) type SentinelOutcome = Result<SentinelRequest, CommandError>;

/// The effect that a command on a sentinel asks for. All but the first are answered when what the sentinel wants has
/// been done.
#[derive(Debug)]
pub(crate) enum SentinelRequest {
    /// Nothing; the reply is written.
    Answered,
    /// Nothing; the reply is OK.
    Done,
    /// The change is written into the file before the reply, which is OK.
    Saved,
    /// The same of the address that the sentinel announces, which other servers of the process hear of.
    Announced,
    /// The file is written; the reply is OK.
    Flush,
    /// The reply is a number.
    Count(i64),
    /// The reply says whether a master is down, and which sentinel is to lead.
    Verdict(Verdict),
}
