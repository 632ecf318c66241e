//! `CLOCK.*`: a test moves the wall clock and the monotonic clock.

use crate::clock::{
    ClockAdvance, ClockChange, ClockHandler, ClockOrder, EngineClock, OUT_OF_RANGE, PlannedAdvance,
    RedissonWaiters, Settle,
};
use crate::core::Handler;
use crate::spec::{
    Args, CommandError, CommandGrammar, Flags, OptionTexts, ParsedArgs, Row, Symbol, ValidValues, errors,
    grammar,
};
use lockwheel_store::time::Clock;
use std::time::Duration;

/// Moving time inside a script or a transaction would break the rule that it runs at a single instant.
const FLAGS: Flags = Flags::of(&[FROM_SCRIPTS, Flags::NOSCRIPT]);
/// The flags of the commands that scripts may call too. The clock moves when the script has ended.
const FROM_SCRIPTS: Flags = Flags::of(&[Flags::CONTROL, Flags::NO_MULTI, Flags::STALE]);
const OUT_OF_RANGE_ERROR: &[&str] =
    &["ERR time is out of range: *", "ERR value is not an integer or out of range: *"];

const STEP_ERRORS: &[&str] =
    &["ERR time is out of range: *", "ERR value is not an integer or out of range: *", TOO_MANY_ADVANCES];
const TOO_MANY_ADVANCES: &str = "ERR too many advances of the clock in one script";

const ADVANCE_ERRORS: &[&str] = &[
    "ERR time is out of range: *",
    "ERR value is not an integer or out of range: *",
    "ERR value is out of range, must be positive: *",
    "ERR syntax error: *",
    "ERR SETTLE is not allowed in a script",
    TOO_MANY_ADVANCES,
];
/// The replies of commands that only change the wall clock or stop the clocks.
const WALL: &str = "An integer: the time of the wall clock, in milliseconds since 1970.";
const WALL_OR_OK: &str =
    "An integer: the time of the wall clock, in milliseconds since 1970. In a script, OK.";

const SETTLE_TEXTS: OptionTexts = &[
    ("NOWAKE", "Does not notify the waiters of Redisson when a lock ends on the way."),
    (
        "SETTLE quiet-milliseconds",
        "After each instant at which clients were sent something, waits until no command has come for \
         that real time.",
    ),
    (
        "LIMIT milliseconds",
        "After that real time, the advance goes on to its end without further pauses: 5000 by default.",
    ),
];

const SETTLES_IN_SCRIPT: CommandError = CommandError::text("ERR SETTLE is not allowed in a script");

const fn clock_row(name: &'static str, arity: i32, handler: ClockHandler) -> Row<Handler> {
    Row::new(name, arity, Handler::Clock(handler)).categories(&["control"])
}

const ADVANCE: &CommandGrammar =
    grammar!("milliseconds:0.. [NOWAKE] [SETTLE quiet-milliseconds:1.. [LIMIT milliseconds:1..]]");
const ADVANCE_OPTIONS: [Symbol; 3] =
    [ADVANCE.symbol("NOWAKE"), ADVANCE.symbol("SETTLE"), ADVANCE.symbol("LIMIT")];
const NEXT: &CommandGrammar =
    grammar!("[COUNT count:1..] [NOWAKE] [SETTLE quiet-milliseconds:1.. [LIMIT milliseconds:1..]]");
const COUNT: Symbol = NEXT.symbol("COUNT");
const NEXT_OPTIONS: [Symbol; 3] = [NEXT.symbol("NOWAKE"), NEXT.symbol("SETTLE"), NEXT.symbol("LIMIT")];

pub(super) const ROWS: &[Row<Handler>] = &[
    clock_row("clock.info", 1, info)
        .flags(&[FLAGS])
        .about("control", "7.2.0", "O(1)")
        .summary("Returns the times of the wall clock and the monotonic clock, and the next deadline.")
        .reply(
            "A map: `mode`; `wall` in milliseconds since 1970; `monotonic` in milliseconds since \
             the start; `offset` of the wall clock from the system's time; `next`, milliseconds \
             until the next deadline, or null; `timers`, their number.",
        )
        .example(&["SET session x PX 8000", "CLOCK.INFO"])
        .help(&[
            "CLOCK.INFO",
            "    Return the times of the wall clock and the monotonic clock, the offset of the wall clock",
            "    from the system's time, and the next deadline.",
        ]),
    clock_row("clock.freeze", 1, freeze)
        .flags(&[FLAGS, Flags::BLOCKING])
        .about("control", "7.2.0", "O(1)")
        .summary("Stops the wall clock and the monotonic clock.")
        .reply(WALL)
        .example(&["CLOCK.FREEZE", "SET session x PX 8000", "PTTL session"])
        .help(&["CLOCK.FREEZE", "    Stop both clocks."]),
    clock_row("clock.resume", 1, resume)
        .flags(&[FLAGS, Flags::BLOCKING])
        .about("control", "7.2.0", "O(1)")
        .summary("Lets both clocks run from their current times.")
        .reply(WALL)
        .example(&["CLOCK.RESUME"])
        .help(&["CLOCK.RESUME", "    Let both clocks run from their current times."]),
    clock_row("clock.reset", 1, reset)
        .flags(&[FLAGS, Flags::BLOCKING])
        .about("control", "7.2.0", "O(N), N the deadlines that fire")
        .summary("Sets the wall clock to the system's time and lets both clocks run.")
        .reply(WALL)
        .example(&["CLOCK.RESET"])
        .help(&["CLOCK.RESET", "    Set the wall clock to the system's time, and let both clocks run."]),
    clock_row("clock.advance", -2, advance)
        .flags(&[FROM_SCRIPTS, Flags::BLOCKING])
        .about("control", "7.2.0", "O(N), N the deadlines that fire")
        .summary("Advances both clocks, and fires each deadline on the way at its own instant.")
        .reply(
            "A map: `wall`, the wall clock in milliseconds since 1970; `fired`, the number of \
             deadlines; `settled`, 0 if LIMIT has cut a pause of SETTLE short, else 1. In a script, OK.",
        )
        .options(&[&[("milliseconds", "The time by which both clocks move.")], SETTLE_TEXTS])
        .example(&["SET session x PX 8000", "CLOCK.ADVANCE 7999", "CLOCK.ADVANCE 1", "EXISTS session"])
        .help(&[
            "CLOCK.ADVANCE <milliseconds> [NOWAKE] [SETTLE <quiet-milliseconds> [LIMIT <milliseconds>]]",
            "    Advance both clocks. Each deadline on the way fires at its own instant. If a lock ends this",
            "    way, waiters of Redisson are notified, unless NOWAKE is given.",
            "    SETTLE: after each instant at which clients were sent something, continue once no command",
            "    has come for that time, in real time. After LIMIT, it continues at once; default: 5000.",
            "    Called from a script, it takes effect when the script has ended.",
        ])
        .grammar(ADVANCE)
        .errors(ADVANCE_ERRORS),
    clock_row("clock.next", -1, next)
        .flags(&[FLAGS, Flags::BLOCKING])
        .about("control", "7.2.0", "O(N), N the deadlines that fire")
        .summary("Advances both clocks to the next deadline and fires it.")
        .reply(
            "The map of CLOCK.ADVANCE, with `what`: the deadlines that fired, each an array of \
             its kind and its key. Null if there is no deadline.",
        )
        .options(&[&[(
                "COUNT count",
                "Moves to this many instants with deadlines, one after another. All deadlines of an instant fire.",
            )], SETTLE_TEXTS])
        .example(&["SET session x PX 8000", "CLOCK.NEXT", "CLOCK.NEXT"])
        .help(&[
            "CLOCK.NEXT [COUNT <count>] [NOWAKE] [SETTLE <quiet-milliseconds> [LIMIT <milliseconds>]]",
            "    Advance both clocks to the next deadline. Fire it and all others at that instant, and",
            "    return which.",
        ])
        .grammar(NEXT)
        .errors(&[
            "ERR syntax error: *",
            "ERR value is out of range, must be positive: *",
            "ERR value is not an integer or out of range: *",
        ]),
    clock_row("clock.step", 2, step)
        .about("control", "7.2.0", "O(N), N the deadlines that fire")
        .summary("Moves only the wall clock, forward or backward.")
        .reply(WALL_OR_OK)
        .options(&[&[("milliseconds", "The time by which the wall clock moves; negative: backward.")]])
        .example(&["SET session x PX 8000", "CLOCK.STEP -1000", "PTTL session"])
        .help(&[
            "CLOCK.STEP <milliseconds>",
            "    Move only the wall clock, as when a system's clock is set. Called from a script, it takes",
            "    effect when the script has ended.",
        ])
        .flags(&[FROM_SCRIPTS, Flags::BLOCKING])
        .syntax("milliseconds")
        .errors(STEP_ERRORS),
    clock_row("clock.set", 2, set)
        .flags(&[FLAGS, Flags::BLOCKING])
        .about("control", "7.2.0", "O(N), N the deadlines that fire")
        .summary("Sets only the wall clock.")
        .reply(WALL)
        .options(&[&[("unix-time-milliseconds", "The new time, in milliseconds since 1970.")]])
        .example(&["CLOCK.SET 1893456060000", "TIME"])
        .help(&["CLOCK.SET <unix-time-milliseconds>", "    Set only the wall clock."])
        .syntax("unix-time-milliseconds")
        .errors(OUT_OF_RANGE_ERROR),
    Row::help_command("clock.help", 1)
        .flags(&[FLAGS])
        .categories(&["control"])
        .about("control", "7.2.0", "O(1)")
        .summary("Explains the CLOCK commands."),
];

/// The result of a clock command: its order to the clock.
type Ordered = Result<ClockOrder, CommandError>;

fn order(advance: ClockAdvance) -> ClockOrder {
    ClockOrder::Advance(Box::new(advance))
}

/// The valid values for a script's advance in milliseconds: without a fixed bound, as others may precede it.
const IN_RANGE: ValidValues = ValidValues::Value("a number that keeps the clocks within their range");
const FORWARD_IN_RANGE: ValidValues =
    ValidValues::Value("an integer from 0 on that keeps the clocks within their range");

fn plan(clock: &mut EngineClock, planned: PlannedAdvance) -> Ordered {
    let wrong =
        |error: CommandError| if error == OUT_OF_RANGE { error.of_argument(1, IN_RANGE) } else { error };
    clock.plan(planned).map_err(wrong)?;
    Ok(ClockOrder::Planned)
}

/// Returns the error for a wrong number of milliseconds, less than `least` or out of a clock's range from `now_ms`.
#[cold]
fn wrong_ms(error: CommandError, from_script: bool, now_ms: i64, least: i64) -> CommandError {
    let valid = match from_script {
        true if least == 0 => FORWARD_IN_RANGE,
        true => IN_RANGE,
        false => ValidValues::Integer(least, Clock::MAX_MS - now_ms),
    };
    error.of_argument(1, valid)
}

fn info(_: &mut EngineClock, _: bool, _: Args<'_>) -> Ordered {
    Ok(ClockOrder::Inform)
}

fn freeze(clock: &mut EngineClock, _: bool, _: Args<'_>) -> Ordered {
    change(clock, ClockChange::Freeze)
}

fn resume(clock: &mut EngineClock, _: bool, _: Args<'_>) -> Ordered {
    change(clock, ClockChange::Resume)
}

fn reset(clock: &mut EngineClock, _: bool, _: Args<'_>) -> Ordered {
    change(clock, ClockChange::Reset)
}

#[derive(Debug)]
struct AdvanceOptions {
    waiters: RedissonWaiters,
    settle: Option<Settle>,
}

impl AdvanceOptions {
    /// Parses the options of a request; the symbols are those of NOWAKE, SETTLE and LIMIT.
    fn of(parsed: &ParsedArgs<'_>, [nowake, settle, limit]: [Symbol; 3]) -> Result<Self, CommandError> {
        let limit = parsed.number(limit)?.map_or(Settle::DEFAULT_LIMIT, Duration::from_millis);
        let settle = parsed.number(settle)?.map(|quiet| Settle::new(Duration::from_millis(quiet), limit));
        let is_asleep = parsed.has(nowake);
        let waiters = if is_asleep { RedissonWaiters::LeftAsleep } else { RedissonWaiters::Woken };
        Ok(AdvanceOptions { waiters, settle })
    }
}

fn advance(clock: &mut EngineClock, from_script: bool, args: Args<'_>) -> Ordered {
    let parsed: ParsedArgs<'_> = ADVANCE.parse(args)?;
    let latest_ms = clock.now().wall_ms().max(clock.now().monotonic_ms());
    let wrong = |error| wrong_ms(error, from_script, latest_ms, 0);
    let ms = args.int_in(1, 0, i64::MAX, errors::NOT_AN_INTEGER).map_err(wrong)?.unsigned_abs();
    let AdvanceOptions { waiters, settle } = AdvanceOptions::of(&parsed, ADVANCE_OPTIONS)?;
    if from_script {
        if settle.is_some() {
            return Err(SETTLES_IN_SCRIPT);
        }
        return plan(clock, PlannedAdvance::Advance { ms, waiters });
    }
    let advance = clock.advance_by(ms).map_err(|_| wrong(OUT_OF_RANGE))?;
    Ok(order(advance.waking(waiters).settling(settle)))
}

fn next(_: &mut EngineClock, _: bool, args: Args<'_>) -> Ordered {
    let parsed: ParsedArgs<'_> = NEXT.parse(args)?;
    let count = parsed.number(COUNT)?.unwrap_or(1);
    let AdvanceOptions { waiters, settle } = AdvanceOptions::of(&parsed, NEXT_OPTIONS)?;
    Ok(order(ClockAdvance::to_next(count).waking(waiters).settling(settle)))
}

fn step(clock: &mut EngineClock, from_script: bool, args: Args<'_>) -> Ordered {
    let now_ms = clock.now().wall_ms();
    let wrong = |error| wrong_ms(error, from_script, now_ms, -now_ms);
    let ms = args.int(1).map_err(wrong)?;
    if from_script {
        return plan(clock, PlannedAdvance::Step(ms));
    }
    change(clock, ClockChange::Step(ms)).map_err(|_| wrong(OUT_OF_RANGE))
}

fn set(clock: &mut EngineClock, _: bool, args: Args<'_>) -> Ordered {
    let set = args.int(1).and_then(|ms| change(clock, ClockChange::Set(ms)));
    set.map_err(|error| error.of_argument(1, ValidValues::Integer(0, Clock::MAX_MS)))
}

fn change(clock: &EngineClock, change: ClockChange) -> Ordered {
    Ok(order(clock.advance_changing(change)?))
}
