//! SHUTDOWN.

use crate::core::{Call, Engine, Handler, Origin, Stop};
use crate::spec::{Args, CommandError, Flags, Outcome, Row, errors};
use lockwheel_resp::Reply;

/// The rows of this file.
pub(super) const ROWS: &[Row<Handler>] = &[Row::new("shutdown", -1, Handler::Engine(shutdown))
    .flags(&[Flags::ADMIN, Flags::NOSCRIPT, Flags::LOADING, Flags::STALE, Flags::NO_MULTI, Flags::ALLOW_BUSY])
    .about(
        "server",
        "1.0.0",
        "O(N) when saving, where N is the total number of keys in all databases when saving data, \
             otherwise O(1)",
    )
    .summary("Ends the server.")
    .history(&[("7.0.0", "Added the `NOW`, `FORCE` and `ABORT` modifiers.")])
    .syntax("[NOSAVE | SAVE] [NOW@7.0.0] [FORCE@7.0.0] [ABORT@7.0.0]")
    .errors(&["ERR No shutdown in progress.", "ERR syntax error", NOT_SAVED])];

const NOT_SAVED: &str = "ERR Errors trying to SHUTDOWN. Check logs.";

/// The words of SHUTDOWN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ShutdownOptions {
    save: bool,
    nosave: bool,
    now: bool,
    force: bool,
    abort: bool,
}

impl ShutdownOptions {
    fn parse(args: Args<'_>) -> Result<Self, CommandError> {
        let mut options = ShutdownOptions::default();
        for at in 1..args.len() {
            let option = match &*args[at].to_ascii_lowercase() {
                b"save" => &mut options.save,
                b"nosave" => &mut options.nosave,
                b"now" => &mut options.now,
                b"force" => &mut options.force,
                b"abort" => &mut options.abort,
                _ => return Err(errors::SYNTAX),
            };
            *option = true;
        }
        let others = options.save || options.nosave || options.now || options.force;
        if (options.abort && others) || (options.save && options.nosave) {
            return Err(errors::SYNTAX);
        }
        Ok(options)
    }
}

/// Refuses words that SHUTDOWN does not know, for a server that has nothing to save.
pub(super) fn check(args: Args<'_>) -> Outcome {
    match ShutdownOptions::parse(args)? {
        options if options.abort => Err(CommandError::text("ERR No shutdown in progress.")),
        _ => Ok(()),
    }
}

/// Nothing is saved unless that is asked for, and replicas that lag behind are not waited for: every form but ABORT
/// ends the server at once.
fn shutdown(engine: &mut Engine, call: Call<'_>, args: Args<'_>, _: &mut dyn Reply) -> Outcome {
    let options = ShutdownOptions::parse(args)?;
    if options.abort {
        return Err(CommandError::text("ERR No shutdown in progress."));
    }
    // A slow script is running, and this request came in from within it.
    if engine.scripts.is_running() && !options.nosave {
        return Err(engine.scripts.busy());
    }
    debug_assert_eq!(call.origin(), Origin::Client, "SHUTDOWN is refused in transactions and scripts");
    if options.save && engine.save().is_err() && !options.force {
        tracing::warn!("Error trying to save the DB, can't exit.");
        return Err(CommandError::text(NOT_SAVED));
    }
    engine.stop = Some(Stop::Shutdown);
    Ok(())
}
