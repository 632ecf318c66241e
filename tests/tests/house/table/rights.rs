//! Rights to keys: each key that a request touches is one that the permit sees.
//!
//! Two servers have the same keys that a user may touch. One of them also has keys that the user may not touch, and the
//! other has none of these. A request by the user that is not refused must answer the same on both, and must leave the
//! other keys as they were: or it has read or written a key without the right to it.

use crate::table::each;
use lockwheel::Config;
use lockwheel_engine::config::Permission;
use lockwheel_engine::core::Simulation;
use lockwheel_engine::spec::syntax::Syntax;
use lockwheel_tests::generate::Generator;
use lockwheel_tests::rng::seeds;
use std::collections::BTreeMap;

/// Requests of each command, each sent in every one of the ways.
const REQUESTS: usize = 8;
/// Requests after which the data are made anew.
const ROUND: usize = 4;

/// The data that a server begins with; `N` stands for the number in a key's name.
const DATA: &[&str] = &[
    "SET sN 12",
    "SETBIT bN 3 1",
    "HSET hN f v m1 1",
    "RPUSH lN a b 1 2",
    "SADD tN a m1 3",
    "ZADD zN 1 m1 2 m2",
    "GEOADD gN 13.361389 38.115556 m1",
    "XADD xN 1-1 f v",
    "XGROUP CREATE xN g1 0",
    "PFADD pN a b",
    "SET kN 7",
];

/// Keys that the user may not touch besides those with a 2.
const MORE_DENIED: &[&str] = &["SET \"\" v", "SET \"key with space\" v"];

/// All keys that the user may not touch.
const DENIED: &str = "s2 b2 h2 l2 t2 z2 g2 x2 p2 k2 \"\" \"key with space\" \"bin\\r\\n\\x00\"";

/// The rights of the user. DEBUG needs no rights to keys, in Redis either.
const RULES: &str = "ACL SETUSER u on nopass ~*1 &* +@all -debug";

const LIBRARY: &str = "FUNCTION LOAD REPLACE \"#!lua name=rights\\nredis.register_function('call', \
                       function(keys, args) return redis.pcall(unpack(args)) end)\"";

/// How a request comes to run.
#[derive(Clone, Copy, Debug)]
enum Way {
    Client,
    Transaction,
    Script,
    Function,
}

const WAYS: [Way; 4] = [Way::Client, Way::Transaction, Way::Script, Way::Function];

/// A hole that Redis and Valkey have too: without a source PFMERGE makes its first key, whose right it does not check.
fn is_known_hole(request: &[Vec<u8>]) -> bool {
    request.len() == 2 && request[0].eq_ignore_ascii_case(b"pfmerge")
}

struct Server {
    simulation: Simulation,
    admin: u64,
    has_denied: bool,
    /// The digests of the keys that the user may not touch.
    denied: String,
}

impl Server {
    fn new(has_denied: bool) -> Self {
        let mut config = Config::default();
        (config.enable_debug_command, config.port) = (Permission::Yes, 0);
        let mut simulation = Simulation::new(config, 7);
        let admin = simulation.connect();
        let mut server = Server { simulation, admin, has_denied, denied: String::new() };
        server.ask("CLOCK.FREEZE");
        // Requests may add rules of faults, which are not to act on what makes the data anew.
        server.ask("FAULT.EXEMPT ON");
        server.fill();
        server
    }

    fn ask(&mut self, line: &str) -> String {
        self.simulation.ask(self.admin, line)
    }

    /// Makes the data, the user and the library anew.
    fn fill(&mut self) {
        for line in [
            "FAULT.CLEAR",
            "FAULT.HEAL",
            "FLUSHALL",
            "FUNCTION FLUSH",
            "SCRIPT FLUSH",
            "ACL DELUSER u",
            RULES,
            LIBRARY,
        ] {
            let answer = self.ask(line);
            assert!(!answer.starts_with('-'), "{line}: {answer}");
        }
        let numbers: &[&str] = if self.has_denied { &["1", "2"] } else { &["1"] };
        for number in numbers {
            for line in DATA {
                let line = line.replace('N', number);
                let answer = self.ask(&line);
                assert!(!answer.starts_with('-'), "{line}: {answer}");
            }
        }
        if self.has_denied {
            MORE_DENIED.iter().for_each(|line| drop(self.ask(line)));
        }
        self.denied = self.digests();
    }

    fn digests(&mut self) -> String {
        self.ask(&format!("DEBUG DIGEST-VALUE {DENIED}"))
    }

    /// A new client of the user sends a request; all that it is answered until it waits or is served.
    fn run(&mut self, way: Way, request: &str) -> String {
        let client = self.simulation.connect();
        self.simulation.ask(client, "AUTH u x");
        let answer = match way {
            Way::Client => self.simulation.ask(client, request),
            Way::Transaction => {
                let queued = self.simulation.ask(client, "MULTI");
                let queued = queued + &self.simulation.ask(client, request);
                queued + &self.simulation.ask(client, "EXEC")
            }
            Way::Script => {
                self.simulation.ask(client, &format!("EVAL \"return redis.pcall(unpack(ARGV))\" 0 {request}"))
            }
            Way::Function => self.simulation.ask(client, &format!("FCALL call 0 {request}")),
        };
        self.ask(&format!("CLIENT KILL ID {client}"));
        self.simulation.close(client);
        self.simulation.notice();
        answer
    }
}

/// A request as a line.
fn line(request: &[Vec<u8>]) -> String {
    let word = |word: &Vec<u8>| {
        let text: String = word
            .iter()
            .map(|byte| match byte {
                b'"' | b'\\' => format!("\\{}", char::from(*byte)),
                b' '..=b'~' => char::from(*byte).to_string(),
                _ => format!("\\x{byte:02x}"),
            })
            .collect();
        format!("\"{text}\"")
    };
    request.iter().map(word).collect::<Vec<_>>().join(" ")
}

/// The commands that have keys, by their name: group and synopsis.
fn commands() -> BTreeMap<String, (String, String)> {
    let mut all = BTreeMap::new();
    each(&mut |command| {
        let syntax = Syntax::parse(command.spec.syntax).expect("synopses are well formed");
        let has_keys = !command.spec.keys.is_empty()
            || command.spec.key_finder.is_some()
            || syntax.arguments().iter().any(|name| name.contains("key"));
        if command.subcommands.is_empty() && has_keys {
            let texts = (command.spec.group.to_owned(), command.spec.syntax.to_owned());
            all.insert(command.name.to_string(), texts);
        }
    });
    all
}

#[test]
fn a_request_touches_no_key_that_the_permit_does_not_see() {
    let commands = commands();
    assert!(commands.len() > 200, "{}", commands.len());
    let (mut with, mut without) = (Server::new(true), Server::new(false));
    let (mut problems, mut refused, mut sent) = (BTreeMap::new(), 0, 0);
    for seed in seeds(1) {
        let mut generator = Generator::new(seed);
        for (name, (group, syntax)) in &commands {
            let syntax = Syntax::parse(syntax).expect("synopses are well formed");
            for number in 0..REQUESTS {
                let request = generator.command(name, group, &syntax).arguments;
                for way in WAYS {
                    if number % ROUND == 0 {
                        with.fill();
                        without.fill();
                    }
                    let text = line(&request);
                    let answers = [&mut with, &mut without].map(|server| server.run(way, &text));
                    sent += 1;
                    refused +=
                        usize::from(answers[0].contains("NOPERM") || answers[0].contains("can't access"));
                    let is_same = [&mut with, &mut without].map(|server| server.digests() == server.denied);
                    if answers[0] == answers[1] && is_same == [true; 2] {
                        continue;
                    }
                    if !is_known_hole(&request) {
                        problems.entry(name.clone()).or_insert(format!(
                            "seed {seed} {way:?} {text}: {answers:?} other keys are the same: {is_same:?}"
                        ));
                    }
                    with.fill();
                    without.fill();
                }
            }
        }
    }
    let texts: Vec<String> = problems.into_values().collect();
    assert!(texts.is_empty(), "{} commands:\n{}", texts.len(), texts.join("\n"));
    // Most requests have a key of each kind.
    assert!(refused > sent / 5 && refused < sent * 19 / 20, "{refused} of {sent}");
}

/// The declared hole is there, or it need not be declared any more.
#[test]
fn pfmerge_without_a_source_makes_any_key_as_in_redis() {
    let mut server = Server::new(false);
    for way in WAYS {
        server.fill();
        let answer = server.run(way, "PFMERGE p2");
        assert!(answer.contains("OK") && !answer.contains("NOPERM"), "{way:?}: {answer}");
        assert_ne!(server.digests(), server.denied, "{way:?}");
    }
}
