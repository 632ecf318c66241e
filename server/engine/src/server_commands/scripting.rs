//! Scripts: EVAL and its relatives, SCRIPT, and the engine as the host that scripts call.

use crate::core::permit::{Caller, decide};
use crate::core::{Call, Engine, Handler, Origin};
use crate::keyspace::ScriptInputs;
use crate::scripts::{Scripts, kill_error};
use crate::spec::{Args, CommandError, Flags, KeyFlags, KeySpec, Outcome, Row};
use lockwheel_resp::Reply;
use lockwheel_scripting::{Host, Runtime, ScriptId};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

const EVAL_FLAGS: Flags = Flags::of(&[
    Flags::NOSCRIPT,
    Flags::STALE,
    Flags::SKIP_MONITOR,
    Flags::MAY_REPLICATE,
    Flags::NO_MANDATORY_KEYS,
    Flags::MOVABLEKEYS,
]);
const EVAL_RO_FLAGS: Flags = Flags::of(&[
    Flags::NOSCRIPT,
    Flags::STALE,
    Flags::SKIP_MONITOR,
    Flags::READONLY,
    Flags::NO_MANDATORY_KEYS,
    Flags::MOVABLEKEYS,
]);
const EVAL_KEYS: KeySpec = KeySpec::counted(2, &[KeyFlags::RW, KeyFlags::ACCESS, KeyFlags::UPDATE]);
const EVAL_RO_KEYS: KeySpec = KeySpec::counted(2, &[KeyFlags::RO, KeyFlags::ACCESS]);
const EVAL_ERRORS: &[&str] = &[
    "ERR value is not an integer or out of range",
    "ERR Number of keys can't be greater than number of args",
    "ERR Number of keys can't be negative",
];

/// The rows of this file.
pub(super) const ROWS: &[Row<Handler>] = &[
    Row::new("eval", -3, Handler::Engine(eval))
        .flags(&[EVAL_FLAGS])
        .categories(&["scripting"])
        .keys(&[
            EVAL_KEYS.notes("We cannot tell how the keys will be used so we assume the worst, RW and UPDATE")
        ])
        .about("scripting", "2.6.0", "Depends on the script that is executed.")
        .summary("Runs a script.")
        .syntax("script numkeys [key [key ...]] [arg [arg ...]]")
        .errors(EVAL_ERRORS),
    Row::new("eval_ro", -3, Handler::Engine(eval_ro))
        .flags(&[EVAL_RO_FLAGS])
        .categories(&["scripting"])
        .keys(&[EVAL_RO_KEYS
            .notes("We cannot tell how the keys will be used so we assume the worst, RO and ACCESS")])
        .about("scripting", "7.0.0", "Depends on the script that is executed.")
        .summary("Runs a script that may not write.")
        .syntax("script numkeys [key [key ...]] [arg [arg ...]]")
        .errors(EVAL_ERRORS),
    Row::new("evalsha", -3, Handler::Engine(evalsha))
        .flags(&[EVAL_FLAGS])
        .categories(&["scripting"])
        .keys(&[EVAL_KEYS])
        .about("scripting", "2.6.0", "Depends on the script that is executed.")
        .summary("Runs a script by its SHA-1 digest.")
        .syntax("sha1 numkeys [key [key ...]] [arg [arg ...]]")
        .errors(EVAL_ERRORS),
    Row::new("evalsha_ro", -3, Handler::Engine(evalsha_ro))
        .flags(&[EVAL_RO_FLAGS])
        .categories(&["scripting"])
        .keys(&[EVAL_RO_KEYS])
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
        .syntax("YES | SYNC | NO")
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
        .tips(&["request_policy:all_nodes", "response_policy:all_succeeded"]),
];

fn eval(engine: &mut Engine, call: Call<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    run(engine, call, args, reply, intern, false)
}

fn eval_ro(engine: &mut Engine, call: Call<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    run(engine, call, args, reply, intern, true)
}

fn evalsha(engine: &mut Engine, call: Call<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    run(engine, call, args, reply, find, false)
}

fn evalsha_ro(engine: &mut Engine, call: Call<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    run(engine, call, args, reply, find, true)
}

/// Finds the script that the first argument names.
type Lookup = fn(&mut Runtime, &[u8]) -> Result<ScriptId, CommandError>;

fn intern(runtime: &mut Runtime, body: &[u8]) -> Result<ScriptId, CommandError> {
    runtime.intern(body).map_err(|error| CommandError::new(error.into_bytes()))
}

fn find(runtime: &mut Runtime, sha: &[u8]) -> Result<ScriptId, CommandError> {
    runtime.find(sha).ok_or(CommandError::text("NOSCRIPT No matching script. Please use EVAL."))
}

fn run(
    engine: &mut Engine,
    call: Call<'_>,
    args: Args<'_>,
    reply: &mut dyn Reply,
    lookup: Lookup,
    read_only: bool,
) -> Outcome {
    let keys = args.int(2)?;
    if keys > args.len() as i64 - 3 {
        return Err(CommandError::text("ERR Number of keys can't be greater than number of args"));
    }
    let keys =
        usize::try_from(keys).map_err(|_| CommandError::text("ERR Number of keys can't be negative"))?;
    let (keys, rest) = args.from(3).split_at(keys);
    let runtime = engine.scripts.idle()?;
    let id = lookup(runtime, &args[1])?;
    let read_only = read_only || runtime.flags(id).no_writes;
    // Scripts of a transaction share its instant, but each has its own time before it is slow.
    let began = if call.origin() == Origin::Transaction { engine.system_now() } else { engine.time.system };
    let inputs = ScriptInputs { keys, arguments: rest };
    let inner = call.of_script(&inputs);
    let failed = with_runtime(engine, |engine, runtime| {
        let script = runtime.begin(id, began.monotonic_ms().unsigned_abs());
        let mut host = ScriptHost { engine, call: inner, read_only, new_errors: false, old_errors: 0 };
        script.run(keys, rest, &mut host, reply);
        host.old_errors + u64::from(host.new_errors)
    })?;
    if failed > 0
        && let Some(command) = engine.commands.resolve(args)
    {
        engine.observers.stats.failed_late(command.id, failed);
    }
    // SELECT in a script affects only the script.
    engine.sessions.get_mut(call.slot).db = call.db;
    Ok(())
}

/// Takes the runtime for `run`, and puts it back even after a panic: a bug in a command costs the client that called
/// it, and does not lose the runtime.
fn with_runtime<T>(
    engine: &mut Engine,
    run: impl FnOnce(&mut Engine, &mut Runtime) -> T,
) -> Result<T, CommandError> {
    let mut runtime = engine.scripts.take()?;
    let ran = catch_unwind(AssertUnwindSafe(|| run(engine, &mut runtime)));
    engine.scripts.put_back(runtime);
    Ok(ran.unwrap_or_else(|panic| resume_unwind(panic)))
}

/// A script that calls a command. Its caller has authenticated.
struct Script {
    read_only: bool,
    restricted: bool,
}

impl Caller for Script {
    const ORIGIN: Origin = Origin::Script;

    fn is_read_only(&self) -> bool {
        self.read_only
    }

    fn is_restricted(&self) -> bool {
        self.restricted
    }
}

/// The engine, as a script sees it.
struct ScriptHost<'a> {
    engine: &'a mut Engine,
    /// Its calls.
    call: Call<'a>,
    read_only: bool,
    /// The script's answer includes errors that no command has given; and how many others.
    new_errors: bool,
    old_errors: u64,
}

impl Host for ScriptHost<'_> {
    fn call(&mut self, argv: &[&[u8]], reply: &mut dyn Reply) {
        let args = Args::new(argv);
        let restricted = self.engine.switches.restricts_scripts;
        let script = Script { read_only: self.read_only, restricted };
        let (id, writes) = match decide(&script, &self.engine.commands, args) {
            Ok(command) => (command.id, command.has(Flags::WRITE)),
            Err(refusal) => return self.engine.refuse_call(refusal, args, reply),
        };
        if writes && !self.engine.scripts.control().mark_write() {
            // SCRIPT KILL has already been answered: the script ends as soon as this returns, whatever the reply.
            return reply.null();
        }
        // The last call may have been SELECT.
        self.call.db = self.engine.session(self.call.slot).db;
        self.engine.run(self.call, id, args, reply);
        self.engine.deliver_messages();
    }

    fn log(&mut self, level: u8, message: &[u8]) {
        let message = String::from_utf8_lossy(message);
        match level {
            0 => tracing::trace!(target: "script", "{message}"),
            1 => tracing::debug!(target: "script", "{message}"),
            2 => tracing::info!(target: "script", "{message}"),
            _ => tracing::warn!(target: "script", "{message}"),
        }
    }

    fn on_slow(&mut self) {
        if let Some(host) = self.engine.environment.host.clone() {
            host.serve_while_slow(self.engine);
        }
    }

    fn clock_us(&self) -> u64 {
        self.engine.system_now().monotonic_us
    }

    fn answered_error(&mut self, text: &[u8], is_new: bool, times: u64) {
        if is_new {
            self.new_errors = true;
            self.engine.observers.stats.answered_errors(text, times);
        } else {
            self.old_errors += times;
        }
    }

    fn may_run(&mut self, argv: &[&[u8]]) -> Option<bool> {
        let command = self.engine.commands.resolve(Args::new(argv))?;
        // A container by itself is no command, unless nothing follows it.
        let known = command.subcommands.is_empty() || argv.len() == 1;
        known.then_some(true)
    }
}

/// There is no debugger: it can be turned off, and not on.
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

/// Reached only when no script is slow: then there is none to kill. The net room kills a slow one, or the engine's host
/// does, without waiting for the engine.
fn script_kill(scripts: &mut Scripts, _: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    scripts.control().kill().map_err(kill_error)?;
    reply.ok();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clients::{Outbox, Peer};
    use crate::config::Config;
    use crate::time::Now;
    use lockwheel_resp::{Protocol, Writer};

    #[test]
    fn a_script_that_was_killed_does_not_write_however_late_it_learns() {
        let at = Now { wall_us: 0, monotonic_us: 0 };
        let mut engine = Engine::new(Config::default(), 7, at);
        engine.begin(at);
        let slot = engine.connect(Peer::default());
        let call = Call::by(engine.session(slot)).of_script(&ScriptInputs { keys: &[], arguments: &[] });
        let mut set = |killed: bool| {
            let mut runtime = engine.scripts.take().unwrap();
            let id = runtime.intern(b"return 1").unwrap();
            let script = runtime.begin(id, 0);
            if killed {
                assert_eq!(engine.scripts.control().kill(), Ok(()));
            }
            let engine = &mut engine;
            let mut host = ScriptHost { engine, call, read_only: false, new_errors: false, old_errors: 0 };
            let mut out = Vec::new();
            host.call(&[b"set", b"k", b"v"], &mut Writer::new(&mut out, Protocol::Resp2));
            drop(script);
            engine.scripts.put_back(runtime);
            let mut keys = Outbox::default();
            engine.execute(slot, &[b"EXISTS", b"k"]);
            engine.take_output(slot, &mut keys);
            keys.bytes().to_vec()
        };
        assert_eq!(set(true), b":0\r\n");
        assert_eq!(set(false), b":1\r\n");
    }
}
