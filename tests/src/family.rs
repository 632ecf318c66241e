//! A family of commands on our server and on real ones: written lines, and random commands.

use crate::check::{Endpoint, Scenario};
use crate::client::{Client, Protocol};
use crate::generate::Generator;
use crate::ours;
use crate::pair::{Difference, Pair, Verdict, word};
use crate::redis_server::{Kind, RealServer};
use crate::state::Snapshot;

use lockwheel::engine::Command;
use lockwheel::table::syntax::Syntax;
use std::sync::Arc;

/// Runs the same lines on our server and on these real ones, as far as they are installed. All tell every keyspace
/// event.
#[track_caller]
pub fn same_on(kinds: &[Kind], lines: impl Fn(&mut Scenario<Box<dyn Endpoint>>)) {
    let ours = || Box::new(ours::eventful_server()) as Box<dyn Endpoint>;
    lines(&mut Scenario::new([ours(), ours()]));
    for &kind in kinds {
        let real = || {
            RealServer::start(kind, &["--notify-keyspace-events", "KEA"])
                .map(|server| Box::new(server) as Box<dyn Endpoint>)
        };
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

/// Sends lines to a real server and to ours, in RESP2 and in RESP3, and requires the same bytes of both. Empty lines
/// and lines that begin with `#` are left out. Does nothing, and says so, where the real server is not installed.
///
/// # Panics
/// At the first difference.
#[track_caller]
pub fn compare_lines(kind: Kind, lines: &str) {
    let Some(real) = RealServer::start(kind, &[]) else { return };
    let lines = lines.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    for protocol in [Protocol::Resp2, Protocol::Resp3] {
        let ours = ours::server();
        let connect = |address| Client::connect_with(address, protocol);
        let mut pair = Pair::new(connect(real.addr()), connect(Endpoint::addr(&ours)), &[]);
        pair.check("FLUSHALL");
        for line in lines.clone() {
            pair.check(line);
        }
    }
}

/// Waits until so many clients are blocked, on our servers or on real ones.
#[track_caller]
pub fn await_blocked<S: Endpoint>(scenario: &mut Scenario<S>, count: usize) {
    let wanted = format!("blocked_clients:{count}");
    for client in scenario.on("(looks on)").clients() {
        if !client.line(&format!("AWAIT.BLOCKED {count}")).is_error() {
            continue;
        }
        // A real server is asked until it says so.
        let told = |client: &mut Client| {
            let info = client.line("INFO clients");
            let text = info.as_bytes().map(String::from_utf8_lossy).unwrap_or_default();
            text.lines().any(|line| line == wanted)
        };
        while !told(client) {
            std::thread::yield_now();
        }
    }
}

/// Requires that the subscriber `listener` is told these events next: `rpush l, lpop l`, an event and a key each.
#[track_caller]
pub fn expect_events<S: Endpoint>(scenario: &mut Scenario<S>, told: &str) {
    for event in told.split(", ") {
        let (name, key) = event.split_once(' ').expect("an event and a key");
        let expected = format!(r#"["pmessage", "__keyevent@0__:*", "__keyevent@0__:{name}", "{key}"]"#);
        scenario.on("listener").expect_push(&expected);
    }
}

/// Lets the session `listener` subscribe to all events, for [`expect_events`].
#[track_caller]
pub fn listen<S: Endpoint>(scenario: &mut Scenario<S>) {
    scenario.on("listener").run("PSUBSCRIBE __keyevent@0__:*");
}

/// What Valkey does otherwise than Redis 7.2, which it began as.
const VALKEY_DIFFERENCES: &[Difference] = &[
    Difference {
        name: "cursor",
        reason: "it takes no sign before a cursor, and takes a space",
        applies: |exchange| {
            let is_scan = exchange.arguments[0].to_ascii_uppercase().ends_with(b"SCAN");
            is_scan
                && [exchange.real, exchange.ours]
                    .iter()
                    .any(|answer| answer.raw == b"-ERR invalid cursor\r\n")
        },
    },
    Difference {
        name: "double",
        reason: "it takes no hexadecimal doubles, and no space before one",
        applies: |exchange| {
            let refused =
                [&b"-ERR min or max is not a float\r\n"[..], b"-ERR value is not a valid float\r\n"];
            refused.contains(&&*exchange.real.raw)
        },
    },
    Difference {
        name: "lex",
        reason: "a range of members is specified among equal scores only, and random scores are not",
        applies: |exchange| {
            let by_lex = |word: &Vec<u8>| word.to_ascii_uppercase().ends_with(b"BYLEX");
            let is_count = exchange.arguments[0].eq_ignore_ascii_case(b"ZLEXCOUNT");
            let errors = [exchange.real, exchange.ours].map(|answer| answer.reply.is_error());
            errors == [false, false] && (is_count || exchange.arguments.iter().any(by_lex))
        },
    },
    Difference {
        name: "offset",
        reason: "in a large sorted set it counts a negative offset from elsewhere; Redis 7.0 finds nothing",
        applies: |exchange| {
            let mut options = exchange.arguments.windows(2);
            options.any(|pair| pair[0].eq_ignore_ascii_case(b"LIMIT") && pair[1].starts_with(b"-"))
        },
    },
    Difference {
        name: "index",
        reason: "LSET forgets all but 32 bits of an index; Redis 7.0 does not",
        applies: |exchange| {
            let is_lset = exchange.arguments[0].eq_ignore_ascii_case(b"LSET");
            is_lset && exchange.ours.raw == b"-ERR index out of range\r\n"
        },
    },
];

/// How many commands a run sends to each server in each protocol.
const COMMANDS: usize = 3000;
/// After so many commands both servers begin anew.
const EPISODE: usize = 150;

/// Sends random commands of these groups, but for the ones named in `without`, to a real server and to ours in each
/// protocol, and requires that all answers agree; beside Valkey, whose encodings are those of Redis 7.2, the keys and
/// their encodings too. Does nothing, and says so, where a real server is not installed.
///
/// # Panics
/// At the first disagreement, with the commands since the servers were empty.
#[track_caller]
pub fn compare(groups: &[&str], without: &[&str]) {
    compare_on(&[Kind::Redis, Kind::Valkey], groups, without);
}

/// As [`compare`], beside these real servers only.
#[track_caller]
pub fn compare_on(kinds: &[Kind], groups: &[&str], without: &[&str]) {
    let table = ours::commands();
    let commands: Vec<&Arc<Command>> = table
        .iter()
        .filter(|command| groups.contains(&command.row.group) && !without.contains(&&*command.name))
        .collect();
    assert!(!commands.is_empty(), "{groups:?} have commands");
    for &kind in kinds {
        let differences = if kind == Kind::Valkey { VALKEY_DIFFERENCES } else { &[] };
        let Some(real) = RealServer::start(kind, &[]) else { continue };
        let ours = ours::server();
        for (seed, protocol) in [(1, Protocol::Resp2), (2, Protocol::Resp3)] {
            let mut generator = Generator::new(seed);
            for episode in 0..COMMANDS / EPISODE {
                let connect = |address| Client::connect_with(address, protocol);
                let mut pair = Pair::new(connect(real.addr()), connect(Endpoint::addr(&ours)), differences);
                pair.check("FLUSHALL");
                let sent = run(&mut pair, &mut generator, &commands);
                let found = sent
                    .and_then(|sent| if kind == Kind::Valkey { same_state(&mut pair, sent) } else { Ok(()) });
                if let Err(text) = found {
                    panic!("{kind:?}, seed {seed}, episode {episode}, {protocol:?}\n{text}");
                }
            }
        }
    }
}

/// One episode on two empty servers: what was sent, a line a command.
fn run(pair: &mut Pair, generator: &mut Generator, commands: &[&Arc<Command>]) -> Result<String, String> {
    let mut sent = String::new();
    for _ in 0..EPISODE {
        let row = generator.rng().pick(commands).row;
        let syntax = Syntax::parse(row.syntax).map_err(|error| format!("{}: {error}", row.name))?;
        let command = generator.command(row.name, row.group, &syntax);
        match pair.run(&command.arguments) {
            Verdict::Equal => {}
            Verdict::Declared(_) => {
                // What one refused and the other did has left them in different states.
                pair.check("FLUSHALL");
                sent.clear();
                continue;
            }
            Verdict::Mismatch(text) => return Err(format!("{sent}{text}")),
        }
        let words: Vec<String> = command.arguments.iter().map(|argument| word(argument)).collect();
        sent.push_str(&words.join(" "));
        sent.push('\n');
    }
    Ok(sent)
}

fn same_state(pair: &mut Pair, sent: String) -> Result<(), String> {
    let (real, ours) = pair.clients();
    let differences = Snapshot::read(real).differences(&Snapshot::read(ours));
    if differences.is_empty() { Ok(()) } else { Err(sent + &differences.join("\n")) }
}
