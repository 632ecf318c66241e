//! Scripts: EVAL and its variants, and SCRIPT.

use super::script_rows::{
    KEYS, KEYS_READ, NEGATIVE_KEYS, RUNS, TOO_MANY_KEYS, WRITES, check_cluster, inputs, reading, writing,
};
use crate::core::Handler;
use crate::scripts::{ScriptRules, ScriptRun, Scripts};
use crate::spec::{Args, CommandError, Flags, Outcome, Row};
use lockwheel_resp::Reply;
use lockwheel_scripting::{EntryKind, Runtime, ScriptId};

const EVAL_FLAGS: &[Flags] = &[RUNS, Flags::MAY_REPLICATE];
const EVAL_ERRORS: &[&str] = &["ERR value is not an integer or out of range", TOO_MANY_KEYS, NEGATIVE_KEYS];

pub(super) const ROWS: &[Row<Handler>] = &[
    writing("eval", Handler::Script(eval))
        .flags(EVAL_FLAGS)
        .about("scripting", "2.6.0", "Depends on the script that is executed.")
        .summary("Runs a script.")
        .syntax("script numkeys [key [key ...]] [arg [arg ...]]")
        .refusing_before("7.0.0", |args| first_line_is_lua(&args[1]))
        .errors(EVAL_ERRORS),
    reading("eval_ro", Handler::Script(eval_ro))
        .about("scripting", "7.0.0", "Depends on the script that is executed.")
        .summary("Runs a script that may not write.")
        .syntax("script numkeys [key [key ...]] [arg [arg ...]]")
        .errors(EVAL_ERRORS),
    writing("evalsha", Handler::Script(evalsha))
        .flags(EVAL_FLAGS)
        .keys(KEYS)
        .about("scripting", "2.6.0", "Depends on the script that is executed.")
        .summary("Runs a script by its SHA-1 digest.")
        .syntax("sha1 numkeys [key [key ...]] [arg [arg ...]]")
        .errors(EVAL_ERRORS),
    reading("evalsha_ro", Handler::Script(evalsha_ro))
        .keys(KEYS_READ)
        .about("scripting", "7.0.0", "Depends on the script that is executed.")
        .summary("Runs a script by its SHA-1 digest; it may not write.")
        .syntax("sha1 numkeys [key [key ...]] [arg [arg ...]]")
        .errors(EVAL_ERRORS),
    Row::container("script", -2, SCRIPT)
        .about("scripting", "2.6.0", "Depends on subcommand.")
        .summary("Looks after the cache of scripts."),
];

const SCRIPT: &[Row<Handler>] = &[
    Row::new("debug", 3, Handler::Scripts(script_debug))
        .flags(&[Flags::NOSCRIPT])
        .categories(&["scripting"])
        .about("scripting", "3.2.0", "O(1)")
        .summary("Chooses whether scripts run in a debugger; there is none here.")
        .help(&["DEBUG (YES|SYNC|NO)", "    Set the debug mode for subsequent scripts executed."])
        .syntax("(mode: YES | SYNC | NO)")
        .errors(&["ERR Use SCRIPT DEBUG YES/SYNC/NO"]),
    Row::new("exists", -3, Handler::Scripts(script_exists))
        .flags(&[Flags::NOSCRIPT])
        .categories(&["scripting"])
        .about(
            "scripting",
            "2.6.0",
            "O(N) with N being the number of scripts to check (so checking a single script is an O(1) \
             operation).",
        )
        .summary("Tells which scripts are cached.")
        .help(&[
            "EXISTS <sha1> [<sha1> ...]",
            "    Return information about the existence of the scripts in the script cache.",
        ])
        .syntax("sha1 [sha1 ...]")
        .tips(&["request_policy:all_shards", "response_policy:agg_logical_and"]),
    Row::new("flush", -2, Handler::Scripts(script_flush))
        .flags(&[Flags::NOSCRIPT])
        .categories(&["scripting"])
        .about("scripting", "2.6.0", "O(N) with N being the number of scripts in cache")
        .summary("Empties the cache.")
        .history(&[("6.2.0", "Added the `ASYNC` and `SYNC` flushing mode modifiers.")])
        .help(&[
            "FLUSH [ASYNC|SYNC]",
            "    Flush the Lua scripts cache. Very dangerous on replicas.",
            "    When called without the optional mode argument, the behavior is determined by the",
            "    lazyfree-lazy-user-flush configuration directive. Valid modes are:",
            "    * ASYNC: Asynchronously flush the scripts cache.",
            "    * SYNC: Synchronously flush the scripts cache.",
        ])
        .syntax("[async@6.2.0: ASYNC | SYNC]")
        .tips(&["request_policy:all_nodes", "response_policy:all_succeeded"])
        .errors(&["ERR SCRIPT FLUSH only support SYNC|ASYNC option"]),
    Row::help_command("help", 2)
        .flags(&[Flags::LOADING, Flags::STALE])
        .categories(&["scripting"])
        .about("scripting", "5.0.0", "O(1)")
        .summary("Explains the subcommands."),
    Row::new("kill", 2, Handler::Scripts(script_kill))
        .flags(&[Flags::NOSCRIPT, Flags::ALLOW_BUSY])
        .categories(&["scripting"])
        .about("scripting", "2.6.0", "O(1)")
        .summary("Stops a slow script that has not written.")
        .help(&["KILL", "    Kill the currently executing Lua script."])
        .tips(&["request_policy:all_shards", "response_policy:one_succeeded"])
        .errors(&["NOTBUSY No scripts in execution right now."]),
    Row::new("load", 3, Handler::Scripts(script_load))
        .flags(&[Flags::NOSCRIPT, Flags::STALE])
        .categories(&["scripting"])
        .about("scripting", "2.6.0", "O(N) with N being the length in bytes of the script body.")
        .summary("Caches a script.")
        .help(&["LOAD <script>", "    Load a script into the scripts cache without executing it."])
        .syntax("script")
        .refusing_before("7.0.0", |args| first_line_is_lua(&args[2]))
        .tips(&["request_policy:all_nodes", "response_policy:all_succeeded"]),
];

/// Refuses a script with a shebang line, as versions before 7.0 do. There the line was invalid Lua.
fn first_line_is_lua(script: &[u8]) -> Option<CommandError> {
    let text = "ERR Error compiling script (new function): user_script:1: unexpected symbol near '#'";
    script.starts_with(b"#!").then_some(CommandError::text(text))
}

fn eval<'a>(scripts: &mut Scripts, is_node: bool, args: Args<'a>) -> Result<ScriptRun<'a>, CommandError> {
    script(scripts, is_node, args, intern, false)
}

fn eval_ro<'a>(scripts: &mut Scripts, is_node: bool, args: Args<'a>) -> Result<ScriptRun<'a>, CommandError> {
    script(scripts, is_node, args, intern, true)
}

fn evalsha<'a>(scripts: &mut Scripts, is_node: bool, args: Args<'a>) -> Result<ScriptRun<'a>, CommandError> {
    script(scripts, is_node, args, find, false)
}

fn evalsha_ro<'a>(
    scripts: &mut Scripts,
    is_node: bool,
    args: Args<'a>,
) -> Result<ScriptRun<'a>, CommandError> {
    script(scripts, is_node, args, find, true)
}

/// A function that finds the script that the first argument names.
type Lookup = fn(&mut Runtime, &[u8]) -> Result<ScriptId, CommandError>;

fn intern(runtime: &mut Runtime, body: &[u8]) -> Result<ScriptId, CommandError> {
    runtime.intern(body).map_err(|error| CommandError::new(error.into_bytes()))
}

fn find(runtime: &mut Runtime, sha: &[u8]) -> Result<ScriptId, CommandError> {
    runtime.find(sha).ok_or(CommandError::text("NOSCRIPT No matching script. Please use EVAL."))
}

/// Finds the script that the first argument names, with its keys and arguments.
fn script<'a>(
    scripts: &mut Scripts,
    is_node: bool,
    args: Args<'a>,
    lookup: Lookup,
    read_only: bool,
) -> Result<ScriptRun<'a>, CommandError> {
    let inputs = inputs(args, args.int(2)?)?;
    let runtime = scripts.idle()?;
    let id = lookup(runtime, &args[1])?;
    let flags = runtime.flags(id);
    check_cluster(is_node, flags)?;
    if flags.shebang && read_only && !flags.no_writes {
        return Err(CommandError::text(WRITES));
    }
    Ok(ScriptRun { id: id.into(), inputs, rules: ScriptRules::of(flags, read_only) })
}

/// Accepts turning the debugger off, and refuses turning it on, since there is none.
fn script_debug(_: &mut Scripts, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    if args.is(2, "no") {
        reply.ok();
        return Ok(());
    }
    Err(CommandError::text(if args.is(2, "yes") || args.is(2, "sync") {
        "ERR this server has no debugger for scripts"
    } else {
        "ERR Use SCRIPT DEBUG YES/SYNC/NO"
    }))
}

fn script_load(scripts: &mut Scripts, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let sha = scripts.idle()?.load(&args[2]).map_err(|error| CommandError::new(error.into_bytes()))?;
    reply.bulk(sha.as_bytes());
    Ok(())
}

fn script_exists(scripts: &mut Scripts, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let runtime = scripts.idle()?;
    reply.array(args.len() - 2);
    for sha in args.from(2) {
        reply.integer(i64::from(runtime.exists(sha)));
    }
    Ok(())
}

fn script_flush(scripts: &mut Scripts, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let known = args.len() == 2 || (args.len() == 3 && (args.is(2, "sync") || args.is(2, "async")));
    if !known {
        return Err(CommandError::text("ERR SCRIPT FLUSH only support SYNC|ASYNC option"));
    }
    scripts.idle()?.flush();
    reply.ok();
    Ok(())
}

/// Replies that there is no script to kill. This code only runs when no script is slow. The network layer or the
/// engine's host kills a slow script without waiting for the engine.
fn script_kill(scripts: &mut Scripts, _: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    scripts.kill(EntryKind::Script)?;
    reply.ok();
    Ok(())
}
