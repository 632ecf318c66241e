//! `CONTROL.*`: a test resets the server.

use crate::core::{Handler, OtherClients, ServerHandler};
use crate::spec::{Args, CommandError, CommandGrammar, Flags, ParsedArgs, Row, grammar, symbols};

const FLAGS: Flags = Flags::of(&[Flags::CONTROL, Flags::NOSCRIPT, Flags::NO_MULTI, Flags::STALE]);

const RESET: &CommandGrammar = grammar!("[KEEPCLIENTS]");

symbols!(RESET: KEEPCLIENTS);

pub(super) const ROWS: &[Row<Handler>] = &[
    row("control.reset", -1, Handler::Server(&ServerHandler::Reset(reset)))
        .about("control", "7.2.0", "O(N), N the clients and what scripts and locks have left behind")
        .summary("Restores the state at the server's start, except for client ids and the monotonic clock.")
        .reply("OK.")
        .options(&[&[(
            "KEEPCLIENTS",
            "Keeps the other clients connected and subscribed. Their waits end as if \
             timed out.",
        )]])
        .example(&["SET session x", "CONTROL.RESET", "EXISTS session"])
        .help(&[
            "CONTROL.RESET [KEEPCLIENTS]",
            "    Restore the state at the start: keys, scripts, functions, tokens of locks, statistics,",
            "    parameters, the seed's random choices, the wall clock and whether it runs.",
            "    Other clients are disconnected. KEEPCLIENTS: they stay connected and subscribed. Their",
            "    waits end as if timed out, and their WATCH as if a key had changed.",
        ])
        .grammar(RESET)
        .errors(&["ERR syntax error: *"]),
    Row::help_command("control.help", 1)
        .flags(&[FLAGS])
        .categories(&["control"])
        .about("control", "7.2.0", "O(1)")
        .summary("Explains the CONTROL commands."),
];

const fn row(name: &'static str, arity: i32, handler: Handler) -> Row<Handler> {
    Row::new(name, arity, handler).flags(&[FLAGS]).categories(&["control"])
}

/// Returns what becomes of the other clients.
fn reset(args: Args<'_>) -> Result<OtherClients, CommandError> {
    let options: ParsedArgs<'_> = RESET.parse(args)?;
    Ok(if options.has(KEEPCLIENTS) { OtherClients::Kept } else { OtherClients::Disconnected })
}
