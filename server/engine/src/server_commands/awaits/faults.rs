//! Waits for the rules of `FAULT.ADD`.

use super::options::{AwaitOptions, LIMIT_TEXTS, NumberGrammar, REACHED};
use super::row;
use crate::core::Handler;
use crate::faults::RuleId;
use crate::server_commands::faults::{no_such_rule, removed_rule};
use crate::spec::{Args, CommandError, Row, grammar};
use crate::waits::{CountOf, StateAttempt, StateOf, StateView, StateWait};
use lockwheel_resp::Reply;

const COUNT_OF_RULE: NumberGrammar =
    NumberGrammar::of(grammar!("name count:0.. [LIMIT milliseconds:0..]"), "count");

pub(super) const ROWS: &[Row<Handler>] = &[
    row("await.fault", -3, fault)
        .about("control", "7.2.0", "O(N), N the rules")
        .summary("Waits until a fault rule has acted a given number of times.")
        .reply(REACHED)
        .options(&[
            &[("name", "The name of the rule."), ("count", "How often the rule has acted, at least.")],
            LIMIT_TEXTS,
        ])
        .example(&[
            "FAULT.ADD busy ON set TIMES 1 DO ERROR \"LOADING try again\"",
            "SET k v",
            "AWAIT.FAULT busy 1",
        ])
        .errors(RULE_ERRORS)
        .help(&[
            "AWAIT.FAULT <name> <count> [LIMIT <milliseconds>]",
            "    Wait until the rule with this name has acted that many times.",
        ])
        .grammar(COUNT_OF_RULE.grammar),
    row("await.held", -3, held)
        .about("control", "7.2.0", "O(N), N the rules")
        .summary("Waits until a fault rule holds a given number of requests or replies.")
        .reply(REACHED)
        .options(&[
            &[
                ("name", "The name of the rule."),
                ("count", "The requests and replies that the rule holds, at least."),
            ],
            LIMIT_TEXTS,
        ])
        .example(&["FAULT.ADD gate ON set DO HOLD", "AWAIT.HELD gate 1 LIMIT 50"])
        .errors(RULE_ERRORS)
        .help(&[
            "AWAIT.HELD <name> <count> [LIMIT <milliseconds>]",
            "    Wait until the rule with this name holds that many requests or replies.",
        ])
        .grammar(COUNT_OF_RULE.grammar),
];

const RULE_ERRORS: &[&str] = &[
    "ERR syntax error: *",
    "ERR value is out of range, must be positive: *",
    "ERR value is not an integer or out of range: *",
    "ERR there is no rule *",
];

/// The observed figure of a rule.
#[derive(Clone, Copy, Debug)]
enum Asked {
    /// The number of times that the rule has acted.
    Hits,
    /// The number of requests and replies that the rule holds.
    Held,
}

/// A condition on a rule: it has acted, or holds requests and replies, a number of times. If the rule is removed, the
/// wait ends with an error. A later rule with the same name counts from 0.
#[derive(Debug)]
struct OfRule {
    name: Box<[u8]>,
    rule: RuleId,
    asked: Asked,
    number: u64,
}

impl StateAttempt for OfRule {
    fn watches(&self) -> StateOf {
        StateOf::Rules
    }

    fn awaits_count(&self) -> Option<(CountOf, u64)> {
        let of = match self.asked {
            Asked::Hits => CountOf::Hits(self.rule),
            Asked::Held => CountOf::Held(self.rule),
        };
        Some((of, self.number))
    }

    fn attempt(&self, view: StateView<'_>, reply: &mut dyn Reply) -> bool {
        let Some(rule) = view.faults.rules.get(self.rule) else {
            reply.error(removed_rule(&self.name).as_bytes());
            return true;
        };
        let count = match self.asked {
            Asked::Hits => rule.counts.hits,
            Asked::Held => view.faults.held.count(rule.id) as u64,
        };
        let is_reached = count >= self.number;
        if is_reached {
            reply.integer(1);
        }
        is_reached
    }
}

fn until_asked(view: StateView<'_>, args: Args<'_>, asked: Asked) -> Result<StateWait, CommandError> {
    let AwaitOptions { number, limit_ms, .. } = COUNT_OF_RULE.parse(args)?;
    let rules = &view.faults.rules;
    let rule = rules.find(&args[1]).ok_or_else(|| no_such_rule(rules, &args[1]))?.id;
    Ok(StateWait::new(OfRule { name: args[1].into(), rule, asked, number }, limit_ms))
}

fn fault(view: StateView<'_>, _: usize, args: Args<'_>) -> Result<StateWait, CommandError> {
    until_asked(view, args, Asked::Hits)
}

fn held(view: StateView<'_>, _: usize, args: Args<'_>) -> Result<StateWait, CommandError> {
    until_asked(view, args, Asked::Held)
}
