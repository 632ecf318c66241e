//! The requests with which commands on a sentinel end.

use crate::sentinel::{MasterDownAnswer, Sentinel};
use crate::spec::{Args, CommandError};
use lockwheel_resp::Reply;

pub(crate) type SentinelHandler = fn(&mut Sentinel, Args<'_>, &mut dyn Reply) -> SentinelOutcome;
/// The end of a command on a sentinel.
pub(crate) type SentinelOutcome = Result<SentinelRequest, CommandError>;

/// The effect that a command on a sentinel asks for, carried out before the reply unless answered already.
#[derive(Debug)]
pub(crate) enum SentinelRequest {
    /// No effect. The reply is already written.
    Answered,
    /// The server ends, and does not reply.
    End,
    /// No effect. The reply is OK.
    Done,
    /// The change is written into the file before the reply, which is OK.
    Saved,
    /// The effect of `Saved`, for a change of the announced address. The other servers of the process are notified too.
    Announced,
    /// The file is written. The reply is OK.
    Flush,
    /// The reply is a number.
    Count(i64),
    /// The reply says whether a master is down, and the sentinel voted for as the leader.
    Verdict(MasterDownAnswer),
}
