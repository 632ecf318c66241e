//! What a handler comes back with besides its reply: done, or not yet.

use super::error::CommandError;
use super::wait::{OnKeys, Wait};
use lockwheel_resp::Reply;

/// What a handler comes back with that never waits: its whole reply is written.
pub type Outcome = Result<(), CommandError>;

/// What a handler comes back with that may wait for keys.
pub type BlockingOutcome = Result<Flow<OnKeys>, CommandError>;

/// Whether a command that may wait is done; `R` says what is tried again, and when.
#[derive(Debug)]
pub enum Flow<R> {
    /// It has written its whole reply.
    Done,
    /// It has written nothing and changed nothing.
    NotYet(Box<Wait<R>>),
}

/// Which nothing a command answers when it may not wait, or has waited long enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Null {
    /// A null bulk string.
    Bulk,
    /// A null array.
    Array,
    /// The number 0, of a command that counts.
    Zero,
}

impl Null {
    /// Answers so.
    pub(crate) fn write(self, reply: &mut dyn Reply) {
        match self {
            Null::Bulk => reply.null(),
            Null::Array => reply.null_array(),
            Null::Zero => reply.integer(0),
        }
    }
}
