//! LOLWUT.

use crate::config::Config;
use crate::core::Handler;
use crate::spec::{Args, Flags, Outcome, Row};
use lockwheel_resp::Reply;

pub(super) const ROWS: &[Row<Handler>] = &[Row::new("lolwut", -1, Handler::Config(lolwut))
    .flags(&[Flags::READONLY, Flags::FAST])
    .about("server", "5.0.0", "")
    .summary("The version of Redis that the server speaks for, as a text for people.")
    .syntax("[VERSION version]")
    .errors(&["ERR value is not an integer or out of range"])];

/// Replies with the version. The drawings of Redis' earlier versions are left out.
fn lolwut(config: &Config, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    if args.is(1, "version") && args.len() > 2 {
        args.int(2)?;
    }
    reply.verbatim(*b"txt", format!("Redis ver. {}\n", config.compat.release()).as_bytes());
    Ok(())
}
