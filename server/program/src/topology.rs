//! `topology`: several servers in this process, on one clock.

use super::command_line::SHAPES;
use super::files::{PublishedFile, SystemFiles};
use super::output::say;
use super::parent::Parent;
use super::usage_error::explain_beside;
use super::{allocator, command_line, log, ready, serve};
use lockwheel::{Server, Topology, TopologyBuilder};
use lockwheel_engine::COMMAND_NAMES;
use lockwheel_engine::config::{Config, Invocation, system_reason};
use lockwheel_engine::spec::{nearest, suggestion};
use std::ffi::{OsStr, OsString};
use std::process::ExitCode;
use std::time::Duration;

/// The time for which a shutdown waits for running commands.
const PATIENCE: Duration = Duration::from_millis(500);

const MAX_SERVERS: usize = 64;

/// The shape of a topology. A cluster has a number of masters, and of replicas for each master.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Replicas(usize),
    Cluster(usize, usize),
    Sentinel { sentinels: usize, replicas: usize },
}

/// Parses the number of servers of a kind, which is from 1 to one less than the maximum of a topology.
fn count_of(kind: &str, text: &str) -> Result<usize, String> {
    let counted = text.parse().ok().filter(|count| (1..MAX_SERVERS).contains(count));
    counted.ok_or_else(|| format!("A topology has 1 to {} {kind}, not '{text}'", MAX_SERVERS - 1))
}

impl Shape {
    /// Parses the shape from the first two words, which quotes may join. Returns it with the options that follow.
    fn parse(words: &[OsString]) -> Result<(Self, Vec<OsString>), String> {
        let text = |at: usize| words.get(at).and_then(|word| word.to_str()).unwrap_or_default();
        let (kind, count, options) = match text(0).split_once(' ') {
            Some((kind, count)) => (kind, count.trim(), 1),
            None => (text(0), text(1), 2),
        };
        if count.is_empty() || count.starts_with("--") {
            no_count(kind).map_or(Ok(()), Err)?;
        }
        let mut rest = words.get(options..).unwrap_or_default().to_vec();
        if kind != "sentinel" && SHAPES.contains(&kind) && rest.iter().any(|option| option == "--replicas") {
            return Err(format!("--replicas belongs to 'topology sentinel', not to 'topology {kind}'"));
        }
        match (kind, count) {
            ("replicas", count) => Ok((Shape::Replicas(count_of("replicas", count)?), rest)),
            ("sentinel", count) => {
                let sentinels = count_of("sentinels", count)?;
                let replicas = take(&mut rest, "--replicas")
                    .map_or(Ok(1), |count| count_of("replicas", &count.to_string_lossy()))?;
                if 1 + replicas + sentinels > MAX_SERVERS {
                    return Err(format!("A topology has {MAX_SERVERS} servers at the most"));
                }
                Ok((Shape::Sentinel { sentinels, replicas }, rest))
            }
            ("cluster", shape) => {
                let counts = shape.split_once('x').unwrap_or((shape, "0"));
                let (masters, replicas) = (counts.0.parse::<usize>(), counts.1.parse::<usize>());
                let counted = masters.ok().zip(replicas.ok()).filter(|(masters, replicas)| {
                    let servers = replicas.checked_add(1).and_then(|shard| shard.checked_mul(*masters));
                    servers.is_some_and(|servers| (1..=MAX_SERVERS).contains(&servers))
                });
                let (masters, replicas) = counted.ok_or_else(|| {
                    format!(
                        "A cluster is masters x replicas, as 3x1, or masters alone, as 3, of 1 to {MAX_SERVERS} \
                         servers, not '{shape}'"
                    )
                })?;
                Ok((Shape::Cluster(masters, replicas), rest))
            }
            (kind, shape) => Err(no_shape(kind, shape)),
        }
    }

    /// Returns a sentence if the options and the shape contradict each other.
    fn contradiction(self, options: &[OsString], config: &Config) -> Option<&'static str> {
        let is_given = |name: &str| options.iter().any(|option| option == name);
        if !matches!(self, Shape::Cluster(..)) {
            const NO_NODES: &str =
                "The servers of a topology are nodes of a cluster when its shape is 'cluster'";
            return config.cluster.enabled.then_some(NO_NODES);
        }
        if config.cluster.enabled || is_given("--cluster-enabled") {
            return Some("The servers of this topology are nodes of a cluster, without cluster-enabled");
        }
        let follows = !config.replication.master.is_empty();
        follows.then_some("Nodes of a cluster are whose replicas the shape says, without replicaof")
    }

    fn of(self, config: Config, lag: Duration) -> TopologyBuilder {
        let first = Server::builder().config(config).allocator(allocator::jemalloc()).signals(true);
        match self {
            Shape::Replicas(count) => first.replicas(count).lag(lag),
            Shape::Cluster(masters, replicas) => first.cluster(masters, replicas).lag(lag),
            Shape::Sentinel { sentinels, replicas } => first.sentinels(sentinels).replicas(replicas).lag(lag),
        }
    }
}

fn no_count(kind: &str) -> Option<String> {
    let example = match kind {
        "replicas" => "replicas 2",
        "sentinel" => "sentinel 3",
        "cluster" => "cluster 3x1",
        _ => return None,
    };
    Some(format!("The count behind 'topology {kind}' is missing: it is as in 'topology {example}'"))
}

fn no_shape(kind: &str, shape: &str) -> String {
    let found = nearest(kind, SHAPES);
    let found = found.map(|kind| format!("{kind} {shape}").trim_end().to_owned());
    let words = format!("{kind} {shape}");
    format!(
        "There is no topology '{}': it is 'replicas N', 'sentinel N' or 'cluster M[xN]'.{}",
        words.trim_end(),
        suggestion(found)
    )
}

/// Removes an option of the topology and its value, wherever it stands; the last of several values counts.
fn take(options: &mut Vec<OsString>, name: &str) -> Option<OsString> {
    let mut found = None;
    while let Some(at) = options.iter().position(|option| option == name) {
        options.remove(at);
        found = Some(if at < options.len() { options.remove(at) } else { OsString::new() });
    }
    found
}

fn take_lag(options: &mut Vec<OsString>) -> Result<Duration, String> {
    let Some(lag) = take(options, "--lag") else { return Ok(Duration::ZERO) };
    let ms = lag.to_str().and_then(|text| text.parse::<u32>().ok());
    let ms =
        ms.ok_or_else(|| format!("--lag is a number of milliseconds, not '{}'", lag.to_string_lossy()))?;
    Ok(Duration::from_millis(ms.into()))
}

/// Starts the servers, prints their addresses, and waits until they end.
pub(crate) fn main(arguments: &[OsString]) -> Result<ExitCode, String> {
    let parent = Parent::now();
    let started_in = std::env::current_dir().unwrap_or_default();
    if arguments.iter().any(|option| option == "--help" || option == "-h") {
        return say(command_line::help_of_topology().as_bytes());
    }
    let (shape, mut options) = Shape::parse(arguments)?;
    let lag = take_lag(&mut options)?;
    let words = options.iter().cloned().map(OsString::into_encoded_bytes).collect::<Vec<_>>();
    let mut config = match Invocation::from_arguments(words, &mut SystemFiles::default(), COMMAND_NAMES) {
        Invocation::Run(config) => *config,
        Invocation::Help => return say(command_line::help_of_topology().as_bytes()),
        Invocation::Version => return say(command_line::version(OsStr::new(command_line::NAME)).as_bytes()),
        Invocation::Fail(error) => {
            let own = command_line::topology_options().collect::<Vec<_>>();
            return Err(explain_beside(&own, &error, OsStr::new(command_line::NAME), &[]));
        }
    };
    refuse(&config)?;
    shape.contradiction(&options, &config).map_or(Ok(()), |sentence| Err(sentence.to_owned()))?;
    serve::prepare(&mut config, &started_in)?;
    log::start(&config, log::Stream::Error);
    let (port_file, has_log) = (config.port_file.clone(), !config.logfile.is_empty());
    let (unix_socket, maxmemory) = (config.unixsocket.clone(), config.maxmemory);
    let exits = config.exit_with_parent;
    let topology = shape.of(config, lag).start().map_err(|error| serve::cannot_start(&error, has_log))?;
    serve::watch(parent.filter(|_| exits), topology.servers()).map_err(|error| error.to_string())?;
    announce(&topology, &port_file)?;
    // Harnesses wait for these lines. By then the addresses have been printed.
    ready::print(&topology.servers()[0], &unix_socket, has_log);
    serve::warn_of_maxmemory(maxmemory);
    topology.wait();
    topology.stop(PATIENCE);
    Ok(ExitCode::SUCCESS)
}

/// Returns a sentence if the configuration has a feature that only a standalone server supports.
fn refuse(config: &Config) -> Result<(), String> {
    let refused = [
        (config.is_sentinel(), "A topology has sentinels when its shape is 'sentinel'"),
        (config.daemonize, "A topology cannot go into the background"),
        (config.ready_fd != -1, "A topology is ready when its --port-file is there, and has no ready-fd"),
        (config.shutdown.idle_exit > 0, "A topology has no idle-exit"),
        (!config.pidfile.is_empty(), "A topology has no pid file"),
    ];
    refused.iter().find(|(is_so, _)| *is_so).map_or(Ok(()), |(_, sentence)| Err((*sentence).to_owned()))
}

/// Writes the addresses to the port file and to standard output, one per line.
fn announce(topology: &Topology, port_file: &str) -> Result<(), String> {
    let addresses: Vec<String> = topology.servers().iter().map(|server| server.addr().to_string()).collect();
    PublishedFile::write(port_file, addresses.join("\n"))
        .map_err(|error| format!("Can't write the file '{port_file}': {}", system_reason(&error)))?;
    let lines = topology.roles().map(|(role, server)| format!("{role} {}\n", server.addr()));
    say(lines.collect::<String>().as_bytes()).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<(Shape, usize), String> {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        Shape::parse(&words).map(|(shape, rest)| (shape, rest.len()))
    }

    #[test]
    fn the_first_words_name_the_shape() {
        assert_eq!(parse("replicas 2 --port 0"), Ok((Shape::Replicas(2), 2)));
        assert_eq!(parse("cluster 3x1 --port 0"), Ok((Shape::Cluster(3, 1), 2)));
        assert_eq!(parse("cluster 3"), Ok((Shape::Cluster(3, 0), 0)));
        for wrong in [
            "cluster",
            "cluster x",
            "cluster 0x1",
            "cluster 33x1",
            "cluster 3x-1",
            "cluster 99999999999999999999x2",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
        let with_sentinels = |sentinels, replicas| Shape::Sentinel { sentinels, replicas };
        assert_eq!(parse("sentinel 3 --replicas 2 --port 0"), Ok((with_sentinels(3, 2), 2)));
        assert_eq!(parse("sentinel 3 --lag 5"), Ok((with_sentinels(3, 1), 2)));
        assert_eq!(parse("sentinel 3 --seed 7 --replicas 2"), Ok((with_sentinels(3, 2), 2)));
        assert_eq!(parse("sentinel 3 --replicas 4 --seed 7 --replicas 2"), Ok((with_sentinels(3, 2), 2)));
        let wrong =
            ["replicas", "replicas 0", "replicas 64", "replicas x", "ring 3", "", "sentinel", "sentinel 0"];
        for wrong in wrong.into_iter().chain([
            "sentinel 3 --replicas",
            "sentinel 3 --seed 7 --replicas x",
            "sentinel 3 --replicas 0",
            "sentinel 40 --replicas 40",
        ]) {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_missing_count_is_reported_instead_of_the_next_option() {
        let missing = |kind: &str, example: &str| {
            Err(format!("The count behind 'topology {kind}' is missing: it is as in 'topology {example}'"))
        };
        assert_eq!(parse("replicas --port 0"), missing("replicas", "replicas 2"));
        assert_eq!(parse("sentinel --replicas 2"), missing("sentinel", "sentinel 3"));
        assert_eq!(parse("cluster --port 0"), missing("cluster", "cluster 3x1"));
        assert_eq!(parse("cluster"), missing("cluster", "cluster 3x1"));
        assert!(parse("--port 0").is_err_and(|said| said.starts_with("There is no topology '--port 0'")));
    }

    #[test]
    fn an_option_of_sentinels_is_refused_for_other_shapes() {
        for (line, kind) in [("replicas 1 --replicas 2", "replicas"), ("cluster 3x1 --replicas 2", "cluster")]
        {
            let expected = format!("--replicas belongs to 'topology sentinel', not to 'topology {kind}'");
            assert_eq!(parse(line), Err(expected), "{line}");
        }
    }

    #[test]
    fn quotes_may_join_the_words_of_a_shape() {
        let parse = |first: &str| Shape::parse(&[first, "--seed", "7"].map(OsString::from));
        let options: Vec<OsString> = ["--seed", "7"].map(OsString::from).into();
        assert_eq!(parse("replicas 2"), Ok((Shape::Replicas(2), options)));
        assert!(parse("sentinels 3").is_err_and(|said| said.ends_with("Did you mean 'sentinel 3'?")));
    }

    #[test]
    fn an_unknown_shape_is_reported_with_the_nearest_one() {
        let shapes = "it is 'replicas N', 'sentinel N' or 'cluster M[xN]'.";
        for (line, expected) in [
            (
                "sentinels 3",
                format!("There is no topology 'sentinels 3': {shapes} Did you mean 'sentinel 3'?"),
            ),
            ("ring 3", format!("There is no topology 'ring 3': {shapes}")),
        ] {
            assert_eq!(parse(line), Err(expected));
        }
    }

    #[test]
    fn options_for_a_single_server_are_refused() {
        assert_eq!(refuse(&Config::default()), Ok(()));
        let mut config = Config::default();
        config.ready_fd = 3;
        assert!(refuse(&config).is_err());
    }
}
