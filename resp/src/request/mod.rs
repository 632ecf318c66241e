//! Requests: arrays of bulk strings, and inline commands. A server parses them, a client writes them.

mod batch;
mod inline;
mod parser;
mod writer;

pub use batch::Batch;
pub use inline::split_words;
pub use parser::{ProtocolError, RequestLimits, RequestParser};
pub use writer::{max_request_len, write_arguments, write_request};
