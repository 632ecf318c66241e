//! CLIENT PAUSE and CLIENT UNPAUSE.

use super::client_rows::{ADMIN, row};
use crate::core::{Handler, PartHandler};
use crate::pauses::{PauseKind, Pauses};
use crate::spec::{
    Args, CommandError, Outcome, Row, TimeoutRule, parse_integer_timeout_ms, unknown_or_arity,
};
use lockwheel_resp::Reply;

pub(super) const PAUSE: Row<Handler> = row("pause", -3, Handler::Part(PartHandler::Pauses(pause)))
    .flags(&[ADMIN])
    .about("connection", "2.9.50", "O(1)")
    .summary("Holds the requests of all clients for some time.")
    .history(&[("6.2.0", "`CLIENT PAUSE WRITE` mode added along with the `mode` option.")])
    .help(&[
        "PAUSE <timeout> [WRITE|ALL]",
        "    Suspend all, or just write, clients for <timeout> milliseconds.",
    ])
    .help_after("unpause")
    .syntax("timeout:integer [mode@6.2.0: WRITE | ALL]")
    .errors(&[
        "ERR CLIENT PAUSE mode must be WRITE or ALL",
        "ERR timeout is not an integer or out of range",
        "ERR timeout is negative",
        "ERR timeout is out of range",
    ]);

pub(super) const UNPAUSE: Row<Handler> = row("unpause", 2, Handler::Part(PartHandler::Pauses(unpause)))
    .flags(&[ADMIN])
    .about("connection", "6.2.0", "O(N) Where N is the number of paused clients")
    .summary("Resumes the requests of paused clients.")
    .help(&["UNPAUSE", "    Stop the current client pause, resuming traffic."])
    .help_after("list");

fn pause(pauses: &mut Pauses, rule: TimeoutRule, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let kind = match args.get(3) {
        None => PauseKind::All,
        Some(_) if args.len() > 4 => return Err(unknown_or_arity(args)),
        Some(_) if args.is(3, "write") => PauseKind::Write,
        Some(_) if args.is(3, "all") => PauseKind::All,
        Some(_) => return Err(CommandError::text("ERR CLIENT PAUSE mode must be WRITE or ALL")),
    };
    // A pause with timeout 0 ends immediately, as in Redis.
    let ms = parse_integer_timeout_ms(&args[2], rule)?.unwrap_or(0);
    pauses.pause(kind, rule.now.monotonic_ms().saturating_add_unsigned(ms));
    reply.ok();
    Ok(())
}

fn unpause(pauses: &mut Pauses, _: TimeoutRule, _: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    pauses.unpause();
    reply.ok();
    Ok(())
}
