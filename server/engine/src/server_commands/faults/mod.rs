//! `FAULT.*`: a test injects failures of networks and servers.

mod links;
mod nodes;
mod restarts;
mod rule_texts;
mod rules;

pub(super) use links::ROWS as LINK_ROWS;
pub(super) use nodes::ROWS as NODE_ROWS;
pub(super) use restarts::ROWS as RESTART_ROWS;
pub(super) use rules::{ROWS as RULE_ROWS, no_such_rule, removed_rule};

use crate::core::{FaultHandler, Handler, PartHandler};
use crate::spec::{Flags, Row};

const FLAGS: Flags = Flags::of(&[Flags::CONTROL, Flags::NOSCRIPT, Flags::NO_MULTI, Flags::STALE]);

const fn row(name: &'static str, arity: i32, handler: FaultHandler) -> Row<Handler> {
    Row::new(name, arity, Handler::Part(PartHandler::Faults(handler)))
        .flags(&[FLAGS])
        .categories(&["control"])
}
