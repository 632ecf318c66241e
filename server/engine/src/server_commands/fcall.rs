//! FCALL and FCALL_RO: calls of library functions.

use super::script_rows::{
    NEGATIVE_KEYS, RUNS, TOO_MANY_KEYS, WRITES, check_cluster, inputs, reading, writing,
};
use crate::core::Handler;
use crate::scripts::{ScriptRules, ScriptRun, Scripts};
use crate::spec::{Args, CommandError, Flags, Row};

const NOT_FOUND: &str = "ERR Function not found";
const BAD_COUNT: &str = "ERR Bad number of keys provided";
const SYNTAX: &str = "function numkeys [key [key ...]] [arg [arg ...]]";

pub(super) const ROWS: &[Row<Handler>] = &[
    writing("fcall", Handler::Script(fcall))
        .flags(&[RUNS, Flags::MAY_REPLICATE])
        .about("scripting", "7.0.0", "Depends on the function that is executed.")
        .summary("Calls a function of a library.")
        .syntax(SYNTAX)
        .errors(&[NOT_FOUND, BAD_COUNT, TOO_MANY_KEYS, NEGATIVE_KEYS]),
    reading("fcall_ro", Handler::Script(fcall_ro))
        .about("scripting", "7.0.0", "Depends on the function that is executed.")
        .summary("Calls a function that does not write.")
        .syntax(SYNTAX)
        .errors(&[NOT_FOUND, BAD_COUNT, TOO_MANY_KEYS, NEGATIVE_KEYS, WRITES]),
];

fn fcall<'a>(scripts: &mut Scripts, is_node: bool, args: Args<'a>) -> Result<ScriptRun<'a>, CommandError> {
    function(scripts, is_node, args, false)
}

fn fcall_ro<'a>(scripts: &mut Scripts, is_node: bool, args: Args<'a>) -> Result<ScriptRun<'a>, CommandError> {
    function(scripts, is_node, args, true)
}

/// Finds the function that the first argument names, with its keys and arguments.
fn function<'a>(
    scripts: &Scripts,
    is_node: bool,
    args: Args<'a>,
    read_only: bool,
) -> Result<ScriptRun<'a>, CommandError> {
    let function = scripts.libraries().find(&args[1]).ok_or(CommandError::text(NOT_FOUND))?;
    let keys = args.int(2).map_err(|_| CommandError::text(BAD_COUNT))?;
    let inputs = inputs(args, keys)?;
    check_cluster(is_node, function.flags)?;
    let no_writes = function.flags.no_writes;
    if read_only && !no_writes {
        return Err(CommandError::text(WRITES));
    }
    // A function always declares its flags.
    let flags = lockwheel_scripting::Flags { shebang: true, ..function.flags };
    Ok(ScriptRun { id: function.id.into(), inputs, rules: ScriptRules::of(flags, no_writes) })
}
