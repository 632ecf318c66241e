//! `AWAIT.*`: a test waits for a state of the server instead of sleeping.

use super::table::Handler;
use super::{Call, Engine};
use crate::control::Limit;
use crate::table::{Args, CommandError, Flow, Outcome, Row, errors, flags};
use lockwheel_resp::Reply;

const FLAGS: u32 = flags::NOSCRIPT | flags::NO_MULTI | flags::BLOCKING;
const ERRORS: &[&str] = &[
    "ERR syntax error",
    "ERR value is out of range, must be positive",
    "ERR value is not an integer or out of range",
];

const fn row(name: &'static str, arity: i32, handler: super::table::EngineHandler) -> Row<Handler> {
    Row::new(name, arity, Handler::Engine(handler)).flags(FLAGS).categories(&["control"]).errors(ERRORS)
}

/// The rows of this file.
pub(super) const ROWS: &[Row<Handler>] = &[
    row("await.blocked", -2, blocked)
        .about("control", "7.2.0", "O(N), N the clients")
        .summary("Waits until so many clients wait.")
        .syntax("count [KEY key] [LIMIT milliseconds]"),
    row("await.waiters", -3, waiters)
        .about("control", "7.2.0", "O(log N), N the channels")
        .summary("Waits until so many clients wait for a lock: natively, or subscribed to its channels.")
        .syntax("key count [LIMIT milliseconds]"),
    row("await.subscribers", -3, subscribers)
        .about("control", "7.2.0", "O(log N), N the channels")
        .summary("Waits until a channel has so many subscribers.")
        .syntax("channel count [LIMIT milliseconds]"),
    row("await.help", 1, help).about("control", "7.2.0", "O(1)").summary("Explains these commands."),
];

/// A number of clients that is awaited.
fn count(args: Args<'_>, index: usize) -> Result<usize, CommandError> {
    let count = args.int_in(index, 0, i64::MAX, errors::OUT_OF_RANGE_POSITIVE)?;
    usize::try_from(count).map_err(|_| errors::OUT_OF_RANGE_POSITIVE)
}

fn when(holds: bool, limit: Limit, reply: &mut dyn Reply) -> Outcome {
    if !holds {
        return Ok(Flow::NotYet(limit.wait([])));
    }
    reply.integer(1);
    Ok(Flow::Done)
}

fn blocked(engine: &mut Engine, call: Call, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let wanted = count(args, 1)?;
    let by_key = args.is(2, "key");
    let limit = Limit::parse(args, if by_key { 4 } else { 2 })?;
    let key = match by_key {
        true => Some((engine.session(call.slot).db, args.get(3).ok_or(errors::SYNTAX)?)),
        false => None,
    };
    when(engine.blocked_clients(key) >= wanted, limit, reply)
}

fn waiters(engine: &mut Engine, call: Call, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let wanted = count(args, 2)?;
    let limit = Limit::parse(args, 3)?;
    let db = engine.session(call.slot).db;
    let native = engine.blocked_clients(Some((db, &args[1])));
    let subscribed = engine.pubsub.waiting_for_lock(&args[1]);
    when(native + subscribed >= wanted, limit, reply)
}

fn subscribers(engine: &mut Engine, _: Call, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let wanted = count(args, 2)?;
    let limit = Limit::parse(args, 3)?;
    when(engine.pubsub.subscribers(&args[1]) >= wanted, limit, reply)
}

fn help(_: &mut Engine, _: Call, _: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    super::help::write_family("AWAIT", HELP, reply);
    Ok(Flow::Done)
}

const HELP: &[&str] = &[
    "AWAIT.BLOCKED <count> [KEY <key>] [LIMIT <milliseconds>]",
    "    Wait until so many clients are blocked (on that key).",
    "AWAIT.WAITERS <key> <count> [LIMIT <milliseconds>]",
    "    Wait until so many clients wait for that lock: natively, or subscribed to its channels.",
    "AWAIT.SUBSCRIBERS <channel> <count> [LIMIT <milliseconds>]",
    "    Wait until the channel has so many subscribers.",
    "AWAIT.KEY <key> EXISTS|GONE|TYPE <type> [LIMIT <milliseconds>]",
    "    Wait until the key is in that state.",
];
