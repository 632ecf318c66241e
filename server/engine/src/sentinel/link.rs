//! The two connections to a watched server, as far as the sentinel knows them.

use super::effect::LinkId;
use lockwheel_resp::{ReplyLimits, ReplyStream, Value};
use std::collections::VecDeque;

/// The longest reply, in bytes, and how deep it may nest: INFO is far shorter.
pub(super) const LIMITS: ReplyLimits = ReplyLimits { max_len: 1 << 20, max_depth: 8 };

/// What is done with a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    /// Nothing.
    Nothing,
    /// It is that of PING.
    Ping,
    /// It is that of INFO.
    Info,
    /// It is that of PUBLISH.
    Publish,
    /// It is that of SENTINEL IS-MASTER-DOWN-BY-ADDR.
    IsDown,
}

/// A reply, as far as a sentinel looks at it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Text(Vec<u8>),
    Error(Vec<u8>),
    Bulk(Vec<u8>),
    Integer(i64),
    Array(Vec<Answer>),
    Other,
}

impl Answer {
    pub(super) fn of(value: Value<'_>) -> Self {
        match value {
            Value::Simple(text) => Answer::Text(text.to_vec()),
            Value::Error(text) | Value::BlobError(text) => Answer::Error(text.to_vec()),
            Value::Bulk(text) | Value::Verbatim(_, text) => Answer::Bulk(text.to_vec()),
            Value::Integer(number) => Answer::Integer(number),
            Value::Array(elements) | Value::Push(elements) => {
                Answer::Array(elements.map(Answer::of).collect())
            }
            _ => Answer::Other,
        }
    }
}

/// A connection.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) id: LinkId,
    /// When it was wanted.
    pub(super) since: i64,
    pub(super) expected: VecDeque<Expected>,
    pub(super) incoming: ReplyStream,
}

/// Which of the two connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Channel {
    Commands,
    Messages,
}

/// Both connections to a server. Another sentinel has none for messages.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) commands: Option<Connection>,
    pub(super) messages: Option<Connection>,
    /// Whether one of them is missing.
    pub(super) disconnected: bool,
    pub(super) last_reconnect: i64,
    /// When something came over the one for messages.
    pub(super) last_message: i64,
    /// When the PING was sent that has no answer yet; 0: there is none.
    pub(super) pending_ping: i64,
    pub(super) last_ping: i64,
    /// When the last good answer to a PING came.
    pub(super) last_available: i64,
    /// When the last answer to a PING came.
    pub(super) last_pong: i64,
    /// The address at this end of the connection for commands.
    pub(super) local_ip: Option<Box<str>>,
}

impl Link {
    pub(super) fn new(now: i64) -> Self {
        Link {
            commands: None,
            messages: None,
            disconnected: true,
            last_reconnect: 0,
            last_message: 0,
            // As if it had been pinged: a server that never answers is down after its time.
            pending_ping: now,
            last_ping: 0,
            last_available: now,
            last_pong: now,
            local_ip: None,
        }
    }

    /// How many commands have no answer yet.
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
