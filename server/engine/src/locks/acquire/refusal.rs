//! What a request is answered that gets nothing, and does not wait.

use crate::spec::{Answer, CommandError};
use lockwheel_resp::{Protocol, Reply};
use lockwheel_store::keyspace::{CalledBy, Tx};

const NO_PUSHES: CommandError =
    CommandError::text("ERR ASYNC tells of the grant by a push, for which HELLO 3 is needed");

/// Whether the request comes from a client itself: in scripts and transactions nothing waits.
pub(in crate::locks) fn may_wait(tx: &Tx<'_>) -> bool {
    matches!(tx.called_by(), CalledBy::Client)
}

/// Checks that a client can be told by a push what it asks to be told so.
pub(in crate::locks) fn check_pushes(tx: &Tx<'_>, protocol: Protocol) -> Result<(), CommandError> {
    let from_script = matches!(tx.called_by(), CalledBy::Script(_));
    if protocol != Protocol::Resp3 && !from_script { Err(NO_PUSHES) } else { Ok(()) }
}

/// Answers a request that does not wait, and got nothing.
pub(super) fn refuse(answer: Option<Answer>, reply: &mut dyn Reply) {
    match answer {
        Some(write) => write(reply),
        None => reply.null(),
    }
}
