//! What a request is answered that gets nothing, and does not wait.

use crate::keyspace::{CalledBy, Tx};
use crate::spec::Answer;
use lockwheel_resp::Reply;

/// Whether the request comes from a client itself: in scripts and transactions nothing waits.
pub(super) fn may_wait(tx: &Tx<'_>) -> bool {
    matches!(tx.called_by(), CalledBy::Client)
}

/// Answers a request that does not wait, and got nothing.
pub(super) fn refuse(answer: Option<Answer>, reply: &mut dyn Reply) {
    match answer {
        Some(write) => write(reply),
        None => reply.null(),
    }
}
