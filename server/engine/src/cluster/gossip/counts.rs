//! The numbers of messages of each kind that a node has sent and received, as CLUSTER INFO shows them.

use super::message::Body;

/// The kinds of messages, with the names and in the order of Redis.
const KINDS: [&str; 10] =
    ["ping", "pong", "meet", "fail", "publish", "auth-req", "auth-ack", "update", "mfstart", "publishshard"];

pub(crate) type Tally = [u64; KINDS.len()];

/// The numbers of messages sent and received.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MessageCounts {
    pub(crate) sent: Tally,
    pub(crate) received: Tally,
}

/// Iterates over the kinds that have occurred, with their numbers.
pub(crate) fn by_kind(tally: &Tally) -> impl Iterator<Item = (&'static str, u64)> {
    KINDS.into_iter().zip(*tally).filter(|(_, count)| *count > 0)
}

impl MessageCounts {
    pub(super) fn note_sent(&mut self, body: &Body) {
        self.sent[kind(body)] += 1;
    }

    pub(super) fn note_received(&mut self, body: &Body) {
        self.received[kind(body)] += 1;
    }
}

/// Returns the index of a message's kind in [`KINDS`].
fn kind(body: &Body) -> usize {
    match body {
        Body::Ping(_) => 0,
        Body::Pong(_) => 1,
        Body::Meet(_) => 2,
        Body::Fail(_) => 3,
        Body::Publish { is_shard: false, .. } => 4,
        Body::AskVote => 5,
        Body::Vote => 6,
        Body::Update { .. } => 7,
        Body::StartFailover => 8,
        Body::Publish { is_shard: true, .. } => 9,
    }
}
