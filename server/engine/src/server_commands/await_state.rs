//! `AWAIT.*`: a test waits for a state of the server instead of sleeping.

use super::lock_info::redisson_waiters;
use crate::control::Limit;
use crate::core::{Call, Engine, Handler};
use crate::spec::{Args, BlockingOutcome, CommandError, Flags, Flow, Row, errors};
use lockwheel_resp::Reply;

const FLAGS: Flags = Flags::of(&[Flags::CONTROL, Flags::NOSCRIPT, Flags::NO_MULTI, Flags::BLOCKING]);
const ERRORS: &[&str] = &[
    "ERR syntax error",
    "ERR value is out of range, must be positive",
    "ERR value is not an integer or out of range",
];

const fn row(name: &'static str, arity: i32, handler: crate::core::BlockingEngineHandler) -> Row<Handler> {
    Row::new(name, arity, Handler::BlockingEngine(handler))
        .flags(&[FLAGS])
        .categories(&["control"])
        .errors(ERRORS)
}

/// The rows of this file.
pub(super) const ROWS: &[Row<Handler>] = &[
    row("await.blocked", -2, blocked)
        .about("control", "7.2.0", "O(N), N the clients")
        .summary("Waits until so many clients wait.")
        .help(&[
            "AWAIT.BLOCKED <count> [KEY <key>] [LIMIT <milliseconds>]",
            "    Wait until so many clients are blocked (on that key).",
        ])
        .syntax("count [KEY key] [LIMIT milliseconds]"),
    row("await.waiters", -3, waiters)
        .about("control", "7.2.0", "O(log N), N the channels")
        .summary(
            "Waits until so many clients wait for a lock, natively or by Redisson: subscribed to its \
             channels.",
        )
        .help(&[
            "AWAIT.WAITERS <key> <count> [LIMIT <milliseconds>]",
            "    Wait until so many clients wait for that lock: natively, or subscribed to its channels.",
        ])
        .syntax("key count [LIMIT milliseconds]"),
    row("await.subscribers", -3, subscribers)
        .about("control", "7.2.0", "O(log N), N the channels")
        .summary("Waits until a channel has so many subscribers.")
        .help(&[
            "AWAIT.SUBSCRIBERS <channel> <count> [LIMIT <milliseconds>]",
            "    Wait until the channel has so many subscribers.",
        ])
        .syntax("channel count [LIMIT milliseconds]"),
    Row::help_command("await.help", 1)
        .flags(&[FLAGS])
        .categories(&["control"])
        .errors(ERRORS)
        .about("control", "7.2.0", "O(1)")
        .summary("Explains these commands."),
];

/// A number of clients that is awaited.
fn count(args: Args<'_>, index: usize) -> Result<usize, CommandError> {
    let count = args.int_in(index, 0, i64::MAX, errors::OUT_OF_RANGE_POSITIVE)?;
    usize::try_from(count).map_err(|_| errors::OUT_OF_RANGE_POSITIVE)
}

fn when(holds: bool, limit: Limit, reply: &mut dyn Reply) -> BlockingOutcome {
    if !holds {
        return Ok(Flow::NotYet(limit.wait([])));
    }
    reply.integer(1);
    Ok(Flow::Done)
}

fn blocked(engine: &mut Engine, call: Call<'_>, args: Args<'_>, reply: &mut dyn Reply) -> BlockingOutcome {
    let wanted = count(args, 1)?;
    let by_key = args.is(2, "key");
    let limit = Limit::parse(args, if by_key { 4 } else { 2 })?;
    let key = match by_key {
        true => Some((engine.session(call.slot).db, args.get(3).ok_or(errors::SYNTAX)?)),
        false => None,
    };
    when(engine.blocked_clients(key) >= wanted, limit, reply)
}

fn waiters(engine: &mut Engine, call: Call<'_>, args: Args<'_>, reply: &mut dyn Reply) -> BlockingOutcome {
    let wanted = count(args, 2)?;
    let limit = Limit::parse(args, 3)?;
    let db = engine.session(call.slot).db;
    let native = engine.blocked_clients(Some((db, &args[1])));
    let subscribed = redisson_waiters(&engine.pubsub, &args[1]).len();
    when(native + subscribed >= wanted, limit, reply)
}

fn subscribers(engine: &mut Engine, _: Call<'_>, args: Args<'_>, reply: &mut dyn Reply) -> BlockingOutcome {
    let wanted = count(args, 2)?;
    let limit = Limit::parse(args, 3)?;
    when(engine.pubsub.subscribers(&args[1]) >= wanted, limit, reply)
}

#[cfg(test)]
mod tests {
    use crate::config::Config;
    use crate::core::Simulation;
    use std::time::Duration;

    /// Real milliseconds, whatever the clock that a test turns shows.
    #[test]
    fn a_wait_without_a_limit_ends_after_five_seconds() {
        for request in ["AWAIT.BLOCKED 1", "AWAIT.WAITERS k 1", "AWAIT.SUBSCRIBERS c 1", "AWAIT.KEY k EXISTS"]
        {
            let mut server = Simulation::new(Config::default(), 7);
            let [main, waiter] = [server.connect(), server.connect()];
            server.send(main, "CLOCK.FREEZE");
            server.send(waiter, request);
            server.send(main, "CLOCK.ADVANCE 3600000");
            server.pass(Duration::from_millis(4999));
            assert_eq!(server.read(waiter), "", "{request}");
            server.pass(Duration::from_millis(2));
            assert_eq!(server.read(waiter), "$-1\r\n", "{request}");
        }
    }
}
