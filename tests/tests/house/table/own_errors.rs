//! The rows of our own commands list every error that random requests get.

use crate::table::explained::line;
use lockwheel::Config;
use lockwheel_engine::core::Simulation;
use lockwheel_engine::spec::Command;
use lockwheel_engine::spec::syntax::Syntax;
use lockwheel_store::keyspace::glob;
use lockwheel_tests::generate::Generator;
use lockwheel_tests::{ours, reference};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The number of requests of each command.
const REQUESTS: usize = 300;

/// The errors of commands in general, which rows do not list.
const COMMON: &[&str] = &["ERR wrong number of arguments for '*' command", "WRONGTYPE *"];

/// Requests that make later requests of the same server meaningless.
const DISTURBING: &[&str] = &["fault.", "control."];

/// The random requests of a command, without those whose words need quotes.
fn requests(command: &Command, generator: &mut Generator) -> Vec<String> {
    let syntax = Syntax::parse(command.spec.syntax).expect("a test parses every synopsis");
    let made = (0..REQUESTS).map(|_| generator.command(&command.name, command.spec.group, &syntax).arguments);
    made.filter_map(|words| line(&words)).collect()
}

/// Whether an error is of this form. `*` stands for anything, and so does a name between quotes.
fn fits(error: &str, listed: &str) -> bool {
    let mut pattern = String::new();
    let mut parts = listed.split(" '");
    pattern.push_str(parts.next().unwrap_or_default());
    for part in parts {
        pattern.push_str(" '*'");
        pattern.push_str(part.split_once('\'').map_or("", |(_, rest)| rest));
    }
    glob::matches(pattern.as_bytes(), error.as_bytes(), false)
}

fn is_listed(command: &Command, error: &str) -> bool {
    COMMON.iter().chain(command.spec.errors).any(|listed| fits(error, listed))
}

/// Sends a request by a client of its own. Returns the error, if it gets one.
fn error(server: &mut Simulation, request: &str, is_resp3: bool) -> Option<String> {
    let client = server.connect();
    if is_resp3 {
        server.ask(client, "HELLO 3");
    }
    let answer = server.ask(client, request);
    server.close(client);
    server.notice();
    answer.strip_prefix('-').map(|error| error.trim_end().to_owned())
}

/// Creates a server whose clock stands still, with or without the history of locks.
fn server(has_history: bool) -> Simulation {
    let mut server = Simulation::new(Config::default(), ours::SEED);
    let client = server.connect();
    server.ask(client, "CLOCK.FREEZE");
    if has_history {
        server.ask(client, "CONFIG SET lock-history yes");
    }
    server
}

#[test]
fn every_error_of_a_random_request_is_listed() {
    let mut generator = Generator::new(ours::SEED);
    let mut problems = BTreeSet::new();
    let mut found = 0;
    let commands = reference::commands();
    let mut requests: Vec<(&Arc<Command>, String)> = commands
        .iter()
        .flat_map(|command| {
            let made = requests(command, &mut generator);
            made.into_iter().map(move |request| (command, request))
        })
        .collect();
    generator.rng().shuffle(&mut requests);
    let mut shared = [server(false), server(true)];
    for (at, (command, request)) in requests.iter().enumerate() {
        let error = match DISTURBING.iter().any(|start| command.name.starts_with(start)) {
            true => error(&mut server(at % 2 == 0), request, false),
            false => error(&mut shared[at % 2], request, at % 3 == 0),
        };
        let Some(error) = error else { continue };
        found += 1;
        if !is_listed(command, &error) {
            problems.insert(format!("{}: {error}", command.name));
        }
    }
    assert!(found > 1000, "{found}");
    let problems: Vec<String> = problems.into_iter().collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn an_error_fits_its_listed_form() {
    assert!(fits("STALE token 6 is below the highest token 7", "STALE token * is below *"));
    assert!(fits("ERR no such type 'x': it is string", "ERR no such type 'name': *"));
    assert!(fits(
        "ERR CLIENT is missing: this rate applies to each client separately",
        "ERR CLIENT is missing: *"
    ));
    assert!(!fits("ERR syntax error", "ERR syntax error: *"));
    assert!(!fits("ERR no such event 'x': y", "ERR no such type 'name': *"));
}
