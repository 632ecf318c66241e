//! The rules of waits that a test sets: data and matching, no sockets.

mod await_key;
mod limit;

pub(crate) use limit::Limit;

use crate::spec::{BlockingHandler, Row};

/// The rows of this room, a slice a file.
pub(crate) const ROWS: &[&[Row<BlockingHandler>]] = &[await_key::ROWS];
