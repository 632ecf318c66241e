//! The Redis protocol, without I/O: a flat, resumable parser of requests and a writer of replies.
//!
//! It knows bytes and nothing else: no socket, no clock, no command. Replies go into the [`Reply`] sink, which is
//! the wire ([`Writer`], RESP2 or RESP3) or, in the scripting crate, the stack of the Lua interpreter; a command
//! writes the same calls to either.

#![forbid(unsafe_code)]

mod batch;
mod inline;
pub mod number;
mod parser;
mod reply;
mod writer;

pub use batch::Batch;
pub use inline::split_words;
pub use parser::{Limits, MAX_LINE, Parser, ProtocolError};
pub use reply::{Protocol, Reply};
pub use writer::Writer;
