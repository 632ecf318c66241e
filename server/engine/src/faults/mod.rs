//! Faults that a test asks for: rules, what they match, what they do, and the random draws between.
//!
//! A rule knows requests as words with a few facts beside them ([`Subject`]); what acts, and how, is told by
//! [`Action`]. Who carries it out lives above.

mod action;
mod condition;
mod draw;
mod group;
mod node_fault;
mod parse;
mod partition;
mod rule;
mod rules;

pub(crate) use action::{ReplyAction, RequestAction, Slices, Substitute};
pub(crate) use condition::{ReplyKind, Script, Subject};
pub(crate) use group::{Client, Group};
pub(crate) use node_fault::{Apart, DataFate, GrantNumbers, NodeFault};
pub(crate) use parse::ADD;
pub use partition::Link;
pub(crate) use partition::Partition;
pub(crate) use rule::{Rule, RuleId};
pub(crate) use rules::{ReplyRule, Rules, Verdict};
