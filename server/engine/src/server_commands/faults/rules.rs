//! Commands on rules, and on the requests and replies that these hold.

use super::{FLAGS, row, rule_texts};
use crate::core::{FaultCaller, Handler};
use crate::faults::{ADD, FaultControl, FaultOutcome, FaultRequest, Rule, Rules};
use crate::spec::{
    Args, CommandError, CommandGrammar, ParsedArgs, Row, Symbol, grammar, symbols, unknown_word,
};
use lockwheel_resp::Reply;

const ADD_ERRORS: &[&str] = &[
    "ERR RESULT needs an action on the reply, such as DROPREPLY",
    "ERR invalid probability: *",
    "ERR a rule must end with DO and an action",
    "ERR invalid SHA-1: *",
    "ERR syntax error: *",
    "ERR too many rules: the maximum is 1000",
    "ERR the rules would take more than 1048576 bytes together",
    "ERR fault rules do not apply to the control command '*'",
    "ERR rule 'name' already exists",
    "ERR unknown command *",
    "ERR value is not an integer or out of range: *",
    "ERR value is out of range, must be positive: *",
];

const EXEMPT: &CommandGrammar = grammar!("[ON | OFF]");
const GO: &CommandGrammar = grammar!("name [COUNT count:1..]");
const SEED: &CommandGrammar = grammar!("seed");
const SEED_NUMBER: Symbol = SEED.symbol("seed");

symbols!(EXEMPT: OFF);
symbols!(GO: COUNT);

pub(in crate::server_commands) const ROWS: &[Row<Handler>] = &[
    row("fault.add", -4, add)
        .about("control", "7.2.0", "O(N), N the rules; then every request is compared with them")
        .summary("Adds a fault rule: its conditions select requests, and its action disturbs them.")
        .reply("OK.")
        .options(rule_texts::OPTIONS)
        .example(&[
            "FAULT.ADD busy ON set KEY order:* TIMES 1 DO ERROR \"LOADING try again\"",
            "SET order:42 me NX PX 8000",
            "SET order:42 me NX PX 8000",
        ])
        .help(&[
            "FAULT.ADD <name> [<condition> ...] [SKIP <n>] [TIMES <n>] [PROB <p>] DO <action>",
            "    Add a rule, which acts on requests that meet all its conditions.",
            "    Conditions: ON <command>, SCRIPT <sha1>, CONTAINS <text>, KEY <glob>, CHANNEL <glob>,",
            "    ARG <index> <value>, CLIENT <id>, CLIENTNAME <glob>, LIB <glob>, RESULT OK|ERROR|NIL.",
            "    Actions on the request: DROPREQUEST, DELAY <ms> [JITTER <ms>], HOLD, ERROR <text>, CLOSE, RESET,",
            "    DUPLICATE, NOSCRIPT, EXPIRE, ARG <index> ADD <n>, TIMESHIFT.",
            "    Actions on the reply: DROPREPLY, DELAYREPLY <ms> [JITTER <ms>], HOLDREPLY,",
            "    REPLY NULL|OK|INT <n>|BULK <text>|RAW <bytes>, SLICE <bytes> [EVERY <ms>],",
            "    BANDWIDTH <kilobytes a second>, CLOSEAFTER, RESETAFTER, TRUNCATE <bytes>. On messages: LOSEPUBLISH.",
        ])
        .grammar(ADD)
        .errors(ADD_ERRORS),
    row("fault.clear", 1, clear)
        .about("control", "7.2.0", "O(N), N the rules")
        .summary("Removes all fault rules, and lets the requests and replies that they hold go on.")
        .reply("An integer: the number of removed rules.")
        .example(&["FAULT.ADD busy ON set DO ERROR \"LOADING try again\"", "FAULT.CLEAR"])
        .help(&[
            "FAULT.CLEAR",
            "    Remove all rules. The requests and replies that they hold go on. Return how many.",
        ]),
    row("fault.del", -2, del)
        .about("control", "7.2.0", "O(N M), N the rules, M the names")
        .summary("Removes fault rules, and lets the requests and replies that they hold go on.")
        .reply("An integer: the number of removed rules.")
        .example(&["FAULT.ADD busy ON set DO ERROR \"LOADING try again\"", "FAULT.DEL busy other"])
        .help(&[
            "FAULT.DEL <name> [<name> ...]",
            "    Remove rules. The requests and replies that they hold go on. Return how many.",
        ])
        .syntax("name [name ...]"),
    row("fault.exempt", -1, exempt)
        .about("control", "7.2.0", "O(log N), N the exempt clients")
        .summary("Sets whether fault rules apply to this client's requests.")
        .reply("OK.")
        .options(&[&[
            ("ON", "Exempts this connection. This is the default."),
            ("OFF", "Ends the exemption."),
        ]])
        .example(&["FAULT.ADD busy ON get DO ERROR \"LOADING try again\"", "GET k", "FAULT.EXEMPT", "GET k"])
        .help(&[
            "FAULT.EXEMPT [ON|OFF]",
            "    Exempt this connection: rules ignore its requests, and partitions and restarts spare it.",
        ])
        .grammar(EXEMPT)
        .errors(&["ERR syntax error: *"]),
    row("fault.go", -2, go)
        .about("control", "7.2.0", "O(N), N what the rule holds")
        .summary("Releases the requests and replies that a fault rule holds.")
        .reply("An integer: the number of released requests and replies.")
        .options(&[&[("COUNT count", "Releases at most so many. Without COUNT, releases all.")]])
        .example(&["FAULT.ADD gate ON set DO HOLD", "FAULT.GO gate", "FAULT.GO other"])
        .help(&[
            "FAULT.GO <name> [COUNT <n>]",
            "    Release what the rule holds, the longest held first. Return how many requests and replies.",
        ])
        .grammar(GO)
        .errors(&[
            "ERR syntax error: *",
            "ERR there is no rule *",
            "ERR value is not an integer or out of range: *",
            "ERR value is out of range, must be positive: *",
        ]),
    Row::help_command("fault.help", 1)
        .flags(&[FLAGS])
        .categories(&["control"])
        .about("control", "7.2.0", "O(1)")
        .summary("Explains the FAULT commands."),
    row("fault.list", 1, list)
        .about("control", "7.2.0", "O(N), N the rules")
        .summary("Lists the fault rules, with how often each has matched and acted.")
        .reply(
            "An array of maps, the oldest rule first: `name`, `rule`; how often it has `matched`, \
             `skipped` and acted (`hits`); how often it can still act (`left`), or null; how many \
             requests and replies it holds (`held`).",
        )
        .example(&["FAULT.ADD busy ON set DO ERROR \"LOADING try again\"", "SET k v", "FAULT.LIST"])
        .help(&[
            "FAULT.LIST",
            "    Return the rules, oldest first, with how often each has matched and acted.",
        ]),
    row("fault.seed", 2, seed)
        .about("control", "7.2.0", "O(N), N the rules")
        .summary("Sets the seed of the random draws for PROB.")
        .reply("OK.")
        .options(&[&[("seed", "The number that decides all later draws.")]])
        .example(&["FAULT.SEED 7"])
        .help(&["FAULT.SEED <n>", "    Restart the random draws of all rules from this seed."])
        .grammar(SEED)
        .errors(&["ERR value is not an integer or out of range: *"]),
];

fn add(
    control: &mut FaultControl<'_>,
    _: FaultCaller<'_>,
    args: Args<'_>,
    reply: &mut dyn Reply,
) -> FaultOutcome {
    control.faults.add_rule(control.commands, args, &mut control.step)?;
    reply.ok();
    Ok(FaultRequest::Done)
}

fn clear(control: &mut FaultControl<'_>, _: FaultCaller<'_>, _: Args<'_>, _: &mut dyn Reply) -> FaultOutcome {
    Ok(FaultRequest::Remove(control.faults.rules.iter().map(|rule| rule.name.clone()).collect()))
}

fn del(_: &mut FaultControl<'_>, _: FaultCaller<'_>, args: Args<'_>, _: &mut dyn Reply) -> FaultOutcome {
    Ok(FaultRequest::Remove(args.from(1).iter().map(|name| Box::from(*name)).collect()))
}

fn exempt(
    control: &mut FaultControl<'_>,
    from: FaultCaller<'_>,
    args: Args<'_>,
    reply: &mut dyn Reply,
) -> FaultOutcome {
    let options: ParsedArgs<'_> = EXEMPT.parse(args)?;
    control.faults.connections.set_exempt(from.client, !options.has(OFF), &mut control.step);
    reply.ok();
    Ok(FaultRequest::Done)
}

#[cold]
pub(in crate::server_commands) fn no_such_rule(rules: &Rules, name: &[u8]) -> CommandError {
    let known = rules.iter().filter_map(|rule| std::str::from_utf8(&rule.name).ok());
    unknown_word("there is no rule", name, "", known)
}

#[cold]
pub(in crate::server_commands) fn removed_rule(name: &[u8]) -> CommandError {
    unknown_word("there is no rule", name, "", [])
}

fn go(control: &mut FaultControl<'_>, _: FaultCaller<'_>, args: Args<'_>, _: &mut dyn Reply) -> FaultOutcome {
    let options: ParsedArgs<'_> = GO.parse(args)?;
    let most = options.number(COUNT)?.and_then(|most| usize::try_from(most).ok()).unwrap_or(usize::MAX);
    let rules = &control.faults.rules;
    let rule = rules.find(&args[1]).ok_or_else(|| no_such_rule(rules, &args[1]))?.id;
    Ok(FaultRequest::LetGo { rule, most })
}

fn list(
    control: &mut FaultControl<'_>,
    _: FaultCaller<'_>,
    _: Args<'_>,
    reply: &mut dyn Reply,
) -> FaultOutcome {
    let rules = control.faults.rules.iter();
    reply.array(rules.len());
    for rule in rules {
        write(rule, control.faults.held.count(rule.id), reply);
    }
    Ok(FaultRequest::Done)
}

fn write(rule: &Rule, held: usize, reply: &mut dyn Reply) {
    reply.map(7);
    for (name, text) in [("name", &rule.name), ("rule", &rule.text)] {
        reply.bulk(name.as_bytes());
        reply.bulk(text);
    }
    let counts = rule.counts;
    let numbers = [("matched", counts.matched), ("skipped", counts.skipped), ("hits", counts.hits)];
    for (name, count) in numbers {
        reply.bulk(name.as_bytes());
        reply.integer(count as i64);
    }
    reply.bulk(b"left");
    match rule.left() {
        Some(left) => reply.integer(left as i64),
        None => reply.null(),
    }
    reply.bulk(b"held");
    reply.integer(held as i64);
}

fn seed(
    control: &mut FaultControl<'_>,
    _: FaultCaller<'_>,
    args: Args<'_>,
    reply: &mut dyn Reply,
) -> FaultOutcome {
    let options: ParsedArgs<'_> = SEED.parse(args)?;
    let seed = options.integer(SEED_NUMBER)?.unwrap_or(0);
    control.faults.rules.set_seed(seed as u64);
    reply.ok();
    Ok(FaultRequest::Done)
}
