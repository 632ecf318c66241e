//! The load: connections that send batches of requests, check every reply and record the time of each batch.
//!
//! One thread and one epoll loop drive all connections of a generator. The generator therefore costs little beside the
//! kernel's work for it. Each connection has one batch in progress at a time.

mod check;
mod connection;
mod generator;
mod keys;
mod template;
mod threads;

pub use check::Expect;
pub use generator::{Generator, Limit, Outcome, Plan};
pub use keys::{Chooser, Order, Rng};
pub use template::{Arg, Template};
pub use threads::Load;

use crate::error::Result;

/// One request of a workload, and its right replies.
#[derive(Clone, Debug)]
pub struct Step {
    /// The request.
    pub request: Template,
    /// The right replies.
    pub expect: Expect,
}

impl Step {
    /// Creates a step from the arguments of its request.
    ///
    /// # Errors
    /// Returns an error if a placeholder asks for an impossible number of digits.
    pub fn new(args: &[Arg<'_>], expect: Expect) -> Result<Step> {
        Ok(Step { request: Template::request(args)?, expect })
    }

    /// Fills in the number of a connection.
    fn for_connection(&self, connection: u64) -> Step {
        let expect = match &self.expect {
            Expect::Exact(template) => Expect::Exact(template.for_connection(connection)),
            other => other.clone(),
        };
        Step { request: self.request.for_connection(connection), expect }
    }
}
