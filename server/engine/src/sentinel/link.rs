//! The two connections to a watched server, in the sentinel's view.

use super::effect::InstanceLinkId;
use lockwheel_resp::{ReplyLimits, ReplyStream, Value};
use std::collections::VecDeque;

/// The longest reply, in bytes, and its deepest nesting. INFO is far shorter.
pub(super) const LIMITS: ReplyLimits = ReplyLimits { max_len: 1 << 20, max_depth: 8 };

/// The command to which a reply is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExpectedReply {
    /// A command whose reply is ignored.
    Nothing,
    /// PING.
    Ping,
    /// INFO.
    Info,
    /// PUBLISH.
    Publish,
    /// SENTINEL IS-MASTER-DOWN-BY-ADDR.
    IsDown,
}

/// A reply, with the parts that a sentinel reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SentinelReply {
    Text(Vec<u8>),
    Error(Vec<u8>),
    Bulk(Vec<u8>),
    Integer(i64),
    Array(Vec<SentinelReply>),
    Other,
}

impl SentinelReply {
    pub(super) fn of(value: Value<'_>) -> Self {
        match value {
            Value::Simple(text) => SentinelReply::Text(text.to_vec()),
            Value::Error(text) | Value::BlobError(text) => SentinelReply::Error(text.to_vec()),
            Value::Bulk(text) | Value::Verbatim(_, text) => SentinelReply::Bulk(text.to_vec()),
            Value::Integer(number) => SentinelReply::Integer(number),
            Value::Array(elements) | Value::Push(elements) => {
                SentinelReply::Array(elements.map(SentinelReply::of).collect())
            }
            _ => SentinelReply::Other,
        }
    }
}

#[derive(Debug)]
pub(super) struct Connection {
    pub(super) id: InstanceLinkId,
    /// The instant at which the connection was requested.
    pub(super) since: i64,
    pub(super) expected: VecDeque<ExpectedReply>,
    pub(super) incoming: ReplyStream,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Channel {
    Commands,
    Messages,
}

/// Both connections to a server. The connection to another sentinel is only for commands.
#[derive(Debug)]
pub(super) struct InstanceLink {
    pub(super) commands: Option<Connection>,
    pub(super) messages: Option<Connection>,
    /// Whether a connection is missing.
    pub(super) disconnected: bool,
    pub(super) last_reconnect: i64,
    pub(super) last_message: i64,
    /// The instant of the PING that has no answer yet. 0: none.
    pub(super) pending_ping: i64,
    pub(super) last_ping: i64,
    /// The instant of the last good answer to a PING.
    pub(super) last_available: i64,
    /// The instant of the last answer to a PING.
    pub(super) last_pong: i64,
    pub(super) local_ip: Option<Box<str>>,
}

impl InstanceLink {
    pub(super) fn new(now: i64) -> Self {
        InstanceLink {
            commands: None,
            messages: None,
            disconnected: true,
            last_reconnect: 0,
            last_message: 0,
            // Counts as a sent PING, so that a server that never answers is down after the usual time.
            pending_ping: now,
            last_ping: 0,
            last_available: now,
            last_pong: now,
            local_ip: None,
        }
    }

    /// The number of commands without an answer yet.
    pub(super) fn pending(&self) -> usize {
        self.commands.as_ref().map_or(0, |connection| connection.expected.len())
    }

    pub(super) fn connection(&mut self, channel: Channel) -> &mut Option<Connection> {
        match channel {
            Channel::Commands => &mut self.commands,
            Channel::Messages => &mut self.messages,
        }
    }
}
