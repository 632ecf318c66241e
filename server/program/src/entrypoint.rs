//! `entrypoint`: the entry point of a container, by the rules of Redis' own image.

use super::role::{REDIS_SERVER, Role};
use super::{command_line, run, serve};
use lockwheel_engine::config::Config;
use std::ffi::{OsStr, OsString};
use std::io;
use std::process::{Command, ExitCode};

pub(crate) fn main(arguments: &[OsString]) -> Result<ExitCode, String> {
    match Entry::of(arguments) {
        Entry::Server { name, arguments } => serve::main(name, reachable(), arguments.to_vec()),
        Entry::Command { name, arguments } => Ok(become_command(name, arguments)),
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Entry<'a> {
    Server { name: &'a OsStr, arguments: &'a [OsString] },
    Command { name: &'a OsStr, arguments: &'a [OsString] },
}

impl<'a> Entry<'a> {
    /// Classifies the arguments. Options and a file `….conf` belong to a server; any other first one is a program.
    fn of(arguments: &'a [OsString]) -> Self {
        let [first, rest @ ..] = arguments else {
            return Entry::Server { name: OsStr::new(REDIS_SERVER), arguments };
        };
        let bytes = first.as_encoded_bytes();
        if bytes.starts_with(b"-") || bytes.ends_with(b".conf") {
            return Entry::Server { name: OsStr::new(REDIS_SERVER), arguments };
        }
        let is_ours = first == REDIS_SERVER || first == command_line::NAME;
        match Role::of(first, rest.first().map(OsString::as_os_str)) {
            Role::Server if is_ours => Entry::Server { name: first, arguments: rest },
            _ => Entry::Command { name: first, arguments: rest },
        }
    }
}

/// Returns the defaults of a server in a container, whose own network is controlled outside.
fn reachable() -> Config {
    let mut config = Config::default();
    config.bind = ["*", "-::*"].map(str::to_owned).to_vec();
    config.protected_mode = false;
    config
}

/// Replaces this process, so that signals reach the command. Returns only if the command cannot be started.
#[cfg(unix)]
fn become_command(name: &OsStr, arguments: &[OsString]) -> ExitCode {
    use std::os::unix::process::CommandExt;
    let error: io::Error = Command::new(name).args(arguments).exec();
    ExitCode::from(run::cannot_run(name, &error))
}

#[cfg(not(unix))]
fn become_command(name: &OsStr, arguments: &[OsString]) -> ExitCode {
    let ended = Command::new(name).args(arguments).status();
    ExitCode::from(ended.map_or_else(|error| run::cannot_run(name, &error), run::code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_command_is_distinguished_from_other_commands() {
        let server = |name: &'static str, from: usize| (name, from, true);
        let command = |name: &'static str| (name, 1, false);
        for (line, (name, from, is_server)) in [
            ("", server("redis-server", 0)),
            ("--port 7000", server("redis-server", 0)),
            ("/etc/redis.conf --port 7000", server("redis-server", 0)),
            ("redis-server", server("redis-server", 1)),
            ("redis-server --requirepass x", server("redis-server", 1)),
            ("redis-server run", server("redis-server", 1)),
            ("lockwheel", server("lockwheel", 1)),
            ("lockwheel --time manual", server("lockwheel", 1)),
            ("lockwheel healthcheck", command("lockwheel")),
            ("/usr/bin/redis-server --port 7000", command("/usr/bin/redis-server")),
            ("redis-cli -h redis ping", command("redis-cli")),
            ("sh -c true", command("sh")),
        ] {
            let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
            let (name, arguments) = (OsStr::new(name), &words[from..]);
            let expected = match is_server {
                true => Entry::Server { name, arguments },
                false => Entry::Command { name, arguments },
            };
            assert_eq!(Entry::of(&words), expected, "{line}");
        }
    }

    #[test]
    fn the_entrypoint_listens_on_all_addresses() {
        let hosts: Vec<String> =
            reachable().bind_addresses().iter().map(|it| format!("{:?}", it.host)).collect();
        assert_eq!(hosts, ["Ip(0.0.0.0)", "Ip(::)"]);
        assert!(!reachable().protected_mode);
    }
}
