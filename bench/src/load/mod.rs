//! The load: connections that send batches of requests, check every reply and note how long each batch took.
//!
//! One thread and one epoll loop drive all connections of a generator, so that it costs little beside what the kernel
//! takes for it. Each connection has one batch under way at a time.

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

/// One request of a workload and the replies that are right.
#[derive(Clone, Debug)]
pub struct Step {
    /// What is sent.
    pub request: Template,
    /// What may come.
    pub expect: Expect,
}

impl Step {
    /// A request of these arguments.
    ///
    /// # Errors
    /// When a placeholder asks for an impossible number of digits.
    pub fn new(args: &[Arg<'_>], expect: Expect) -> Result<Step> {
        Ok(Step { request: Template::request(args)?, expect })
    }

    /// The same with a connection's number filled in.
    fn for_connection(&self, connection: u64) -> Step {
        let expect = match &self.expect {
            Expect::Exact(template) => Expect::Exact(template.for_connection(connection)),
            other => other.clone(),
        };
        Step { request: self.request.for_connection(connection), expect }
    }
}
