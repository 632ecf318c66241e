//! TIME.

use crate::core::{Handler, PartHandler};
use crate::spec::{Args, Flags, Outcome, Row};
use lockwheel_resp::{Reply, number};
use lockwheel_store::time::Now;

pub(super) const ROWS: &[Row<Handler>] = &[Row::new("time", 1, Handler::Part(PartHandler::Instant(time)))
    .flags(&[Flags::LOADING, Flags::STALE, Flags::FAST])
    .about("server", "2.6.0", "O(1)")
    .summary("The server's time: Unix seconds, and microseconds of the second.")
    .tips(&["nondeterministic_output"])];

fn time(now: Now, _: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    reply.array(2);
    for part in [now.wall_second(), now.wall_us.rem_euclid(1_000_000)] {
        let mut digits = Vec::with_capacity(20);
        number::write_i64(part, &mut digits);
        reply.bulk(&digits);
    }
    Ok(())
}
