//! The subcommands of DEBUG that switch parts of the server on and off.

use crate::config;
use crate::core::{DebugEffect, Switches};
use crate::spec::{Args, CommandError, unknown_or_arity};
use lockwheel_resp::{Reply, number};

const WRONG_THRESHOLD: &str = "ERR argument must be a memory value bigger than 1 and smaller than 4gb";
/// Redis uses the same distance from 4 GiB.
const MAX_THRESHOLD: u64 = (1 << 32) - (1 << 20);

/// Runs the subcommand, or replies that it is unknown.
pub(super) fn switch(
    switches: &mut Switches,
    args: Args<'_>,
    reply: &mut dyn Reply,
) -> Result<DebugEffect, CommandError> {
    match (&*args[1].to_ascii_lowercase(), args.len()) {
        (b"set-active-expire", 3) => switches.expires_actively = is_on(&args[2]),
        (b"set-disable-deny-scripts", 3) => switches.restricts_scripts = !is_on(&args[2]),
        (b"change-repl-id", 2) => return Ok(DebugEffect::ChangeHistoryId),
        (b"quicklist-packed-threshold", 3) => {
            let threshold = config::size(&args[2]).filter(|bytes| *bytes <= MAX_THRESHOLD);
            threshold.ok_or(CommandError::text(WRONG_THRESHOLD))?;
        }
        // Switches of parts that this server lacks have no effect.
        (b"pause-cron" | b"dict-resizing", 3) => {}
        (b"replybuffer", 4) if args.is(2, "resizing") => {}
        (b"replybuffer", 4) if args.is(2, "peak-reset-time") => {
            if !args.is(3, "never") && !args.is(3, "reset") {
                args.int(3)?;
            }
        }
        _ => return Err(unknown_or_arity(args)),
    }
    reply.ok();
    Ok(DebugEffect::None)
}

/// Whether a number is not 0, parsed like C's `atoi`: text that is not a number is 0.
fn is_on(text: &[u8]) -> bool {
    number::parse_i64(text).unwrap_or(0) != 0
}
