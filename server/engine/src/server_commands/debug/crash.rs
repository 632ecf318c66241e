//! The subcommands of DEBUG that crash or restart the server.

use super::REFUSED;
use crate::clients::Closing;
use crate::config::Permission;
use crate::core::{Call, Crash, Engine, Stop};
use crate::spec::{Args, CommandError, Outcome};

/// Returns the way in which a subcommand ends the server, if it does so.
///
/// # Errors
/// Returns the error of an integer if the delay of a restart is invalid.
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

/// Ends the server if `enable-debug-command` is an explicit `yes`. The client gets no reply.
pub(super) fn crash(engine: &mut Engine, call: Call<'_>, crash: Crash) -> Outcome {
    if engine.config.enable_debug_command != Permission::Yes {
        return Err(CommandError::text(REFUSED));
    }
    let session = engine.sessions.get_mut(call.slot);
    session.delivery.cut();
    session.close(Closing::Now);
    engine.stop = Some(Stop::Crash(crash));
    Ok(())
}
