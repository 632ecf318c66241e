//! Waits for the rules of `FAULT.ADD`.

use super::options::{Known, number};
use super::{row, until};
use crate::core::{Call, Engine, EngineAttempt, Handler, Retry};
use crate::server_commands::faults::no_such_rule;
use crate::spec::{Args, CommandError, Flow, Row};
use lockwheel_resp::Reply;

/// The rows of this file.
pub(super) const ROWS: &[Row<Handler>] = &[
    row("await.fault", -3, fault)
        .about("control", "7.2.0", "O(N), N the rules")
        .summary("Waits until a rule has acted so many times.")
        .errors(RULE_ERRORS)
        .help(&[
            "AWAIT.FAULT <name> <count> [LIMIT <milliseconds>]",
            "    Wait until the rule of this name has acted so many times.",
        ])
        .syntax("name count [LIMIT milliseconds]"),
    row("await.held", -3, held)
        .about("control", "7.2.0", "O(N), N the rules")
        .summary("Waits until a rule holds so many requests or replies.")
        .errors(RULE_ERRORS)
        .help(&[
            "AWAIT.HELD <name> <count> [LIMIT <milliseconds>]",
            "    Wait until the rule of this name holds so many requests or replies.",
        ])
        .syntax("name count [LIMIT milliseconds]"),
];

const RULE_ERRORS: &[&str] = &[
    "ERR syntax error: *",
    "ERR value is out of range, must be positive",
    "ERR value is not an integer or out of range",
    "ERR there is no rule 'name'",
];

/// What is asked of a rule.
#[derive(Debug)]
enum Asked {
    /// How often it has acted.
    Hits,
    /// What it holds.
    Held,
}

/// A rule has acted so many times, or holds so many. A rule that is removed meanwhile ends the wait with an error: one
/// that is added later by this name counts anew.
#[derive(Debug)]
struct OfRule {
    name: Box<[u8]>,
    asked: Asked,
    number: u64,
}

impl EngineAttempt for OfRule {
    fn attempt(&self, engine: &Engine, reply: &mut dyn Reply) -> bool {
        let Some(rule) = engine.faults.rules.find(&self.name) else {
            reply.error(no_such_rule(&self.name).as_bytes());
            return true;
        };
        let count = match self.asked {
            Asked::Hits => rule.counts.hits,
            Asked::Held => engine.held_by(rule.id) as u64,
        };
        let is_reached = count >= self.number;
        if is_reached {
            reply.integer(1);
        }
        is_reached
    }
}

fn until_asked(
    engine: &Engine,
    args: Args<'_>,
    asked: Asked,
    reply: &mut dyn Reply,
) -> Result<Flow<Retry>, CommandError> {
    let state = OfRule { name: args[1].into(), asked, number: number(args, 2)? };
    let limit_ms = Known::default().parse(args, 3)?.limit_ms;
    if engine.faults.rules.find(&args[1]).is_none() {
        return Err(no_such_rule(&args[1]));
    }
    until(engine, state, limit_ms, reply)
}

fn fault(
    engine: &mut Engine,
    _: Call<'_>,
    args: Args<'_>,
    reply: &mut dyn Reply,
) -> Result<Flow<Retry>, CommandError> {
    until_asked(engine, args, Asked::Hits, reply)
}

fn held(
    engine: &mut Engine,
    _: Call<'_>,
    args: Args<'_>,
    reply: &mut dyn Reply,
) -> Result<Flow<Retry>, CommandError> {
    until_asked(engine, args, Asked::Held, reply)
}
