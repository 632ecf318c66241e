//! CONFIG: the configuration parameters of the server.

use crate::config::{Config, HostChanges, HostRefusal, Surroundings, system_reason};
use crate::core::{ConfigControl, ConfigFile, Handler, Host, LOADING, ServerHandler};
use crate::spec::{Args, CommandError, Flags, Outcome, Row, errors};
use crate::statistics::Stats;
use lockwheel_resp::Reply;
use lockwheel_store::keyspace::Counters;
use std::io;

const FLAGS: Flags = Flags::of(&[Flags::ADMIN, Flags::NOSCRIPT, Flags::LOADING, Flags::STALE]);

/// The parameters that cannot be set while the data are being loaded.
const NOT_WHILE_LOADING: [&str; 2] = ["appendonly", "dir"];

pub(super) const ROWS: &[Row<Handler>] = &[Row::container("config", -2, CONFIG)
    .about("server", "2.0.0", "Depends on subcommand.")
    .summary("Reads and changes the server's parameters.")];

const fn row(name: &'static str, arity: i32, handler: Handler) -> Row<Handler> {
    Row::new(name, arity, handler).flags(&[FLAGS])
}

const CONFIG: &[Row<Handler>] = &[
    row("get", -3, Handler::Config(get))
        .about("server", "2.0.0", "O(N) when N is the number of configuration parameters provided")
        .summary("Gives the values of parameters.")
        .history(&[("7.0.0", "Added the ability to pass multiple pattern parameters in one call")])
        .help(&["GET <pattern>", "    Return parameters matching the glob-like <pattern> and their values."])
        .syntax("(parameter: parameter) ...")
        .before("7.0.0", "parameter"),
    Row::help_command("help", 2)
        .flags(&[Flags::LOADING, Flags::STALE])
        .about("server", "5.0.0", "O(1)")
        .summary("Explains the subcommands."),
    row("resetstat", 2, Handler::Statistics(resetstat))
        .about("server", "2.0.0", "O(1)")
        .summary("Resets the counters of INFO.")
        .help(&["RESETSTAT", "    Reset statistics reported by the INFO command."])
        .tips(&["request_policy:all_nodes", "response_policy:all_succeeded"]),
    row("rewrite", 2, Handler::Server(&ServerHandler::ConfigFile(rewrite)))
        .about("server", "2.8.0", "O(1)")
        .summary("Writes the parameters in force into the configuration file.")
        .help(&["REWRITE", "    Rewrite the configuration file."])
        .errors(&["ERR The server is running without a config file"]),
    row("set", -4, Handler::Server(&ServerHandler::SetConfig(set)))
        .secrets(secrets_of_set)
        .about("server", "2.0.0", "O(N) when N is the number of configuration parameters provided")
        .summary("Changes parameters, all that are named or none.")
        .history(&[("7.0.0", "Added the ability to set multiple parameters in one call.")])
        .help(&["SET <directive> <value>", "    Set the configuration <directive> to <value>."])
        .help_after("get")
        .syntax("parameter value [parameter value ...]")
        .before("7.0.0", "parameter value")
        .tips(&["request_policy:all_nodes", "response_policy:all_succeeded"])
        .errors(&[
            "ERR syntax error",
            "ERR Unknown option or number of arguments for CONFIG SET - 'parameter'",
            "ERR CONFIG SET failed (possibly related to argument 'parameter') - *",
        ]),
];

fn get(config: &Config, args: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    let pairs = config.get(args.from(2));
    reply.map(pairs.len());
    for (name, value) in pairs {
        reply.bulk(&name);
        reply.bulk(&value);
    }
    Ok(())
}

fn set(control: ConfigControl<'_>, args: Args<'_>) -> Outcome {
    let words = args.from(2);
    if !words.len().is_multiple_of(2) {
        return Err(errors::SYNTAX);
    }
    let pairs: Vec<(&[u8], &[u8])> = words.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
    let ConfigControl { config, host, is_local, is_loading } = control;
    let has = |name: &str| pairs.iter().any(|(set, _)| set.eq_ignore_ascii_case(name.as_bytes()));
    if is_loading && NOT_WHILE_LOADING.into_iter().any(has) {
        return Err(LOADING);
    }
    let set = match host {
        Some(host) => config.set_within(&pairs, is_local, &AroundHost(host)),
        None => config.set(&pairs, is_local),
    };
    set.map_err(|error| CommandError::new(error.as_bytes()))
}

/// The host, as seen by CONFIG SET.
struct AroundHost<'a>(&'a dyn Host);

impl Surroundings for AroundHost<'_> {
    fn enter(&self, directory: &str, path: &str) -> io::Result<String> {
        self.0.enter(directory, path)
    }

    fn follow(&self, parameters: &Config, changes: HostChanges) -> Result<(), HostRefusal> {
        self.0.follow(parameters, changes)
    }
}

/// Returns the positions of parameter values that are secrets.
fn secrets_of_set(args: Args<'_>) -> Vec<usize> {
    let is_secret = |&at: &usize| crate::config::is_secret(&args[at - 1]);
    (3..args.len()).step_by(2).filter(is_secret).collect()
}

fn rewrite(file: ConfigFile<'_>, reply: &mut dyn Reply) -> Outcome {
    if !file.is_named() {
        return Err(CommandError::text("ERR The server is running without a config file"));
    }
    file.rewrite(false).map_err(|error| {
        let reason = system_reason(&error);
        tracing::warn!("CONFIG REWRITE failed: {reason}");
        CommandError::new(format!("ERR Rewriting config file: {reason}"))
    })?;
    tracing::info!("CONFIG REWRITE executed with success.");
    reply.ok();
    Ok(())
}

fn resetstat(stats: &mut Stats, counters: &mut Counters, _: Args<'_>, reply: &mut dyn Reply) -> Outcome {
    stats.reset();
    counters.reset();
    reply.ok();
    Ok(())
}
