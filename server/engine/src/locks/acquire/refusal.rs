//! The replies to a request that gets no lock and does not wait.

use crate::spec::{Answer, CommandError};
use lockwheel_resp::{Protocol, Reply};
use lockwheel_store::keyspace::{CalledBy, Tx};

const NO_PUSHES: CommandError =
    CommandError::text("ERR ASYNC reports the grant by a push message, which needs RESP3: send HELLO 3");

/// Whether the request comes from a client itself. Requests in scripts and transactions never wait.
pub(in crate::locks) fn may_wait(tx: &Tx<'_>) -> bool {
    matches!(tx.called_by(), CalledBy::Client)
}

/// Checks that the client can receive the push that it asks for.
pub(in crate::locks) fn check_pushes(tx: &Tx<'_>, protocol: Protocol) -> Result<(), CommandError> {
    let from_script = matches!(tx.called_by(), CalledBy::Script(_));
    if protocol != Protocol::Resp3 && !from_script { Err(NO_PUSHES) } else { Ok(()) }
}

/// Answers a request that does not wait and got no lock.
pub(super) fn refuse(answer: Option<Answer>, reply: &mut dyn Reply) {
    match answer {
        Some(write) => write(reply),
        None => reply.null(),
    }
}
