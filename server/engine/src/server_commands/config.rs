//! CONFIG: the parameters of the server.

use crate::config::Config;
use crate::core::{Call, Engine, EngineHandler, Handler};
use crate::spec::{Args, CommandError, Flags, Outcome, Row, errors};
use lockwheel_resp::Reply;

const FLAGS: Flags = Flags::of(&[Flags::ADMIN, Flags::NOSCRIPT, Flags::LOADING, Flags::STALE]);

/// The rows of this file.
pub(super) const ROWS: &[Row<Handler>] = &[Row::container("config", -2, CONFIG)
    .about("server", "2.0.0", "Depends on the subcommand.")
    .summary("Reads and changes the server's parameters.")];

const fn row(name: &'static str, arity: i32, handler: EngineHandler) -> Row<Handler> {
    Row::new(name, arity, Handler::Engine(handler)).flags(&[FLAGS])
}

const CONFIG: &[Row<Handler>] = &[
    row("get", -3, get)
        .about("server", "2.0.0", "O(N), N the named parameters and patterns")
        .summary("Gives the values of parameters.")
        .help(&["GET <pattern>", "    Return parameters matching the glob-like <pattern> and their values."])
        .syntax("parameter [parameter ...]"),
    Row::help_command("help", 2)
        .flags(&[Flags::LOADING, Flags::STALE])
        .about("server", "5.0.0", "O(1)")
        .summary("Explains the subcommands."),
    row("resetstat", 2, resetstat)
        .about("server", "2.0.0", "O(N), N the commands")
        .summary("Begins the counters of INFO anew.")
        .help(&["RESETSTAT", "    Reset statistics reported by the INFO command."])
        .tips(&["request_policy:all_nodes", "response_policy:all_succeeded"]),
    row("set", -4, set)
        .secrets(secrets_of_set)
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

fn get(engine: &mut Engine, _: Call<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let pairs = engine.config.get(args.from(2));
    reply.map(pairs.len());
    for (name, value) in pairs {
        reply.bulk(&name);
        reply.bulk(&value);
    }
    Ok(())
}

fn set(engine: &mut Engine, call: Call<'_>, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
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
fn secrets_of_set(args: Args<'_>) -> Vec<usize> {
    let is_secret = |&at: &usize| crate::config::is_secret(&args[at - 1]);
    (3..args.len()).step_by(2).filter(is_secret).collect()
}

fn resetstat(engine: &mut Engine, _: Call<'_>, _: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    engine.stats.reset();
    let dirty = engine.keyspace.counters.dirty;
    engine.keyspace.counters = crate::keyspace::Counters { dirty, ..Default::default() };
    reply.ok();
    Ok(())
}
