//! COMMAND GETKEYS and GETKEYSANDFLAGS, compared with the real servers, by requests generated from the synopses. Most
//! are valid in form, some are short, long or have hostile numbers.

use crate::table::entry;
use crate::table::wire::Wire;
use lockwheel_engine::spec::Command;
use lockwheel_engine::spec::syntax::Syntax;
use lockwheel_tests::client::Protocol;
use lockwheel_tests::generate::Generator;
use lockwheel_tests::ours;
use lockwheel_tests::redis_server::{Kind, RealServer};
use std::collections::BTreeSet;

/// Requests of each command.
const REQUESTS: usize = 150;

/// Numbers of keys that exceed a short request, or that no parser should accept.
const COUNTS: [&[u8]; 12] = [
    b"0",
    b"-1",
    b"4294967296",
    b"4294967297",
    b"2147483647",
    b"2147483648",
    b"9223372036854775807",
    b"-9223372036854775808",
    b"18446744073709551617",
    b"1x",
    b" 2",
    b"",
];

/// Commands whose arity differs between our server and redis-server 7.0.15.
const OTHER_ARITY: &[&str] = &["zrank", "zrevrank"];

/// Both servers, and the differences found.
struct ServerPair {
    real: Wire,
    ours: Wire,
    problems: Vec<String>,
}

impl ServerPair {
    fn compare(&mut self, request: &[Vec<u8>]) {
        for name in ["GETKEYS", "GETKEYSANDFLAGS"] {
            let mut words: Vec<Vec<u8>> = ["COMMAND", name].map(|word| word.as_bytes().to_vec()).to_vec();
            words.extend_from_slice(request);
            let [real, ours] = [&mut self.real, &mut self.ours].map(|wire| wire.cmd(&words));
            if real != ours {
                let shown: Vec<String> = words.iter().map(|word| word.escape_ascii().to_string()).collect();
                self.problems.push(format!("{shown:?}\n  real: {real}\n  ours: {ours}"));
            }
        }
    }
}

/// Calls `send` with the requests of a command.
fn requests(generator: &mut Generator, command: &Command, mut send: impl FnMut(&[Vec<u8>])) {
    let syntax = Syntax::parse(command.spec.syntax).expect("synopses are well formed");
    let names = command.name.split('|').count();
    let counts: Vec<usize> = counts_at(&syntax).into_iter().map(|at| at + names).collect();
    for round in 0..REQUESTS {
        let mut line = generator.command(&command.name, command.spec.group, &syntax).arguments;
        // GETKEYS accepts a bare name only since 7.2.
        if line.len() == 1 {
            continue;
        }
        send(&line);
        if let Some(count) = counts.first().and_then(|&at| line.get_mut(at)) {
            *count = COUNTS[round % COUNTS.len()].to_vec();
            send(&line);
        }
    }
}

/// The words of a synopsis that are numbers of keys.
fn counts_at(syntax: &Syntax<'_>) -> Vec<usize> {
    let Syntax::Sequence(parts) = syntax else { return Vec::new() };
    let is_count = |part: &Syntax<'_>| matches!(part, Syntax::Argument(word) if word.text == "numkeys");
    parts.iter().enumerate().filter(|(_, part)| is_count(part)).map(|(at, _)| at).collect()
}

#[test]
fn command_getkeys_finds_the_keys_that_real_servers_find() {
    let real = [Kind::Redis, Kind::Valkey].map(|kind| RealServer::start(kind, &[]));
    let [Some(redis), Some(valkey)] = real else { return };
    let server = ours::server();
    for protocol in [Protocol::Resp2, Protocol::Resp3] {
        let known: [BTreeSet<String>; 2] = [redis.addr(), valkey.addr()]
            .map(|address| entry::info(&mut Wire::connect(address, protocol)).into_keys().collect());
        let mut beside = [redis.addr(), valkey.addr()].map(|address| ServerPair {
            real: Wire::connect(address, protocol),
            ours: Wire::connect(server.addr(), protocol),
            problems: Vec::new(),
        });
        let mut generator = Generator::new(ours::SEED);
        for command in ours::commands().iter_all() {
            let old = known[0].contains(&command.name) && !OTHER_ARITY.contains(&&*command.name);
            let kind = if old { 0 } else { 1 };
            if known[kind].contains(&command.name) {
                requests(&mut generator, command, |request| beside[kind].compare(request));
            }
        }
        let problems = beside.map(|beside| beside.problems).concat();
        assert!(
            problems.is_empty(),
            "{} differ, such as\n{}",
            problems.len(),
            problems[..problems.len().min(20)].join("\n")
        );
    }
}
