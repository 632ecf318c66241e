//! Faults that a test injects: rules with their conditions, actions and random draws. [`Faults`] holds the parts, each
//! of which owns its state. A change is a [`FaultStep`], whose effects the engine applies. To a rule, a request is a
//! list of arguments with a few facts.

mod action;
mod causes;
mod changed_arguments;
mod condition;
mod connections;
mod control;
mod draw;
mod group;
mod held;
mod judge;
mod node_fault;
mod outage;
mod parse;
mod partition;
mod reply_fate;
mod restart;
mod rule;
mod rules;
mod state;
mod step;
mod subject;

pub(crate) use action::RequestAction;
pub(crate) use changed_arguments::ChangedArguments;
pub(crate) use connections::{MAX_PARTITIONS, TOO_MANY_PARTITIONS};
pub(crate) use control::{FaultControl, FaultOutcome, FaultRequest};
pub(crate) use group::Group;
pub(crate) use held::{HeldPart, HeldTraffic};
pub(crate) use judge::RuleJudge;
pub(crate) use node_fault::{Apart, DataFate, GrantNumbers, NodeFault};
pub(crate) use parse::ADD;
pub use partition::Link;
pub(crate) use partition::Partition;
pub(crate) use reply_fate::ReplyFate;
pub(crate) use restart::{RestartPlanner, RestartStep};
pub(crate) use rule::{Rule, RuleId};
pub(crate) use rules::{ReplyRule, RuleActions, Rules};
pub(crate) use state::Faults;
pub(crate) use step::{FaultEffect, FaultStep};
