//! MONITOR: streams every call to a client.

use crate::core::{ClientHandler, Handler, Origin};
use crate::spec::{CommandError, Flags, Outcome, Row};

const NO_REPLY_EACH: &str = "ERR MONITOR isn't allowed for DENY BLOCKING client";

pub(super) const ROWS: &[Row<Handler>] =
    &[Row::new("monitor", 1, Handler::Client(&ClientHandler::Monitor(check)))
        .flags(&[Flags::ADMIN, Flags::NOSCRIPT, Flags::LOADING, Flags::STALE])
        .about("server", "1.0.0", "")
        .summary("Shows the connection every call of a command from now on.")
        .errors(&[NO_REPLY_EACH])];

fn check(origin: Origin) -> Outcome {
    match origin {
        Origin::Client => Ok(()),
        Origin::Transaction | Origin::Script => Err(CommandError::text(NO_REPLY_EACH)),
    }
}
