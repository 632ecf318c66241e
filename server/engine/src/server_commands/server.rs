//! The commands of the server itself: CONFIG, DEBUG, ROLE, SHUTDOWN, TIME, WAIT.

use crate::config::Config;
use crate::core::{Call, Engine, Handler, Origin, Retry, Stop};
use crate::spec::{
    Args, CommandError, Flags, Flow, Null, Outcome, Row, Wait, errors, help, unknown_or_arity,
};
use lockwheel_resp::{Reply, number};
use std::time::Duration;

const CONFIG_FLAGS: Flags = Flags::of(&[Flags::ADMIN, Flags::NOSCRIPT, Flags::LOADING, Flags::STALE]);

const DEBUG_REFUSED: &str = "ERR DEBUG command not allowed. If the enable-debug-command option is set to \"local\", \
                             you can run it from a local connection, otherwise you need to set this option in the \
                             configuration file, and then restart the server.";

/// The rows of this file.
pub(super) const ROWS: &[Row<Handler>] = &[
    Row::container("config", -2, CONFIG)
        .about("server", "2.0.0", "Depends on the subcommand.")
        .summary("Reads and changes the server's parameters."),
    Row::new("debug", -2, Handler::Engine(debug))
        .flags(&[CONFIG_FLAGS])
        .about("server", "1.0.0", "O(1)")
        .summary("Does what a test needs and nobody else should: stops the whole server for a while.")
        .syntax("(SLEEP seconds | HELP)")
        .help(&["SLEEP <seconds>", "    Stop the server for <seconds>. Decimals allowed."])
        .errors(&[
            "ERR unknown subcommand or wrong number of arguments for 'subcommand'. Try DEBUG HELP.",
            DEBUG_REFUSED,
        ]),
    Row::new("role", 1, Handler::Engine(role))
        .flags(&[Flags::NOSCRIPT, Flags::LOADING, Flags::STALE, Flags::FAST])
        .categories(&["admin", "dangerous"])
        .about("server", "2.8.12", "O(1)")
        .summary("Tells the server's part in replication: always the master's."),
    Row::new("shutdown", -1, Handler::Engine(shutdown))
        .flags(&[CONFIG_FLAGS, Flags::NO_MULTI, Flags::ALLOW_BUSY])
        .about("server", "1.0.0", "O(1)")
        .summary("Ends the server.")
        .syntax("[NOSAVE | SAVE] [NOW] [FORCE] [ABORT]")
        .errors(&["ERR No shutdown in progress.", "ERR syntax error"]),
    Row::new("time", 1, Handler::Engine(time))
        .flags(&[Flags::LOADING, Flags::STALE, Flags::FAST])
        .about("server", "2.6.0", "O(1)")
        .summary("The server's time: Unix seconds, and microseconds of the second.")
        .tips(&["nondeterministic_output"]),
    Row::new("wait", 3, Handler::BlockingEngine(wait))
        .flags(&[Flags::BLOCKING])
        .categories(&["connection"])
        .about("generic", "3.0.0", "O(1)")
        .summary(
            "Waits until so many replicas have this client's writes; there are none, so for the whole time.",
        )
        .syntax("numreplicas timeout")
        .tips(&["request_policy:all_shards", "response_policy:agg_min"])
        .errors(&[
            "ERR timeout is negative",
            "ERR timeout is not an integer or out of range",
            "ERR value is not an integer or out of range",
        ]),
];

const fn config_row(name: &'static str, arity: i32, handler: crate::core::EngineHandler) -> Row<Handler> {
    Row::new(name, arity, Handler::Engine(handler)).flags(&[CONFIG_FLAGS])
}

const CONFIG: &[Row<Handler>] = &[
    config_row("get", -3, config_get)
        .about("server", "2.0.0", "O(N), N the named parameters and patterns")
        .summary("Gives the values of parameters.")
        .help(&["GET <pattern>", "    Return parameters matching the glob-like <pattern> and their values."])
        .syntax("parameter [parameter ...]"),
    Row::help_command("help", 2)
        .flags(&[Flags::LOADING, Flags::STALE])
        .about("server", "5.0.0", "O(1)")
        .summary("Explains the subcommands."),
    config_row("resetstat", 2, config_resetstat)
        .about("server", "2.0.0", "O(N), N the commands")
        .summary("Begins the counters of INFO anew.")
        .help(&["RESETSTAT", "    Reset statistics reported by the INFO command."])
        .tips(&["request_policy:all_nodes", "response_policy:all_succeeded"]),
    config_row("set", -4, config_set)
        .secrets(config_secrets)
        .about("server", "2.0.0", "O(N), N the named parameters")
        .summary("Changes parameters, all that are named or none.")
        .help(&["SET <directive> <value>", "    Set the configuration <directive> to <value>."])
        .help_after("get")
        .syntax("parameter value [parameter value ...]")
        .tips(&["request_policy:all_nodes", "response_policy:all_succeeded"])
        .errors(&[
            "ERR syntax error",
            "ERR Unknown option or number of arguments for CONFIG SET - 'parameter'",
            "ERR CONFIG SET failed (possibly related to argument 'parameter') - *",
        ]),
];

/// Within a script time stands, as it does for everything that a command asks of it; but a script that waits for it
/// would never end, and so it goes on once the script is slow.
fn time(engine: &mut Engine, call: Call<'_>, _: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let goes_on = call.origin == Origin::Script && engine.scripts.control().is_slow();
    let now = if goes_on { engine.time.clock.read(engine.system_now()) } else { engine.time.now };
    reply.array(2);
    for part in [now.wall_us.div_euclid(1_000_000), now.wall_us.rem_euclid(1_000_000)] {
        let mut digits = Vec::with_capacity(20);
        number::write_i64(part, &mut digits);
        reply.bulk(&digits);
    }
    Ok(())
}

fn config_get(engine: &mut Engine, _: Call<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let pairs = engine.config.get(args.from(2));
    reply.map(pairs.len());
    for (name, value) in pairs {
        reply.bulk(&name);
        reply.bulk(&value);
    }
    Ok(())
}

fn config_set(engine: &mut Engine, call: Call<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let words = args.from(2);
    if !words.len().is_multiple_of(2) {
        return Err(errors::SYNTAX);
    }
    let pairs: Vec<(&[u8], &[u8])> = words.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
    let local = engine.session(call.slot).peer.is_local();
    let host = engine.host.clone();
    let listen =
        |changed: &Config| host.is_some_and(|host| host.listen(&changed.bind_addresses(), changed.port));
    let before = engine.config.clone();
    let set = engine.config.set_and_listen(&pairs, local, listen);
    set.map_err(|error| CommandError::new(error.as_bytes()))?;
    engine.apply_config(&before);
    if engine.config.port != before.port {
        engine.identity.process.port = engine.config.port;
    }
    reply.ok();
    Ok(())
}

/// The values of parameters that are secrets.
fn config_secrets(args: Args<'_>) -> Vec<usize> {
    let is_secret = |&at: &usize| crate::config::is_secret(&args[at - 1]);
    (3..args.len()).step_by(2).filter(is_secret).collect()
}

fn config_resetstat(engine: &mut Engine, _: Call<'_>, _: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    engine.stats.reset();
    let dirty = engine.keyspace.counters.dirty;
    engine.keyspace.counters = crate::keyspace::Counters { dirty, ..Default::default() };
    reply.ok();
    Ok(())
}

/// Refused unless `enable-debug-command` allows it to the client.
fn debug(engine: &mut Engine, call: Call<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let local = engine.session(call.slot).peer.is_local();
    if !engine.config.enable_debug_command.allows(local) {
        return Err(CommandError::text(DEBUG_REFUSED));
    }
    if args.is(1, "help") && args.len() == 2 {
        if let Some(debug) = engine.table.resolve(args) {
            help::write_container(debug, reply);
        }
        return Ok(());
    }
    if !args.is(1, "sleep") || args.len() != 3 {
        return Err(unknown_or_arity(args));
    }
    // What is no number counts as none, as in Redis.
    let seconds = number::parse_f64(&args[2]).filter(|seconds| *seconds > 0.0).unwrap_or(0.0);
    // A cast from a float stays within the range of the integer.
    let us = (seconds * 1e6) as u64;
    engine.time.sleep(us);
    engine.stop = Some(Stop::Sleep(Duration::from_micros(us)));
    reply.ok();
    Ok(())
}

fn role(_: &mut Engine, _: Call<'_>, _: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    reply.array(3);
    reply.bulk(b"master");
    reply.integer(0);
    reply.array(0);
    Ok(())
}

/// No replica ever has a write: who asks for none is answered at once, everybody else when the time is over.
fn wait(
    _: &mut Engine,
    _: Call<'_>,
    args: Args<'_>,
    reply: &mut dyn Reply,
) -> Result<Flow<Retry>, CommandError> {
    let replicas = args.int(1)?;
    let timeout = args.int(2).map_err(|_| errors::TIMEOUT_NOT_AN_INTEGER)?;
    if timeout < 0 {
        return Err(errors::TIMEOUT_NEGATIVE);
    }
    // Redis keeps the lowest 32 bits of the number.
    if replicas <= 0 || replicas as i32 <= 0 {
        reply.integer(0);
        return Ok(Flow::Done);
    }
    let timeout_ms = (timeout > 0).then(|| timeout.unsigned_abs());
    Ok(Wait::new(Retry::Never, timeout_ms, Null::Zero).into())
}

/// The words of SHUTDOWN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ShutdownOptions {
    save: bool,
    nosave: bool,
    now: bool,
    force: bool,
    abort: bool,
}

impl ShutdownOptions {
    fn parse(args: Args<'_>) -> Result<Self, CommandError> {
        let mut options = ShutdownOptions::default();
        for at in 1..args.len() {
            let option = match &*args[at].to_ascii_lowercase() {
                b"save" => &mut options.save,
                b"nosave" => &mut options.nosave,
                b"now" => &mut options.now,
                b"force" => &mut options.force,
                b"abort" => &mut options.abort,
                _ => return Err(errors::SYNTAX),
            };
            *option = true;
        }
        let others = options.save || options.nosave || options.now || options.force;
        if (options.abort && others) || (options.save && options.nosave) {
            return Err(errors::SYNTAX);
        }
        Ok(options)
    }
}

/// Whether a SHUTDOWN ends the server even while a script is slow.
pub fn ends_unsaved(args: Args<'_>) -> bool {
    ShutdownOptions::parse(args).is_ok_and(|options| options.nosave)
}

/// There is nothing to save and nobody to wait for: every form but ABORT ends the server at once.
fn shutdown(engine: &mut Engine, call: Call<'_>, args: Args<'_>, _: &mut dyn Reply) -> Outcome {
    let options = ShutdownOptions::parse(args)?;
    if options.abort {
        return Err(CommandError::text("ERR No shutdown in progress."));
    }
    // A slow script is running, and this request came in from within it.
    if engine.scripts.is_running() && !options.nosave {
        return Err(errors::BUSY);
    }
    debug_assert_eq!(call.origin, Origin::Client, "SHUTDOWN is refused in transactions and scripts");
    engine.stop = Some(Stop::Shutdown);
    Ok(())
}
