//! The result of a handler besides its reply: done, or not yet.

use super::error::CommandError;
use super::wait::{OnKeys, Wait};

/// The result of a handler that never waits: its whole reply is written.
pub type Outcome = Result<(), CommandError>;

/// The result of a handler that may wait for keys.
pub type BlockingOutcome = Result<Flow<OnKeys>, CommandError>;

/// Whether a command that may wait is done; `R` says what is retried, and when.
#[derive(Debug)]
pub enum Flow<R> {
    /// It has written its whole reply.
    Done,
    /// It has written nothing and changed nothing.
    NotYet(Box<Wait<R>>),
}

impl<R> From<Wait<R>> for Flow<R> {
    fn from(wait: Wait<R>) -> Self {
        Flow::NotYet(Box::new(wait))
    }
}
