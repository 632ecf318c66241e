//! Replicas that lag and take over, and restarts.

use super::{milliseconds, row};
use crate::core::{Call, Engine, GrantNumbers, Handler};
use crate::spec::{Args, Outcome, Row, errors};
use lockwheel_resp::Reply;

/// The rows of this file.
pub(in crate::server_commands) const ROWS: &[Row<Handler>] = &[
    row("fault.failover", -1, failover)
        .about("control", "7.2.0", "O(N), N the keys written since FAULT.LAG and their values")
        .summary("A replica takes over, without what was written since FAULT.LAG.")
        .help(&[
            "FAULT.FAILOVER [TOKENS]",
            "    Keys are as at FAULT.LAG, scripts are forgotten, other connections are cut.",
            "    TOKENS: the numbers of grants begin anew.",
        ])
        .syntax("[TOKENS]")
        .errors(&["ERR syntax error"]),
    row("fault.lag", -1, lag)
        .about("control", "7.2.0", "O(1); then the first write of a key copies its value")
        .summary("From now on writes reach no replica.")
        .help(&["FAULT.LAG [KEY <glob>]", "    Writes (to matching keys) reach no replica from now on."])
        .syntax("[KEY key-glob]")
        .errors(&["ERR syntax error"]),
    row("fault.restart", -1, restart)
        .about("control", "7.2.0", "O(N), N the clients")
        .summary("Begins as a server does that has kept nothing; clocks and rules stay.")
        .help(&[
            "FAULT.RESTART [DOWN <milliseconds>] [TOKENS]",
            "    Keys, scripts, functions and other connections are gone.",
            "    DOWN: nobody is let in for so long. TOKENS: the numbers of grants begin anew.",
        ])
        .syntax("[DOWN milliseconds] [TOKENS]")
        .errors(&[
            "ERR syntax error",
            "ERR value is not an integer or out of range",
            "ERR value is out of range, must be positive",
        ]),
];

fn lag(engine: &mut Engine, _: Call<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let pattern = match args.len() {
        1 => None,
        3 if args.is(1, "key") => Some(&args[2]),
        _ => return Err(errors::SYNTAX),
    };
    engine.note_steering(args);
    engine.lag(pattern);
    reply.ok();
    Ok(())
}

/// Reads `TOKENS`, or nothing, from argument `at` to the end.
fn numbers(args: Args<'_>, at: usize) -> Result<GrantNumbers, crate::spec::CommandError> {
    match args.len() - at {
        0 => Ok(GrantNumbers::GoOn),
        1 if args.is(at, "tokens") => Ok(GrantNumbers::Restart),
        _ => Err(errors::SYNTAX),
    }
}

fn failover(engine: &mut Engine, call: Call<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let numbers = numbers(args, 1)?;
    engine.note_steering(args);
    engine.fail_over(call, args, numbers);
    reply.ok();
    Ok(())
}

fn restart(engine: &mut Engine, call: Call<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let is_down = args.is(1, "down");
    if is_down && args.len() == 2 {
        return Err(errors::SYNTAX);
    }
    let down_ms = if is_down { milliseconds(args, 2)? } else { 0 };
    let numbers = numbers(args, if is_down { 3 } else { 1 })?;
    engine.note_steering(args);
    engine.restart(call, args, down_ms, numbers);
    reply.ok();
    Ok(())
}
