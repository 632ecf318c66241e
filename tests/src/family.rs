//! A family of commands on our server and on real ones: written lines, and random commands.

use crate::check::{Endpoint, Scenario};
use crate::client::{Client, Protocol};
use crate::generate::Generator;
use crate::ours;
use crate::pair::{Pair, Verdict, word};
use crate::redis_server::{Kind, RealServer};

use lockwheel::engine::Command;
use lockwheel::table::syntax::Syntax;
use std::sync::Arc;

/// Runs the same lines on our server and on these real ones, as far as they are installed.
#[track_caller]
pub fn same_on(kinds: &[Kind], lines: impl Fn(&mut Scenario<Box<dyn Endpoint>>)) {
    let ours = || Box::new(ours::server()) as Box<dyn Endpoint>;
    lines(&mut Scenario::new([ours(), ours()]));
    for &kind in kinds {
        let real = || RealServer::start(kind, &[]).map(|server| Box::new(server) as Box<dyn Endpoint>);
        if let Some(mut scenario) = Scenario::start(real) {
            lines(&mut scenario);
        }
    }
}

/// Runs the same lines on our server and on both real ones.
#[track_caller]
pub fn same_everywhere(lines: impl Fn(&mut Scenario<Box<dyn Endpoint>>)) {
    same_on(&[Kind::Redis, Kind::Valkey], lines);
}

/// How many commands a run sends in each protocol.
const COMMANDS: usize = 4000;
/// After so many commands both servers begin anew.
const EPISODE: usize = 200;

/// Sends random commands of these groups, but for the ones named in `without`, to both servers in each protocol, and
/// requires that all answers agree. Does nothing, and says so, without a redis-server.
///
/// # Panics
/// At the first disagreement, with the commands since the servers were empty.
#[track_caller]
pub fn compare_with_redis(groups: &[&str], without: &[&str]) {
    let Some(real) = RealServer::start(Kind::Redis, &[]) else { return };
    let table = ours::commands();
    let commands: Vec<&Arc<Command>> = table
        .iter()
        .filter(|command| groups.contains(&command.row.group) && !without.contains(&&*command.name))
        .collect();
    assert!(!commands.is_empty(), "{groups:?} have commands");
    for (seed, protocol) in [(1, Protocol::Resp2), (2, Protocol::Resp3)] {
        let mut generator = Generator::new(seed);
        for episode in 0..COMMANDS / EPISODE {
            let ours = ours::server();
            let connect = |address| Client::connect_with(address, protocol);
            let mut pair = Pair::new(connect(real.addr()), connect(Endpoint::addr(&ours)), &[]);
            pair.clients().0.line("FLUSHALL");
            run(
                &mut pair,
                &mut generator,
                &commands,
                &format!("seed {seed}, episode {episode}, {protocol:?}"),
            );
        }
    }
}

/// One episode on two empty servers.
#[track_caller]
fn run(pair: &mut Pair, generator: &mut Generator, commands: &[&Arc<Command>], title: &str) {
    let mut sent: Vec<String> = Vec::new();
    for _ in 0..EPISODE {
        let row = generator.rng().pick(commands).row;
        let syntax = Syntax::parse(row.syntax).unwrap_or_else(|error| panic!("{}: {error}", row.name));
        let command = generator.command(row.name, row.group, &syntax);
        if let Verdict::Mismatch(text) = pair.run(&command.arguments) {
            panic!("{title}\n{}\n{text}", sent.join("\n"));
        }
        sent.push(command.arguments.iter().map(|argument| word(argument)).collect::<Vec<_>>().join(" "));
    }
}
