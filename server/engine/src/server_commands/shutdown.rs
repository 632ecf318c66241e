//! SHUTDOWN.

use crate::core::{Call, Ending, Engine, Handler, Origin, Retry, Stop};
use crate::spec::{Args, CommandError, Flags, Flow, Null, Outcome, Row, Wait, errors};
use lockwheel_resp::Reply;

/// The rows of this file.
pub(super) const ROWS: &[Row<Handler>] = &[Row::new("shutdown", -1, Handler::BlockingEngine(shutdown))
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
    .errors(&[
        "ERR No shutdown in progress.",
        "ERR syntax error",
        "ERR Errors trying to SHUTDOWN. Check logs.",
    ])];

const NONE_IN_PROGRESS: CommandError = CommandError::text("ERR No shutdown in progress.");

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
        options if options.abort => Err(NONE_IN_PROGRESS),
        _ => Ok(()),
    }
}

/// Nothing is saved unless that is asked for. Replicas that lag behind are waited for.
fn shutdown(
    engine: &mut Engine,
    call: Call<'_>,
    args: Args<'_>,
    reply: &mut dyn Reply,
) -> Result<Flow<Retry>, CommandError> {
    let options = ShutdownOptions::parse(args)?;
    if options.abort {
        if !engine.abort_shutdown() {
            return Err(NONE_IN_PROGRESS);
        }
        reply.ok();
        return Ok(Flow::Done);
    }
    debug_assert_eq!(call.origin(), Origin::Client, "SHUTDOWN is refused in transactions and scripts");
    // A slow script is running, and this request came in from within it.
    if engine.scripts.is_running() {
        if !options.nosave {
            return Err(engine.scripts.busy());
        }
        engine.stop = Some(Stop::Shutdown);
        return Ok(Flow::Done);
    }
    let ending = Ending { saves: options.save, is_forced: options.force, now: options.now };
    match engine.shut_down(ending)? {
        true => Ok(Flow::Done),
        false => Ok(Wait::new(Retry::Ended, None, Null::Bulk).into()),
    }
}
