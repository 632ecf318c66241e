//! `CLOCK.*`: a test turns the two hands.

use crate::core::{Call, Engine, Handler, RedissonWaiters};
use crate::spec::{Args, CommandError, Flags, Outcome, Row, errors};
use crate::time::{Clock, ClockError, Mode, Over};
use lockwheel_resp::Reply;

/// Moving time inside a script or a transaction would break its one instant: the clock moves when it has ended.
const FLAGS: Flags =
    Flags::of(&[Flags::CONTROL, Flags::NOSCRIPT, Flags::NO_MULTI, Flags::LOADING, Flags::STALE]);
const OUT_OF_RANGE: CommandError = CommandError::text("ERR time is out of range");
const OUT_OF_RANGE_ERROR: &[&str] =
    &["ERR time is out of range", "ERR value is not an integer or out of range"];

const fn row(name: &'static str, arity: i32, handler: crate::core::EngineHandler) -> Row<Handler> {
    Row::new(name, arity, Handler::Engine(handler)).flags(&[FLAGS]).categories(&["control"])
}

/// The rows of this file.
pub(super) const ROWS: &[Row<Handler>] = &[
    row("clock.info", 1, info)
        .about("control", "7.2.0", "O(1)")
        .summary("Tells where both hands stand and when the next deadline is.")
        .help(&[
            "CLOCK.INFO",
            "    Where both hands stand, how far the wall hand is from the system's time, and \
             when the next deadline is.",
        ]),
    row("clock.freeze", 1, freeze)
        .about("control", "7.2.0", "O(1)")
        .summary("Stops both hands.")
        .help(&["CLOCK.FREEZE", "    Both hands stand still."]),
    row("clock.resume", 1, resume)
        .about("control", "7.2.0", "O(1)")
        .summary("Lets both hands run from where they stand.")
        .help(&["CLOCK.RESUME", "    Both hands run from where they stand."]),
    row("clock.reset", 1, reset)
        .about("control", "7.2.0", "O(N), N the deadlines that fire")
        .summary("Sets the wall hand to the system's time and lets both run.")
        .help(&["CLOCK.RESET", "    The wall hand is the system's time again; both hands run."]),
    row("clock.advance", -2, advance)
        .about("control", "7.2.0", "O(N), N the deadlines that fire")
        .summary("Moves both hands, firing each deadline on the way at its own instant.")
        .help(&[
            "CLOCK.ADVANCE <milliseconds> [NOWAKE]",
            "    Move both hands; each deadline on the way fires at its own instant. Redisson's \
             waiters for what ends so",
            "    are told, but with NOWAKE.",
        ])
        .syntax("milliseconds [NOWAKE]")
        .errors(&[
            "ERR time is out of range",
            "ERR value is not an integer or out of range",
            "ERR syntax error",
        ]),
    row("clock.next", -1, next)
        .about("control", "7.2.0", "O(N), N the deadlines that fire")
        .summary("Moves both hands to the next deadline and fires it.")
        .help(&[
            "CLOCK.NEXT [COUNT <count>] [NOWAKE]",
            "    Move both hands to the next deadline and fire it.",
        ])
        .syntax("[COUNT count] [NOWAKE]")
        .errors(&["ERR syntax error", "ERR value is out of range, must be positive"]),
    row("clock.step", 2, step)
        .about("control", "7.2.0", "O(N), N the deadlines that fire")
        .summary("Moves the wall hand alone, forward or backward.")
        .help(&[
            "CLOCK.STEP <milliseconds>",
            "    Move the wall hand alone, as when a system's clock is set.",
        ])
        .syntax("milliseconds")
        .errors(OUT_OF_RANGE_ERROR),
    row("clock.set", 2, set)
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

fn info(engine: &mut Engine, _: Call<'_>, _: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let info = engine.time.clock.info(engine.time.system);
    reply.map(6);
    reply.bulk(b"mode");
    reply.bulk(match info.mode {
        Mode::Real => b"real",
        Mode::Manual => b"manual",
    });
    reply.bulk(b"wall");
    reply.integer(info.now.wall_ms());
    reply.bulk(b"monotonic");
    reply.integer(info.now.monotonic_ms());
    reply.bulk(b"offset");
    reply.integer(info.offset_ms);
    reply.bulk(b"next");
    match engine.next_in_ms() {
        Some(ms) => reply.integer(ms),
        None => reply.null(),
    }
    reply.bulk(b"timers");
    reply.integer(engine.pending_timers() as i64);
    Ok(())
}

fn reply_wall(engine: &Engine, reply: &mut dyn Reply) -> Outcome {
    reply.integer(engine.now().wall_ms());
    Ok(())
}

fn reply_fired(engine: &Engine, fired: u64, reply: &mut dyn Reply) -> Outcome {
    reply.map(2);
    reply.bulk(b"wall");
    reply.integer(engine.now().wall_ms());
    reply.bulk(b"fired");
    reply.integer(fired as i64);
    Ok(())
}

fn freeze(engine: &mut Engine, _: Call<'_>, _: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    engine.freeze();
    reply_wall(engine, reply)
}

fn resume(engine: &mut Engine, _: Call<'_>, _: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    engine.resume();
    reply_wall(engine, reply)
}

fn reset(engine: &mut Engine, _: Call<'_>, _: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    engine.turn_clock(Over::Past, Clock::reset);
    reply_wall(engine, reply)
}

fn advance(engine: &mut Engine, call: Call<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let ms = u64::try_from(args.int(1)?).map_err(|_| errors::NOT_AN_INTEGER)?;
    let wake = match args.from(2) {
        [] => RedissonWaiters::Woken,
        [word] if word.eq_ignore_ascii_case(b"nowake") => RedissonWaiters::LeftAsleep,
        _ => return Err(errors::SYNTAX),
    };
    let fired = engine.keep_active(call.slot, |engine| engine.advance(ms, wake))?;
    reply_fired(engine, fired, reply)
}

fn next(engine: &mut Engine, call: Call<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let (mut count, mut wake) = (None, RedissonWaiters::Woken);
    let mut at = 1;
    while at < args.len() {
        if args.is(at, "nowake") && wake == RedissonWaiters::Woken {
            wake = RedissonWaiters::LeftAsleep;
            at += 1;
        } else if args.is(at, "count") && count.is_none() && at + 1 < args.len() {
            count = Some(args.int_in(at + 1, 1, i64::MAX, errors::OUT_OF_RANGE_POSITIVE)?);
            at += 2;
        } else {
            return Err(errors::SYNTAX);
        }
    }
    let mut fired = None;
    for _ in 0..count.unwrap_or(1) {
        let more = engine.keep_active(call.slot, |engine| engine.advance_to_next(wake));
        let Some(more) = more else { break };
        fired = Some(fired.unwrap_or(0) + more);
    }
    match fired {
        Some(fired) => reply_fired(engine, fired, reply),
        None => {
            reply.null();
            Ok(())
        }
    }
}

fn step(engine: &mut Engine, _: Call<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    engine.step_wall(args.int(1)?)?;
    reply_wall(engine, reply)
}

fn set(engine: &mut Engine, _: Call<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let wall_ms = args.int(1)?;
    engine.turn_clock(Over::Reached, |clock, system| clock.set(system, wall_ms))?;
    reply_wall(engine, reply)
}
