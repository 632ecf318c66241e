//! SHUTDOWN.

use crate::core::{Handler, PartHandler};
use crate::shutdown::{Ending, NONE_IN_PROGRESS, ShutdownRequest};
use crate::spec::{Args, CommandError, Flags, Outcome, Row, errors};

pub(super) const ROWS: &[Row<Handler>] =
    &[Row::new("shutdown", -1, Handler::Part(PartHandler::Shutdown(shutdown)))
        .flags(&[
            Flags::ADMIN,
            Flags::NOSCRIPT,
            Flags::LOADING,
            Flags::STALE,
            Flags::NO_MULTI,
            Flags::ALLOW_BUSY,
        ])
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

/// Refuses unknown options, for a server that has nothing to save.
pub(super) fn check(args: Args<'_>) -> Outcome {
    match ShutdownOptions::parse(args)? {
        options if options.abort => Err(NONE_IN_PROGRESS),
        _ => Ok(()),
    }
}

/// Parses the options. Nothing is saved unless an option requests it.
fn shutdown(args: Args<'_>) -> Result<ShutdownRequest, CommandError> {
    let options = ShutdownOptions::parse(args)?;
    if options.abort {
        return Ok(ShutdownRequest::Abort);
    }
    let ending = Ending { saves: options.save, is_forced: options.force, now: options.now };
    Ok(ShutdownRequest::End { ending, without_saving: options.nosave })
}
