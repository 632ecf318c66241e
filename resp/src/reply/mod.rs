//! Replies, in RESP2 and RESP3. A server writes them, a client parses them.

mod error;
mod parser;
mod replies;
mod sink;
mod stream;
mod writer;

pub use error::InvalidReply;
pub use parser::{ReplyLimits, ReplyParser};
pub use replies::{Elements, Replies, Value};
pub use sink::{Protocol, Reply};
pub use stream::ReplyStream;
pub use writer::Writer;
