//! The subcommands of DEBUG that crash or restart the server.

use super::REFUSED;
use crate::config::{Config, Permission};
use crate::core::{Crash, DebugEffect};
use crate::spec::{Args, CommandError};

/// Returns the way in which a subcommand ends the server, if it does; fails for an invalid delay of a restart.
pub(super) fn named(args: Args<'_>) -> Result<Option<Crash>, CommandError> {
    Ok(Some(match &*args[1].to_ascii_lowercase() {
        b"segfault" => Crash::Segfault,
        b"panic" | b"assert" | b"oom" => Crash::Abort,
        b"restart" | b"crash-and-recover" => {
            let delay_ms = if args.len() > 2 { args.int(2)? } else { 0 };
            Crash::Restart(u64::try_from(delay_ms).unwrap_or(0))
        }
        _ => return Ok(None),
    }))
}

/// Ends the server, where `enable-debug-command` is an explicit `yes`.
pub(super) fn crash(config: &Config, crash: Crash) -> Result<DebugEffect, CommandError> {
    match config.enable_debug_command {
        Permission::Yes => {
            if crash == Crash::Abort {
                tracing::error!("Guru Meditation: DEBUG requested the end of the process");
            }
            Ok(DebugEffect::Crash(crash))
        }
        _ => Err(CommandError::text(REFUSED)),
    }
}
