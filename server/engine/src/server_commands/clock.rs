//! `CLOCK.*`: a test turns the two hands.

use crate::core::{
    BlockingEngineHandler, Call, ClockChange, ClockRequest, ClockTurn, Engine, Handler, Origin, PlannedTurn,
    RedissonWaiters, Retry, Settle, TurnProgress,
};
use crate::spec::{Args, CommandError, Flags, Flow, Null, Outcome, Row, ValidValues, Wait, errors};
use crate::time::{Clock, ClockError};
use lockwheel_resp::Reply;
use std::time::Duration;

/// Moving time inside a script or a transaction would break its one instant.
const FLAGS: Flags = Flags::of(&[FROM_SCRIPTS, Flags::NOSCRIPT]);
/// Of those that scripts may call too: the clock moves when the script has ended.
const FROM_SCRIPTS: Flags = Flags::of(&[Flags::CONTROL, Flags::NO_MULTI, Flags::LOADING, Flags::STALE]);
const OUT_OF_RANGE: CommandError = CommandError::text("ERR time is out of range");
const OUT_OF_RANGE_ERROR: &[&str] =
    &["ERR time is out of range: *", "ERR value is not an integer or out of range: *"];

const TURN_ERRORS: &[&str] = &[
    "ERR time is out of range: *",
    "ERR value is not an integer or out of range: *",
    "ERR value is out of range, must be positive: *",
    "ERR syntax error: *",
];
const SETTLES_IN_SCRIPT: CommandError = CommandError::text("ERR SETTLE is not allowed from script");

const fn blocking_row(name: &'static str, arity: i32, handler: BlockingEngineHandler) -> Row<Handler> {
    Row::new(name, arity, Handler::BlockingEngine(handler)).categories(&["control"])
}

/// The rows of this file.
pub(super) const ROWS: &[Row<Handler>] = &[
    blocking_row("clock.info", 1, info)
        .flags(&[FLAGS])
        .about("control", "7.2.0", "O(1)")
        .summary("Tells where both hands stand and when the next deadline is.")
        .help(&[
            "CLOCK.INFO",
            "    Where both hands stand, how far the wall hand is from the system's time, and \
             when the next deadline is.",
        ]),
    blocking_row("clock.freeze", 1, freeze)
        .flags(&[FLAGS, Flags::BLOCKING])
        .about("control", "7.2.0", "O(1)")
        .summary("Stops both hands.")
        .help(&["CLOCK.FREEZE", "    Both hands stand still."]),
    blocking_row("clock.resume", 1, resume)
        .flags(&[FLAGS, Flags::BLOCKING])
        .about("control", "7.2.0", "O(1)")
        .summary("Lets both hands run from where they stand.")
        .help(&["CLOCK.RESUME", "    Both hands run from where they stand."]),
    blocking_row("clock.reset", 1, reset)
        .flags(&[FLAGS, Flags::BLOCKING])
        .about("control", "7.2.0", "O(N), N the deadlines that fire")
        .summary("Sets the wall hand to the system's time and lets both run.")
        .help(&["CLOCK.RESET", "    The wall hand is the system's time again; both hands run."]),
    blocking_row("clock.advance", -2, advance)
        .flags(&[FROM_SCRIPTS, Flags::BLOCKING])
        .about("control", "7.2.0", "O(N), N the deadlines that fire")
        .summary("Moves both hands, firing each deadline on the way at its own instant.")
        .help(&[
            "CLOCK.ADVANCE <milliseconds> [NOWAKE] [SETTLE <quiet-milliseconds> [LIMIT <milliseconds>]]",
            "    Move both hands; each deadline on the way fires at its own instant. Redisson's \
             waiters for what ends so",
            "    are told, but with NOWAKE. With SETTLE, after each instant at which clients were sent something:",
            "    go on when no command has come for so long in real time. LIMIT is for all of it; default: 5000.",
            "    Called from a script, it happens when the script has ended.",
        ])
        .syntax("milliseconds [NOWAKE] [SETTLE quiet-milliseconds:integer [LIMIT milliseconds]]")
        .errors(TURN_ERRORS),
    blocking_row("clock.next", -1, next)
        .flags(&[FLAGS, Flags::BLOCKING])
        .about("control", "7.2.0", "O(N), N the deadlines that fire")
        .summary("Moves both hands to the next deadline and fires it.")
        .help(&[
            "CLOCK.NEXT [COUNT <count>] [NOWAKE] [SETTLE <quiet-milliseconds> [LIMIT <milliseconds>]]",
            "    Move both hands to the next deadline and fire it, with all others at that instant; tell what it was.",
        ])
        .syntax("[COUNT count] [NOWAKE] [SETTLE quiet-milliseconds:integer [LIMIT milliseconds]]")
        .errors(&["ERR syntax error: *", "ERR value is out of range, must be positive: *"]),
    blocking_row("clock.step", 2, step)
        .about("control", "7.2.0", "O(N), N the deadlines that fire")
        .summary("Moves the wall hand alone, forward or backward.")
        .help(&[
            "CLOCK.STEP <milliseconds>",
            "    Move the wall hand alone, as when a system's clock is set. Called from a script, it happens when \
             the",
            "    script has ended.",
        ])
        .flags(&[FROM_SCRIPTS, Flags::BLOCKING])
        .syntax("milliseconds")
        .errors(OUT_OF_RANGE_ERROR),
    blocking_row("clock.set", 2, set)
        .flags(&[FLAGS, Flags::BLOCKING])
        .about("control", "7.2.0", "O(N), N the deadlines that fire")
        .summary("Sets the wall hand alone.")
        .help(&["CLOCK.SET <unix-time-milliseconds>", "    Set the wall hand alone."])
        .syntax("unix-time-milliseconds")
        .errors(OUT_OF_RANGE_ERROR),
    Row::help_command("clock.help", 1)
        .flags(&[FLAGS])
        .categories(&["control"])
        .about("control", "7.2.0", "O(1)")
        .summary("Explains these commands."),
];

impl From<ClockError> for CommandError {
    fn from(_: ClockError) -> Self {
        OUT_OF_RANGE
    }
}

/// The milliseconds of a script's turn: other turns may come before it.
const IN_RANGE: ValidValues = ValidValues::Value("a number that keeps the clocks within their range");
const FORWARD_IN_RANGE: ValidValues =
    ValidValues::Value("an integer from 0 on that keeps the clocks within their range");

/// Plans a turn of the clock for the end of the running script.
fn plan(engine: &mut Engine, turn: PlannedTurn) -> Outcome {
    let wrong =
        |error: CommandError| if error == OUT_OF_RANGE { error.of_argument(1, IN_RANGE) } else { error };
    engine.plan_turn(turn).map_err(wrong)
}

/// The error for the milliseconds of a request that are wrong, or by which a clock at `now_ms` would leave its range.
/// `least` is the lowest number that a request may have.
#[cold]
fn wrong_ms(error: CommandError, call: Call<'_>, now_ms: i64, least: i64) -> CommandError {
    let valid = match call.origin() {
        Origin::Script if least == 0 => FORWARD_IN_RANGE,
        Origin::Script => IN_RANGE,
        _ => ValidValues::Integer(least, Clock::MAX_MS - now_ms),
    };
    error.of_argument(1, valid)
}

fn info(
    engine: &mut Engine,
    call: Call<'_>,
    _: Args<'_>,
    reply: &mut dyn Reply,
) -> Result<Flow<Retry>, CommandError> {
    if engine.is_member() {
        return Ok(engine.clock_together(call));
    }
    let (next_ms, pending) = (engine.next_in_ms(), engine.pending_timers());
    engine.tell_clock(next_ms, pending, reply);
    Ok(Flow::Done)
}

fn freeze(
    engine: &mut Engine,
    call: Call<'_>,
    _: Args<'_>,
    reply: &mut dyn Reply,
) -> Result<Flow<Retry>, CommandError> {
    change(engine, call, ClockChange::Freeze, reply)
}

fn resume(
    engine: &mut Engine,
    call: Call<'_>,
    _: Args<'_>,
    reply: &mut dyn Reply,
) -> Result<Flow<Retry>, CommandError> {
    change(engine, call, ClockChange::Resume, reply)
}

fn reset(
    engine: &mut Engine,
    call: Call<'_>,
    _: Args<'_>,
    reply: &mut dyn Reply,
) -> Result<Flow<Retry>, CommandError> {
    change(engine, call, ClockChange::Reset, reply)
}

/// The options of a turn of both hands.
#[derive(Debug, Default)]
struct TurnOptions {
    count: Option<u64>,
    waiters: RedissonWaiters,
    settle: Option<Settle>,
}

impl TurnOptions {
    /// Reads them from argument `at` to the end, each at most once; `counts`: whether COUNT is one.
    fn parse(args: Args<'_>, mut at: usize, counts: bool) -> Result<Self, CommandError> {
        let positive = |at| {
            let number = args.int_in(at, 1, i64::MAX, errors::OUT_OF_RANGE_POSITIVE);
            number.map(i64::unsigned_abs)
        };
        let mut options = TurnOptions::default();
        while at < args.len() {
            let has_value = at + 1 < args.len();
            if args.is(at, "nowake") && options.waiters == RedissonWaiters::Woken {
                options.waiters = RedissonWaiters::LeftAsleep;
                at += 1;
            } else if args.is(at, "count") && counts && options.count.is_none() && has_value {
                options.count = Some(positive(at + 1)?);
                at += 2;
            } else if args.is(at, "settle") && options.settle.is_none() && has_value {
                let quiet = Duration::from_millis(positive(at + 1)?);
                let has_limit = args.is(at + 2, "limit") && at + 3 < args.len();
                let limit =
                    if has_limit { Duration::from_millis(positive(at + 3)?) } else { Settle::DEFAULT_LIMIT };
                options.settle = Some(Settle::new(quiet, limit));
                at += if has_limit { 4 } else { 2 };
            } else {
                return Err(errors::SYNTAX);
            }
        }
        Ok(options)
    }
}

fn advance(
    engine: &mut Engine,
    call: Call<'_>,
    args: Args<'_>,
    reply: &mut dyn Reply,
) -> Result<Flow<Retry>, CommandError> {
    let latest_ms = engine.now().wall_ms().max(engine.now().monotonic_ms());
    let wrong = |error| wrong_ms(error, call, latest_ms, 0);
    let ms = args.int_in(1, 0, i64::MAX, errors::NOT_AN_INTEGER).map_err(wrong)?.unsigned_abs();
    let TurnOptions { waiters, settle, .. } = TurnOptions::parse(args, 2, false)?;
    if call.origin() == Origin::Script {
        if settle.is_some() {
            return Err(SETTLES_IN_SCRIPT);
        }
        plan(engine, PlannedTurn::Advance { ms, waiters })?;
        reply.ok();
        return Ok(Flow::Done);
    }
    let turn = engine.turn_by(ms).map_err(|_| wrong(OUT_OF_RANGE))?;
    let turn = turn.waking(waiters).settling(settle);
    begin(engine, call, turn, reply)
}

fn next(
    engine: &mut Engine,
    call: Call<'_>,
    args: Args<'_>,
    reply: &mut dyn Reply,
) -> Result<Flow<Retry>, CommandError> {
    let TurnOptions { count, waiters, settle } = TurnOptions::parse(args, 1, true)?;
    let turn = ClockTurn::to_next(count.unwrap_or(1)).waking(waiters).settling(settle);
    begin(engine, call, turn, reply)
}

/// Turns the clock. The client waits while others react to that.
fn begin(
    engine: &mut Engine,
    call: Call<'_>,
    turn: ClockTurn,
    reply: &mut dyn Reply,
) -> Result<Flow<Retry>, CommandError> {
    // A transaction cannot wait.
    let mut turn = if call.origin() == Origin::Client { turn.in_pieces() } else { turn };
    if engine.shares_clock() {
        engine.ask_clock(ClockRequest::Turn(call.session));
        let retry = Retry::Turn(Box::new(turn));
        return Ok(Wait { real_time: true, ..Wait::new(retry, None, Null::Bulk) }.into());
    }
    let turned =
        engine.keep_active(call.slot, |engine| engine.turning(|engine| engine.continue_turning(&mut turn)));
    match turned {
        TurnProgress::Done => {
            turn.write(engine.now(), reply)?;
            Ok(Flow::Done)
        }
        TurnProgress::WaitUs(us) => {
            let retry = Retry::Turn(Box::new(turn));
            Ok(Wait { real_time: true, ..Wait::new(retry, Some(us.div_ceil(1000)), Null::Bulk) }.into())
        }
    }
}

fn step(
    engine: &mut Engine,
    call: Call<'_>,
    args: Args<'_>,
    reply: &mut dyn Reply,
) -> Result<Flow<Retry>, CommandError> {
    let now_ms = engine.now().wall_ms();
    let wrong = |error| wrong_ms(error, call, now_ms, -now_ms);
    let ms = args.int(1).map_err(wrong)?;
    if call.origin() == Origin::Script {
        plan(engine, PlannedTurn::Step(ms))?;
        reply.ok();
        return Ok(Flow::Done);
    }
    change(engine, call, ClockChange::Step(ms), reply).map_err(|_| wrong(OUT_OF_RANGE))
}

fn set(
    engine: &mut Engine,
    call: Call<'_>,
    args: Args<'_>,
    reply: &mut dyn Reply,
) -> Result<Flow<Retry>, CommandError> {
    let set = args.int(1).and_then(|ms| change(engine, call, ClockChange::Set(ms), reply));
    set.map_err(|error| error.of_argument(1, ValidValues::Integer(0, Clock::MAX_MS)))
}

/// Changes the clock and fires what is due then.
fn change(
    engine: &mut Engine,
    call: Call<'_>,
    change: ClockChange,
    reply: &mut dyn Reply,
) -> Result<Flow<Retry>, CommandError> {
    let turn = engine.turn_changing(change)?;
    begin(engine, call, turn, reply)
}
