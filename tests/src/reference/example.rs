//! The examples of the reference, run on a server.

use super::console::shown;
use crate::client::Client;
use crate::ours;
use lockwheel::{Server, Time, Topology};
use lockwheel_engine::spec::Command;
use std::net::SocketAddr;

/// The time at which the clocks of the examples stand, as a parameter of the program.
pub(super) const TIME: &str = "2030-01-01T00:00:00Z";
/// [`TIME`] in milliseconds since 1970.
const TIME_MS: i64 = 1_893_456_000_000;

/// The beginning of the line above the example of a command that needs several servers.
pub const INTRODUCTION_OF_TOPOLOGY: &str = "With a replica in the same process";

/// The commands whose examples need several servers.
const OF_TOPOLOGY: &[&str] = &["fault.down", "fault.up"];

/// Replies that depend on the system's time: the request, the beginning of the line, and the rest of it on the page.
const VARYING: &[(&str, &str, &str)] = &[
    ("CLOCK.RESET", "(integer) ", "1795255929000"),
    ("CLOCK.INFO", "4# \"offset\" => (integer) ", "98200071000"),
];

/// The servers of an example. Dropping them ends them.
#[derive(Debug)]
pub enum Started {
    /// A server by itself.
    One(Server),
    /// A master and a replica.
    Several(Topology),
}

impl Started {
    /// The address of the server that gets the requests.
    pub fn addr(&self) -> SocketAddr {
        match self {
            Started::One(server) => server.addr(),
            Started::Several(topology) => topology.servers()[0].addr(),
        }
    }
}

/// Starts the servers of an example.
///
/// # Panics
/// Panics if they cannot start.
pub fn start(needs_topology: bool) -> Started {
    let builder = ours::builder().time(Time::At(TIME_MS));
    match needs_topology {
        true => Started::Several(builder.replicas(1).start().expect("loopback has free ports")),
        false => Started::One(builder.start().expect("loopback has a free port")),
    }
}

fn needs_topology(name: &str) -> bool {
    OF_TOPOLOGY.contains(&name)
}

/// The line above the example of a command.
pub(super) fn introduction(name: &str) -> String {
    match needs_topology(name) {
        true => format!("{INTRODUCTION_OF_TOPOLOGY} (`lockwheel topology replicas 1 --time {TIME}`):"),
        false => "For example:".to_owned(),
    }
}

/// Runs the example of a command. Returns its requests, each with the reply as redis-cli shows it.
pub(super) fn run(command: &Command) -> Vec<(&'static str, String)> {
    let started = start(needs_topology(&command.name));
    let mut client = Client::connect_resp3(started.addr());
    let requests = command.spec.example.iter().copied();
    requests.map(|request| (request, steady(request, &shown(&client.line(request))))).collect()
}

/// A shown reply in which fixed numbers replace the ones that depend on the system's time.
fn steady(request: &str, shown: &str) -> String {
    let steady_line = |line: &str| {
        let varies = |(of, start, _): &&(&str, &str, &str)| *of == request && line.starts_with(*start);
        let found = VARYING.iter().find(varies);
        found.map_or_else(|| format!("{line}\n"), |(_, start, rest)| format!("{start}{rest}\n"))
    };
    shown.lines().map(steady_line).collect()
}
