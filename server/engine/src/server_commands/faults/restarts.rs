//! Replicas that lag and take over, and restarts.

use super::{row, together_row};
use crate::core::{Call, Engine, Handler, Retry};
use crate::faults::{GrantNumbers, NodeFault};
use crate::member::{ALONE, NO_SUCH_SERVER};
use crate::spec::{
    Args, CommandError, CommandGrammar, Flow, Outcome, ParsedArgs, Row, Symbol, grammar, kept_pattern,
    symbols,
};
use lockwheel_resp::Reply;

/// What lags in a topology is a link, which carries all keys.
const NO_KEYS: CommandError = CommandError::text(NO_KEYS_ERROR);
const NO_KEYS_ERROR: &str = "ERR in a topology all keys lag, or none: FAULT.LAG takes no KEY here";

const FAILOVER: &CommandGrammar = grammar!("[server] [TOKENS]");
const SERVER: Symbol = FAILOVER.symbol("server");
const FAILOVER_TOKENS: Symbol = FAILOVER.symbol("TOKENS");
const LAG: &CommandGrammar = grammar!("[(KEY key-glob | milliseconds:0..)]");
const MILLISECONDS: Symbol = LAG.symbol("milliseconds");
const RESTART: &CommandGrammar = grammar!("[DOWN milliseconds:0..] [KEEP] [TOKENS]");

symbols!(LAG: KEY);
symbols!(RESTART: DOWN, KEEP, TOKENS);

/// The rows of this file.
pub(in crate::server_commands) const ROWS: &[Row<Handler>] = &[
    together_row("fault.failover", -1, failover)
        .about("control", "7.2.0", "O(N), N the keys written since FAULT.LAG and their values")
        .summary("A replica takes over, without what was written since FAULT.LAG.")
        .help(&[
            "FAULT.FAILOVER [TOKENS]",
            "    Keys are as at FAULT.LAG, scripts are forgotten, other connections are cut.",
            "    TOKENS: the numbers of grants begin anew.",
            "FAULT.FAILOVER [<server>] [TOKENS]",
            "    Of several servers in one process: a replica becomes the master with what it has; clients of",
            "    the old one are cut, and it follows.",
        ])
        .grammar(FAILOVER)
        .errors(&[
            "ERR syntax error: *",
            ALONE,
            NO_SUCH_SERVER,
            "ERR that server is no replica of a server in this topology",
            "ERR no replica in this topology can take over",
        ]),
    together_row("fault.lag", -1, lag)
        .about("control", "7.2.0", "O(1); then the first write of a key copies its value")
        .summary("From now on writes reach no replica.")
        .help(&[
            "FAULT.LAG [KEY <glob>]",
            "    Writes (to matching keys) reach no replica from now on.",
            "FAULT.LAG <milliseconds>",
            "    Of several servers in one process: replicas are told everything so much later.",
        ])
        .grammar(LAG)
        .errors(&[
            "ERR syntax error: *",
            NO_KEYS_ERROR,
            "ERR the pattern is longer than 4096 bytes",
            ALONE,
            "ERR value is not an integer or out of range: *",
            "ERR value is out of range, must be positive: *",
        ]),
    row("fault.restart", -1, restart)
        .about("control", "7.2.0", "O(N), N the clients")
        .summary("Begins as a server does that has kept nothing; clocks and rules stay.")
        .help(&[
            "FAULT.RESTART [DOWN <milliseconds>] [KEEP] [TOKENS]",
            "    Keys, scripts, functions and other connections are gone; with KEEP the connections alone.",
            "    DOWN: connections are refused for so long. TOKENS: the numbers of grants begin anew.",
        ])
        .grammar(RESTART)
        .errors(&[
            "ERR syntax error: *",
            "ERR value is not an integer or out of range: *",
            "ERR value is out of range, must be positive: *",
        ]),
];

fn lag(
    engine: &mut Engine,
    call: Call<'_>,
    args: Args<'_>,
    reply: &mut dyn Reply,
) -> Result<Flow<Retry>, CommandError> {
    let parsed: ParsedArgs<'_> = LAG.parse(args)?;
    let (ms, pattern) = (parsed.number(MILLISECONDS)?, parsed.value(KEY));
    if pattern.is_some() && engine.member().is_joined() {
        return Err(NO_KEYS);
    }
    if ms.is_some() || engine.member().is_joined() {
        return engine.broadcast_fault(call, args, NodeFault::Lag { ms });
    }
    let pattern = pattern.map(kept_pattern).transpose()?;
    engine.note_steering(args);
    engine.lag(pattern);
    reply.ok();
    Ok(Flow::Done)
}

/// What `TOKENS`, or nothing, does to the numbers of grants.
fn numbers(begin_anew: bool) -> GrantNumbers {
    if begin_anew { GrantNumbers::Restart } else { GrantNumbers::GoOn }
}

fn failover(
    engine: &mut Engine,
    call: Call<'_>,
    args: Args<'_>,
    reply: &mut dyn Reply,
) -> Result<Flow<Retry>, CommandError> {
    let parsed: ParsedArgs<'_> = FAILOVER.parse(args)?;
    let numbers = numbers(parsed.has(FAILOVER_TOKENS));
    let server = parsed.value(SERVER);
    if engine.member().is_joined() || server.is_some() {
        let node = server.map(|server| engine.member().find(server)).transpose()?;
        return engine.broadcast_fault(call, args, NodeFault::FailOver { node, numbers });
    }
    engine.note_steering(args);
    engine.fail_over(call, args, numbers);
    reply.ok();
    Ok(Flow::Done)
}

fn restart(engine: &mut Engine, call: Call<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let parsed: ParsedArgs<'_> = RESTART.parse(args)?;
    let down_ms = parsed.number(DOWN)?.unwrap_or(0);
    let numbers = numbers(parsed.has(TOKENS));
    engine.note_steering(args);
    if parsed.has(KEEP) {
        engine.interrupt(call, down_ms, numbers);
    } else {
        engine.restart(call, args, down_ms, numbers);
    }
    reply.ok();
    Ok(())
}
