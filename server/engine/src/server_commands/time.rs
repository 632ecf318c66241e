//! TIME.

use crate::core::{Call, Engine, Handler, Origin};
use crate::spec::{Args, Flags, Outcome, Row};
use lockwheel_resp::{Reply, number};

/// The rows of this file.
pub(super) const ROWS: &[Row<Handler>] = &[Row::new("time", 1, Handler::Engine(time))
    .flags(&[Flags::LOADING, Flags::STALE, Flags::FAST])
    .about("server", "2.6.0", "O(1)")
    .summary("The server's time: Unix seconds, and microseconds of the second.")
    .tips(&["nondeterministic_output"])];

/// TIME advances in slow scripts, so polling loops end; until then a script has one instant.
fn time(engine: &mut Engine, call: Call<'_>, _: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let goes_on = call.origin() == Origin::Script && engine.scripts.control().is_slow();
    let now =
        if goes_on { engine.clock().read(engine.environment.now(engine.clock())) } else { engine.now() };
    reply.array(2);
    for part in [now.wall_second(), now.wall_us.rem_euclid(1_000_000)] {
        let mut digits = Vec::with_capacity(20);
        number::write_i64(part, &mut digits);
        reply.bulk(&digits);
    }
    Ok(())
}
