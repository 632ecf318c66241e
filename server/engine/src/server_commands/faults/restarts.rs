//! Replicas that lag and take over, and restarts.

use super::{milliseconds, row, together_row};
use crate::core::{Call, Engine, Handler, Retry};
use crate::faults::{GrantNumbers, NodeFault};
use crate::member::{ALONE, NO_SUCH_SERVER};
use crate::spec::{Args, CommandError, Flow, Outcome, Row, errors, kept_pattern};
use lockwheel_resp::Reply;

/// What lags in a topology is a link, which carries all keys.
const NO_KEYS: CommandError = CommandError::text(NO_KEYS_ERROR);
const NO_KEYS_ERROR: &str = "ERR in a topology all keys lag, or none: FAULT.LAG takes no KEY here";

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
        .syntax("[server] [TOKENS]")
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
        .syntax("[(KEY key-glob | milliseconds)]")
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
        .syntax("[DOWN milliseconds] [KEEP] [TOKENS]")
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
    let pattern = match args.len() {
        1 | 2 if engine.member().is_joined() || args.len() == 2 => {
            let ms = match args.get(1) {
                None => None,
                // A word that is no number may be meant for KEY.
                Some(word) if word.first().is_some_and(|first| first.is_ascii_digit() || *first == b'-') => {
                    Some(milliseconds(args, 1)?)
                }
                Some(_) => return Err(errors::SYNTAX),
            };
            return engine.broadcast_fault(call, args, NodeFault::Lag { ms });
        }
        1 => None,
        3 if args.is(1, "key") && engine.member().is_joined() => return Err(NO_KEYS),
        3 if args.is(1, "key") => Some(kept_pattern(&args[2])?),
        _ => return Err(errors::SYNTAX),
    };
    engine.note_steering(args);
    engine.lag(pattern);
    reply.ok();
    Ok(Flow::Done)
}

/// Reads `TOKENS`, or nothing, from argument `at` to the end.
fn numbers(args: Args<'_>, at: usize) -> Result<GrantNumbers, CommandError> {
    match args.len() - at {
        0 => Ok(GrantNumbers::GoOn),
        1 if args.is(at, "tokens") => Ok(GrantNumbers::Restart),
        _ => Err(errors::SYNTAX),
    }
}

fn failover(
    engine: &mut Engine,
    call: Call<'_>,
    args: Args<'_>,
    reply: &mut dyn Reply,
) -> Result<Flow<Retry>, CommandError> {
    let names_one = args.len() > 1 && !args.is(1, "tokens");
    let numbers = numbers(args, if names_one { 2 } else { 1 })?;
    if engine.member().is_joined() || names_one {
        let node = if names_one { Some(engine.member().find(&args[1])?) } else { None };
        return engine.broadcast_fault(call, args, NodeFault::FailOver { node, numbers });
    }
    engine.note_steering(args);
    engine.fail_over(call, args, numbers);
    reply.ok();
    Ok(Flow::Done)
}

fn restart(engine: &mut Engine, call: Call<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let is_down = args.is(1, "down");
    if is_down && args.len() == 2 {
        return Err(errors::SYNTAX);
    }
    let down_ms = if is_down { milliseconds(args, 2)? } else { 0 };
    let at = if is_down { 3 } else { 1 };
    let keeps = args.is(at, "keep");
    let numbers = numbers(args, at + usize::from(keeps))?;
    engine.note_steering(args);
    if keeps {
        engine.interrupt(call, down_ms, numbers);
    } else {
        engine.restart(call, args, down_ms, numbers);
    }
    reply.ok();
    Ok(())
}
