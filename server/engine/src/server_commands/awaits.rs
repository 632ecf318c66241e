//! `AWAIT.*`: a test waits for a state of the server, or of a key, instead of sleeping.

use crate::core::{BlockingEngineHandler, Call, Engine, EngineAttempt, Handler, Retry};
use crate::keyspace::Tx;
use crate::locks::channel_waiters;
use crate::spec::{
    Args, Asking, Attempt, BlockingOutcome, CommandError, Flags, Flow, KeyFlags, KeySpec, Null, Row, Wait,
    WaitClass, errors,
};
use crate::values::Value;
use lockwheel_resp::Reply;

const FLAGS: Flags = Flags::of(&[Flags::CONTROL, Flags::NOSCRIPT, Flags::NO_MULTI, Flags::BLOCKING]);
const ERRORS: &[&str] = &[
    "ERR syntax error",
    "ERR value is out of range, must be positive",
    "ERR value is not an integer or out of range",
];

const fn row(name: &'static str, arity: i32, handler: BlockingEngineHandler) -> Row<Handler> {
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
        .summary("Waits until so many clients wait for a lock, natively or by Redisson: subscribed to its channels.")
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
    Row::new("await.key", -3, Handler::BlockingData(await_key))
        .flags(&[Flags::READONLY, FLAGS])
        .categories(&["control"])
        .keys(&[KeySpec::one(1, &[KeyFlags::RO])])
        .about("control", "7.2.0", "O(1)")
        .summary("Waits until a key is there, is gone, or is of a type.")
        .help(&[
            "AWAIT.KEY <key> EXISTS|GONE|TYPE <type> [LIMIT <milliseconds>]",
            "    Wait until the key is in that state.",
        ])
        .syntax("key (EXISTS | GONE | TYPE type) [LIMIT milliseconds]")
        .errors(&["ERR syntax error", "ERR value is out of range, must be positive"]),
    Row::help_command("await.help", 1)
        .flags(&[FLAGS])
        .categories(&["control"])
        .errors(ERRORS)
        .about("control", "7.2.0", "O(1)")
        .summary("Explains these commands."),
];

/// Reads `LIMIT ms`, or nothing, from argument `at` to the end: how long a test waits for a state, in milliseconds of
/// real time.
fn limit_ms(args: Args<'_>, at: usize) -> Result<u64, CommandError> {
    const DEFAULT_MS: u64 = 5000;
    if args.len() == at {
        return Ok(DEFAULT_MS);
    }
    if args.len() != at + 2 || !args.is(at, "limit") {
        return Err(errors::SYNTAX);
    }
    Ok(args.int_in(at + 1, 0, i64::MAX, errors::OUT_OF_RANGE_POSITIVE)?.unsigned_abs())
}

/// Waits that long in real time, then answers null.
fn in_real_time<R>(wait: Wait<R>) -> Flow<R> {
    Wait { real_time: true, ..wait }.into()
}

/// A number of clients to wait for.
fn count(args: Args<'_>, index: usize) -> Result<usize, CommandError> {
    let count = args.int_in(index, 0, i64::MAX, errors::OUT_OF_RANGE_POSITIVE)?;
    usize::try_from(count).map_err(|_| errors::OUT_OF_RANGE_POSITIVE)
}

/// A state of the server, reached when the count is high enough.
#[derive(Debug)]
struct AtLeast {
    count: usize,
    of: Counted,
}

/// What is counted; keys with their database.
#[derive(Debug)]
enum Counted {
    Blocked(Option<(usize, Box<[u8]>)>),
    Waiters(usize, Box<[u8]>),
    Subscribers(Box<[u8]>),
}

impl EngineAttempt for AtLeast {
    fn attempt(&self, engine: &Engine, reply: &mut dyn Reply) -> bool {
        let count = match &self.of {
            Counted::Blocked(key) => engine.blocked_clients(key.as_ref().map(|(db, key)| (*db, &**key))),
            Counted::Waiters(db, key) => {
                engine.blocked_clients(Some((*db, key))) + channel_waiters(&engine.pubsub, key).len()
            }
            Counted::Subscribers(channel) => engine.pubsub.subscribers(channel),
        };
        let is_reached = count >= self.count;
        if is_reached {
            reply.integer(1);
        }
        is_reached
    }
}

fn until(
    engine: &Engine,
    state: AtLeast,
    limit_ms: u64,
    reply: &mut dyn Reply,
) -> Result<Flow<Retry>, CommandError> {
    if state.attempt(engine, reply) {
        return Ok(Flow::Done);
    }
    Ok(in_real_time(Wait::new(Retry::Always(Box::new(state)), Some(limit_ms), Null::Bulk)))
}

fn blocked(
    engine: &mut Engine,
    call: Call<'_>,
    args: Args<'_>,
    reply: &mut dyn Reply,
) -> Result<Flow<Retry>, CommandError> {
    let count = count(args, 1)?;
    let by_key = args.is(2, "key");
    let limit_ms = limit_ms(args, if by_key { 4 } else { 2 })?;
    let key = match by_key {
        true => Some((call.db, args.get(3).ok_or(errors::SYNTAX)?.into())),
        false => None,
    };
    until(engine, AtLeast { count, of: Counted::Blocked(key) }, limit_ms, reply)
}

fn waiters(
    engine: &mut Engine,
    call: Call<'_>,
    args: Args<'_>,
    reply: &mut dyn Reply,
) -> Result<Flow<Retry>, CommandError> {
    let count = count(args, 2)?;
    let limit_ms = limit_ms(args, 3)?;
    let of = Counted::Waiters(call.db, args[1].into());
    until(engine, AtLeast { count, of }, limit_ms, reply)
}

fn subscribers(
    engine: &mut Engine,
    _: Call<'_>,
    args: Args<'_>,
    reply: &mut dyn Reply,
) -> Result<Flow<Retry>, CommandError> {
    let count = count(args, 2)?;
    let limit_ms = limit_ms(args, 3)?;
    until(engine, AtLeast { count, of: Counted::Subscribers(args[1].into()) }, limit_ms, reply)
}

/// Tests that wait for a key's state: each for its own, without counting as waiters of a lock.
const STATE: WaitClass =
    WaitClass { name: "state", accepts: |_| true, asking: Asking::All, out_of_turn: None, counts: false };

/// A key's state.
#[derive(Debug)]
enum State {
    Exists,
    Gone,
    Type(Box<[u8]>),
}

impl State {
    /// The state, and the argument after it.
    fn parse(args: Args<'_>) -> Result<(Self, usize), CommandError> {
        if args.is(2, "exists") {
            Ok((State::Exists, 3))
        } else if args.is(2, "gone") {
            Ok((State::Gone, 3))
        } else if args.is(2, "type") {
            Ok((State::Type(args.get(3).ok_or(errors::SYNTAX)?.into()), 4))
        } else {
            Err(errors::SYNTAX)
        }
    }

    fn holds(&self, value: Option<&Value>) -> bool {
        match self {
            State::Exists => value.is_some(),
            State::Gone => value.is_none(),
            State::Type(name) => {
                value.is_some_and(|value| value.type_name().as_bytes().eq_ignore_ascii_case(name))
            }
        }
    }
}

impl Attempt for State {
    fn attempt(
        &self,
        tx: &mut Tx<'_>,
        args: Args<'_>,
        _: Option<u64>,
        reply: &mut dyn Reply,
    ) -> Result<bool, CommandError> {
        let holds = self.holds(tx.peek(&args[1]));
        if holds {
            reply.integer(1);
        }
        Ok(holds)
    }
}

fn await_key(tx: &mut Tx<'_>, args: Args<'_>, reply: &mut dyn Reply) -> BlockingOutcome {
    let (state, rest) = State::parse(args)?;
    let limit_ms = limit_ms(args, rest)?;
    if state.attempt(tx, args, None, reply)? {
        return Ok(Flow::Done);
    }
    Ok(in_real_time(Wait::on_keys([1], &STATE, state, Some(limit_ms), Null::Bulk)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clients::{Outbox, Peer};
    use crate::config::Config;
    use crate::time::Now;

    fn at(ms: u64) -> Now {
        Now { wall_us: ms as i64 * 1000, monotonic_us: ms * 1000 }
    }

    /// Real milliseconds, whatever the clock that a test turns shows.
    #[test]
    fn a_wait_without_a_limit_ends_after_five_seconds() {
        for request in ["AWAIT.BLOCKED 1", "AWAIT.WAITERS k 1", "AWAIT.SUBSCRIBERS c 1", "AWAIT.KEY k EXISTS"]
        {
            let mut engine = Engine::new(Config::default(), 7, at(0));
            engine.begin(at(0));
            let [main, waiter] = [0; 2].map(|_| engine.connect(Peer::default()));
            engine.execute(main, &[b"CLOCK.FREEZE"]);
            let argv: Vec<&[u8]> = request.split(' ').map(str::as_bytes).collect();
            engine.execute(waiter, &argv);
            engine.execute(main, &[b"CLOCK.ADVANCE", b"3600000"]);
            let told = |engine: &mut Engine, ms| {
                engine.begin(at(ms));
                let mut answer = Outbox::default();
                engine.take_output(waiter, &mut answer);
                String::from_utf8_lossy(answer.bytes()).into_owned()
            };
            assert_eq!(told(&mut engine, 4999), "", "{request}");
            assert!(engine.next_deadline().is_some_and(|at_us| (5_000_000..=5_001_000).contains(&at_us)));
            assert_eq!(told(&mut engine, 5001), "$-1\r\n", "{request}");
        }
    }
}
