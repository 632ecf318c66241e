//! FCALL and FCALL_RO: functions of libraries.

use super::script_run::{self, WRITES, inputs};
use crate::core::{Call, Engine, Handler};
use crate::spec::{Args, CommandError, Flags, KeyFlags, KeySpec, Outcome, Row};
use lockwheel_resp::Reply;

const FCALL_FLAGS: Flags = Flags::of(&[
    Flags::NOSCRIPT,
    Flags::STALE,
    Flags::SKIP_MONITOR,
    Flags::NO_MANDATORY_KEYS,
    Flags::MOVABLEKEYS,
]);
const FCALL_RO_FLAGS: Flags = Flags::of(&[
    Flags::NOSCRIPT,
    Flags::STALE,
    Flags::SKIP_MONITOR,
    Flags::READONLY,
    Flags::NO_MANDATORY_KEYS,
    Flags::MOVABLEKEYS,
]);
const FCALL_KEYS: KeySpec = KeySpec::counted(2, &[KeyFlags::RW, KeyFlags::ACCESS, KeyFlags::UPDATE])
    .notes("We cannot tell how the keys will be used so we assume the worst, RW and UPDATE");
const FCALL_RO_KEYS: KeySpec = KeySpec::counted(2, &[KeyFlags::RO, KeyFlags::ACCESS])
    .notes("We cannot tell how the keys will be used so we assume the worst, RO and ACCESS");
const NOT_FOUND: CommandError = CommandError::text("ERR Function not found");
const BAD_COUNT: CommandError = CommandError::text("ERR Bad number of keys provided");

/// The rows of this file.
pub(super) const ROWS: &[Row<Handler>] = &[
    Row::new("fcall", -3, Handler::Engine(fcall))
        .flags(&[FCALL_FLAGS])
        .categories(&["scripting"])
        .keys(&[FCALL_KEYS])
        .about("scripting", "7.0.0", "Depends on the function that is executed.")
        .summary("Calls a function of a library.")
        .syntax("function numkeys [key [key ...]] [arg [arg ...]]")
        .errors(&[
            "ERR Function not found",
            "ERR Bad number of keys provided",
            "ERR Number of keys can't be greater than number of args",
            "ERR Number of keys can't be negative",
        ]),
    Row::new("fcall_ro", -3, Handler::Engine(fcall_ro))
        .flags(&[FCALL_RO_FLAGS])
        .categories(&["scripting"])
        .keys(&[FCALL_RO_KEYS])
        .about("scripting", "7.0.0", "Depends on the function that is executed.")
        .summary("Calls a function that does not write.")
        .syntax("function numkeys [key [key ...]] [arg [arg ...]]")
        .errors(&[
            "ERR Function not found",
            "ERR Bad number of keys provided",
            "ERR Number of keys can't be greater than number of args",
            "ERR Number of keys can't be negative",
            "ERR Can not execute a script with write flag using *_ro command.",
        ]),
];

fn fcall(engine: &mut Engine, call: Call<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    run(engine, call, args, reply, false)
}

fn fcall_ro(engine: &mut Engine, call: Call<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    run(engine, call, args, reply, true)
}

fn run(
    engine: &mut Engine,
    call: Call<'_>,
    args: Args<'_>,
    reply: &mut dyn Reply,
    read_only: bool,
) -> Outcome {
    let function = engine.scripts.libraries().find(&args[1]).ok_or(NOT_FOUND)?;
    let inputs = inputs(args, args.int(2).map_err(|_| BAD_COUNT)?)?;
    let no_writes = function.flags.no_writes;
    if read_only && !no_writes {
        return Err(WRITES);
    }
    script_run::run(engine, call, args, function.id.into(), inputs, no_writes, reply)
}
