//! DEBUG: what tests need.

use crate::core::{Call, Engine, Handler, Stop};
use crate::spec::{Args, CommandError, Flags, Outcome, Row, help, unknown_or_arity};
use lockwheel_resp::{Reply, number};
use std::time::Duration;

const REFUSED: &str = "ERR DEBUG command not allowed. If the enable-debug-command option is set to \"local\", \
                       you can run it from a local connection, otherwise you need to set this option in the \
                       configuration file, and then restart the server.";

/// The rows of this file.
pub(super) const ROWS: &[Row<Handler>] = &[Row::new("debug", -2, Handler::Engine(debug))
    .flags(&[Flags::ADMIN, Flags::NOSCRIPT, Flags::LOADING, Flags::STALE])
    .about("server", "1.0.0", "Depends on subcommand.")
    .summary("Does what a test needs and nobody else should: stops the whole server for a while.")
    .internal()
    .syntax("(SLEEP seconds | HELP)")
    .help(&["SLEEP <seconds>", "    Stop the server for <seconds>. Decimals allowed."])
    .errors(&[
        "ERR unknown subcommand or wrong number of arguments for 'subcommand'. Try DEBUG HELP.",
        REFUSED,
    ])];

/// Refused unless `enable-debug-command` allows it for the client.
fn debug(engine: &mut Engine, call: Call<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let local = engine.session(call.slot).peer.is_local();
    if !engine.config.enable_debug_command.allows(local) {
        return Err(CommandError::text(REFUSED));
    }
    if args.is(1, "help") && args.len() == 2 {
        if let Some(debug) = engine.table.resolve(args) {
            help::write_container(debug, reply);
        }
        return Ok(());
    }
    if !args.is(1, "sleep") || args.len() != 3 {
        return Err(unknown_or_arity(args));
    }
    // Text that is no number counts as 0, as in Redis.
    let seconds = number::parse_f64(&args[2]).filter(|seconds| *seconds > 0.0).unwrap_or(0.0);
    // A cast from a float stays within the range of the integer.
    let us = (seconds * 1e6) as u64;
    engine.time.sleep(us);
    let asked_before = match engine.stop {
        Some(Stop::Sleep(time)) => time,
        _ => Duration::ZERO,
    };
    engine.stop = Some(Stop::Sleep(asked_before.saturating_add(Duration::from_micros(us))));
    reply.ok();
    Ok(())
}
