//! MONITOR: shows a client every call.

use crate::core::{Call, Engine, Handler, Origin};
use crate::spec::{Args, CommandError, Flags, Outcome, Row};
use lockwheel_resp::Reply;

const NO_REPLY_EACH: &str = "ERR MONITOR isn't allowed for DENY BLOCKING client";

/// The rows of this file.
pub(super) const ROWS: &[Row<Handler>] = &[Row::new("monitor", 1, Handler::Engine(monitor))
    .flags(&[Flags::ADMIN, Flags::NOSCRIPT, Flags::LOADING, Flags::STALE])
    .about("server", "1.0.0", "")
    .summary("Shows the connection every call of a command from now on.")
    .errors(&[NO_REPLY_EACH])];

/// Who is a monitor already is not answered.
fn monitor(engine: &mut Engine, call: Call<'_>, _: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    if call.origin() != Origin::Client {
        return Err(CommandError::text(NO_REPLY_EACH));
    }
    if engine.set_monitor(call.slot, true) {
        reply.ok();
    }
    Ok(())
}
