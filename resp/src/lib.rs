//! The Redis protocol, without I/O: flat, resumable parsers of requests and of replies, and the writers of both.
//!
//! The crate knows bytes only: no socket, no clock, no command. Replies go into the [`Reply`] sink. The sink is the
//! wire ([`Writer`], RESP2 or RESP3) or, in the scripting crate, the stack of the Lua interpreter. A command makes the
//! same calls to either.

#![forbid(unsafe_code)]

pub mod allocation;
mod line;
pub mod number;
mod reply;
mod request;

pub use line::MAX_LINE;
pub use reply::{
    Elements, InvalidReply, Protocol, Replies, Reply, ReplyLimits, ReplyParser, ReplyStream, Value, Writer,
};
pub use request::{
    Batch, ProtocolError, RequestLimits, RequestParser, max_request_len, split_words, write_arguments,
    write_request,
};
