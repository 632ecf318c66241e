//! The command line of the program for clap: help, completions, arguments of subcommands. A server's options are parsed
//! as by redis-server, and only described here.

use super::client::Trust;
use super::exit;
use super::options::{EXAMPLES, OPTIONS, ServerOption};
use super::output::say;
use super::role::{REDIS_SERVER, Subcommand, is_called, is_redis};
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, Command, ValueHint, value_parser};
use clap_complete::Shell;
use lockwheel_engine::config::Config;
use lockwheel_engine::spec::REDIS_VERSION;
use std::ffi::{OsStr, OsString};
use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;

pub(crate) const NAME: &str = "lockwheel";

const VERSION: &str = env!("CARGO_PKG_VERSION");

pub(crate) const ABOUT: &str = "An in-memory, Redis-compatible server";

pub(crate) const UNAUTHENTICATED: &str = "unauthenticated";

const TEMPLATE: &str = "{usage-heading} {usage}\n\n{all-args}{after-help}";

pub(crate) fn help(started_as: &OsStr) -> String {
    let command = if is_called(started_as, REDIS_SERVER) { server(REDIS_SERVER) } else { program() };
    command.after_help(more_help(started_as)).render_help().to_string()
}

fn more_help(started_as: &OsStr) -> String {
    let mut text = "All parameters of redis.conf are options too.\n".to_owned();
    if !is_called(started_as, REDIS_SERVER) {
        text += "\nExamples:\n";
        EXAMPLES.iter().for_each(|example| text += &format!("  {example}\n"));
    }
    text += "\nExit codes:\n";
    for (code, meaning) in exit::CODES {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {code:<7}{meaning}");
    }
    text
}

pub(crate) fn program() -> Command {
    server(NAME)
        .subcommands([run(), topology(), entrypoint(), health_check(), completions(), man(), help_command()])
        .disable_help_subcommand(true)
}

fn command(name: &'static str, usage: String) -> Command {
    Command::new(name).override_usage(usage).help_template(TEMPLATE)
}

fn server(name: &'static str) -> Command {
    let usage = format!(
        "{name} [/path/to/redis.conf] [options] [-]\n       {name} - (read the configuration from standard input)"
    );
    let version = Arg::new("version").short('v').long("version").action(ArgAction::SetTrue);
    let arguments = OPTIONS.iter().map(described).chain([version.help("Print the version")]);
    command(name, usage).about(ABOUT).args(arguments)
}

fn described(option: &ServerOption) -> Arg {
    let argument = Arg::new(option.name).long(option.name).help(option.help);
    match option.value {
        "" => argument.action(ArgAction::SetTrue),
        value => argument.value_name(value).value_hint(hint(value)).value_parser(words(option)),
    }
}

fn hint(value: &str) -> ValueHint {
    if value == "path" { ValueHint::FilePath } else { ValueHint::Other }
}

fn words(option: &ServerOption) -> clap::builder::ValueParser {
    match option.words {
        [] => value_parser!(String),
        words => PossibleValuesParser::new(words).into(),
    }
}

fn run() -> Command {
    let usage = format!("{NAME} run [options of the server] -- COMMAND [ARGUMENT]...");
    command(Subcommand::Run.name(), usage)
        .about(
            "Run a command with a server of its own, on a free port: see REDIS_URL, REDIS_HOST, REDIS_PORT",
        )
        .args(OPTIONS.iter().map(described))
        .arg(Arg::new("COMMAND").num_args(1..).last(true).value_hint(ValueHint::CommandWithArguments))
}

fn topology() -> Command {
    let options = "[--lag MS] [options of the server]";
    let usage = format!(
        "{NAME} topology replicas N {options}\n       {NAME} topology sentinel N [--replicas N] {options}\n       \
         {NAME} topology cluster M[xN] {options}"
    );
    let shape = Arg::new("SHAPE").value_parser(PossibleValuesParser::new(SHAPES));
    command(Subcommand::Topology.name(), usage)
        .about(
            "Start a master with replicas, or with sentinels too, or a cluster of M masters with N replicas each, in \
             one process and on one clock; the addresses are printed",
        )
        .args(OPTIONS.iter().map(described))
        .args(TOPOLOGY.iter().map(|(name, value, help)| Arg::new(*name).long(*name).value_name(*value).help(*help)))
        .arg(shape.hide_possible_values(true).help("replicas, sentinel or cluster"))
        .arg(Arg::new("COUNT").help("How many; of a cluster: masters x replicas of each, as 3x1; 3 is 3x0"))
}

pub(crate) const SHAPES: [&str; 3] = ["replicas", "sentinel", "cluster"];

/// The counts of a topology that shells offer. Other counts are valid, too.
const COUNTS: [&str; 5] = ["1", "2", "3", "3x1", "3x2"];

/// The options of a topology: name, value, help.
const TOPOLOGY: &[(&str, &str, &str)] = &[
    ("lag", "MS", "How much later replicas are told everything"),
    ("replicas", "N", "Beside sentinels: how many replicas the master has"),
];

pub(crate) fn topology_options() -> impl Iterator<Item = &'static str> {
    TOPOLOGY.iter().map(|(name, ..)| *name)
}

pub(crate) fn help_of_topology() -> String {
    topology().render_help().to_string()
}

fn entrypoint() -> Command {
    let usage =
        format!("{NAME} entrypoint [options of the server]\n       {NAME} entrypoint COMMAND [ARGUMENT]...");
    command(Subcommand::Entrypoint.name(), usage)
        .about("Start a container: a server that listens on all addresses, or another command")
        .arg(
            Arg::new("COMMAND")
                .num_args(0..)
                .trailing_var_arg(true)
                .value_hint(ValueHint::CommandWithArguments),
        )
}

fn health_check() -> Command {
    let unauthenticated = Arg::new(UNAUTHENTICATED).long(UNAUTHENTICATED).action(ArgAction::SetTrue);
    command(Subcommand::HealthCheck.name(), format!("{NAME} healthcheck [options] [URL]"))
        .about("Ask a server whether it answers; exit code 0: it does, 1: it does not")
        .arg(unauthenticated.help("That it asks for a password is an answer too"))
        .arg(Arg::new("URL").value_hint(ValueHint::Url).help(
            "redis://[user:password@]host[:port][/database], rediss://… or unix://path; else REDIS_URL; else \
             127.0.0.1:6379",
        ))
        .args(CLIENT_TLS.iter().map(|(name, value, help)| match *value {
            "" => Arg::new(*name).long(*name).help(*help).action(ArgAction::SetTrue),
            value => {
                let argument = Arg::new(*name).long(*name).help(*help).value_name(value);
                argument.value_hint(ValueHint::FilePath).value_parser(value_parser!(PathBuf))
            }
        }))
}

/// The TLS options of a client: name, value, help.
const CLIENT_TLS: &[(&str, &str, &str)] = &[
    ("cacert", "path", "rediss://: trust a server that these certificates lead to"),
    ("insecure", "", "rediss://: trust any server"),
    ("cert", "path", "rediss://: the certificate to show"),
    ("key", "path", "rediss://: its key"),
];

/// Returns the TLS options among the arguments of `healthcheck`.
pub(crate) fn trust(arguments: &ArgMatches) -> Trust {
    let path = |name| arguments.get_one::<PathBuf>(name).cloned();
    Trust {
        ca_file: path("cacert"),
        insecure: arguments.get_flag("insecure"),
        cert_file: path("cert"),
        key_file: path("key"),
    }
}

fn completions() -> Command {
    let shells = Arg::new("SHELL").required(true).value_parser(value_parser!(Shell));
    command(Subcommand::Completions.name(), format!("{NAME} completions SHELL"))
        .about("Print the completions for a shell")
        .arg(shells.help("The shell"))
}

fn man() -> Command {
    command(Subcommand::Man.name(), format!("{NAME} man")).about("Print the man page")
}

fn help_command() -> Command {
    command(Subcommand::Help.name(), format!("{NAME} help [SUBCOMMAND]"))
        .about("Print this help, or that of a subcommand")
        .arg(Arg::new("SUBCOMMAND").value_parser(PossibleValuesParser::new(Subcommand::names())))
}

pub(crate) fn print_help(started_as: &OsStr, arguments: &[OsString]) -> Result<ExitCode, String> {
    let arguments = match arguments_of(Subcommand::Help, arguments) {
        Ok(arguments) => arguments,
        Err(code) => return Ok(code),
    };
    let page = match arguments.get_one::<String>("SUBCOMMAND") {
        None => help(started_as),
        Some(name) => {
            let mut program = program();
            let command = program.find_subcommand_mut(name).expect("it is among the names");
            command.render_help().to_string()
        }
    };
    say(page.as_bytes())
}

/// Returns the line with the version, in Redis' form under its names: test suites search for the first number.
pub(crate) fn version(started_as: &OsStr) -> String {
    let name = match is_redis(started_as) {
        true => format!("Redis server v={REDIS_VERSION} sha=00000000:0"),
        false => format!("Lockwheel v={VERSION} (Redis {REDIS_VERSION})"),
    };
    format!("{name} malloc=jemalloc bits={} build={NAME}-{VERSION}\n", usize::BITS)
}

/// Parses a subcommand's arguments, without its name. `Err`: the exit code after a message was printed instead.
pub(crate) fn arguments_of(subcommand: Subcommand, arguments: &[OsString]) -> Result<ArgMatches, ExitCode> {
    let command = match subcommand {
        Subcommand::Run => run(),
        Subcommand::Topology => topology(),
        Subcommand::Entrypoint => entrypoint(),
        Subcommand::HealthCheck => health_check(),
        Subcommand::Completions => completions(),
        Subcommand::Man => man(),
        Subcommand::Help => help_command(),
    };
    let parsed = command.no_binary_name(true).try_get_matches_from(arguments);
    parsed.map_err(|error| {
        // If this fails, there is no other way to report it.
        let _unheard = error.print();
        if error.use_stderr() { ExitCode::from(exit::FAILURE) } else { ExitCode::SUCCESS }
    })
}

pub(crate) fn help_of_run() -> String {
    run().render_help().to_string()
}

/// Prints shell completions of all options, including the parameters of redis.conf.
pub(crate) fn print_completions(arguments: &[OsString]) -> Result<ExitCode, String> {
    let arguments = match arguments_of(Subcommand::Completions, arguments) {
        Ok(arguments) => arguments,
        Err(code) => return Ok(code),
    };
    let shell = *arguments.get_one::<Shell>("SHELL").expect("it is required");
    let mut command = program().args(parameters());
    for subcommand in [Subcommand::Run, Subcommand::Topology, Subcommand::Entrypoint] {
        command = command.mut_subcommand(subcommand.name(), |subcommand| subcommand.args(parameters()));
    }
    command = command
        .mut_subcommand(Subcommand::Entrypoint.name(), |of| of.args(OPTIONS.iter().map(described)))
        .mut_subcommand(Subcommand::Topology.name(), |of| {
            of.mut_arg("COUNT", |count| count.value_parser(COUNTS))
        });
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut command, NAME, &mut text);
    if shell == Shell::Fish {
        // Clap completes no positional arguments for fish.
        let (topology, words) = (Subcommand::Topology.name(), [&SHAPES[..], &COUNTS].concat().join(" "));
        let condition = format!("__fish_{NAME}_using_subcommand {topology}");
        text.extend(format!("complete -c {NAME} -n \"{condition}\" -f -a \"{words}\"\n").into_bytes());
    }
    say(&text)
}

/// Returns the parameters of Redis that are not among the program's own options.
fn parameters() -> impl Iterator<Item = Arg> {
    let all = Config::default().get(&[b"*"]).into_iter();
    let names = all.filter_map(|(name, _)| String::from_utf8(name).ok());
    let others = names.filter(|name| OPTIONS.iter().all(|option| option.name != name));
    others.map(|name| Arg::new(name.clone()).long(name).value_name("value"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_of_ours_is_a_parameter() {
        for option in OPTIONS {
            assert_eq!(Config::default().get(&[option.name.as_bytes()]).len(), 1, "{}", option.name);
        }
    }

    #[test]
    fn the_command_line_passes_the_checks_of_clap() {
        program().args(parameters()).debug_assert();
    }

    #[test]
    fn the_help_is_as_wide_as_a_terminal_can_be() {
        for page in [help(OsStr::new(NAME)), help(OsStr::new(REDIS_SERVER)), help_of_run()] {
            assert!(page.lines().all(|line| line.chars().count() <= 120), "{page}");
        }
    }
}
