//! FCALL and FCALL_RO: functions of libraries.

use super::script_rows::{NEGATIVE_KEYS, RUNS, TOO_MANY_KEYS, WRITES, reading, writing};
use super::script_run::{self, ScriptRules};
use crate::core::{Call, Engine, Handler};
use crate::spec::{Args, CommandError, Flags, Outcome, Row};
use lockwheel_resp::Reply;

const NOT_FOUND: &str = "ERR Function not found";
const BAD_COUNT: &str = "ERR Bad number of keys provided";
const SYNTAX: &str = "function numkeys [key [key ...]] [arg [arg ...]]";

/// The rows of this file.
pub(super) const ROWS: &[Row<Handler>] = &[
    writing("fcall", Handler::Engine(fcall))
        .flags(&[RUNS, Flags::MAY_REPLICATE])
        .about("scripting", "7.0.0", "Depends on the function that is executed.")
        .summary("Calls a function of a library.")
        .syntax(SYNTAX)
        .errors(&[NOT_FOUND, BAD_COUNT, TOO_MANY_KEYS, NEGATIVE_KEYS]),
    reading("fcall_ro", Handler::Engine(fcall_ro))
        .about("scripting", "7.0.0", "Depends on the function that is executed.")
        .summary("Calls a function that does not write.")
        .syntax(SYNTAX)
        .errors(&[NOT_FOUND, BAD_COUNT, TOO_MANY_KEYS, NEGATIVE_KEYS, WRITES]),
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
    engine.show_script(call, args);
    let function = engine.scripts.libraries().find(&args[1]).ok_or(CommandError::text(NOT_FOUND))?;
    let keys = args.int(2).map_err(|_| CommandError::text(BAD_COUNT))?;
    let inputs = script_run::inputs(args, keys)?;
    script_run::check_cluster(engine, function.flags)?;
    let no_writes = function.flags.no_writes;
    if read_only && !no_writes {
        return Err(CommandError::text(WRITES));
    }
    // A function always says what it does.
    let flags = lockwheel_scripting::Flags { shebang: true, ..function.flags };
    let rules = ScriptRules::of(flags, no_writes);
    script_run::run(engine, call, args, function.id.into(), inputs, rules, reply)
}
