//! The result of a handler besides its reply: done, or not yet.

use super::error::CommandError;
use super::wait::{OnKeys, Wait};

/// The result of a handler that never waits: its whole reply is written.
pub type Outcome = Result<(), CommandError>;

/// The result of a handler that may wait for keys.
pub type BlockingOutcome = Result<Flow<OnKeys>, CommandError>;

/// The state of a command that may wait. `R` describes the retry and its signals.
#[derive(Debug)]
pub enum Flow<R> {
    /// The command has written its whole reply.
    Done,
    /// The command has written nothing and changed nothing.
    NotYet(Box<Wait<R>>),
}

impl<R> From<Wait<R>> for Flow<R> {
    fn from(wait: Wait<R>) -> Self {
        Flow::NotYet(Box::new(wait))
    }
}
