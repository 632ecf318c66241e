//! Rights to keys: the permission check sees each key that a request touches.
//!
//! Two servers have the same keys that a user may touch. One of them also has keys that the user may not touch, and the
//! other has none of these. A request by the user that is not refused must answer the same on both, and must leave the
//! other keys as they were: or it has read or written a key without the right to it.

use crate::table::each;
use lockwheel::Config;
use lockwheel_engine::config::Permission;
use lockwheel_engine::core::Simulation;
use lockwheel_engine::spec::syntax::Syntax;
use lockwheel_tests::generate::{Form, Generator};
use lockwheel_tests::rng::seeds;
use std::collections::BTreeMap;

/// Requests of each command; each is sent in every way.
const REQUESTS: usize = 8;
/// Requests of each option that is given twice.
const REQUESTS_OF_OPTION: usize = 4;
/// The most attempts to make a request without a mistake.
const ATTEMPTS: usize = 50;
/// The number of requests after which the data are recreated.
const ROUND: usize = 4;

/// The initial data of a server; `N` stands for the number in a key's name.
const DATA: &[&str] = &[
    "SET sN 12",
    "SETBIT bN 3 1",
    "HSET hN f v m1 1",
    "RPUSH lN a b 1 2",
    "SADD tN a m1 3",
    "ZADD zN 1 m1 2 m2",
    "GEOADD gN 13.361389 38.115556 m1 15.087269 37.502669 m2 15 37.5 m3",
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

/// The way in which a request runs.
#[derive(Clone, Copy, Debug)]
enum Way {
    Client,
    Transaction,
    Script,
    Function,
}

const WAYS: [Way; 4] = [Way::Client, Way::Transaction, Way::Script, Way::Function];

/// A gap that Redis and Valkey have too: PFMERGE without a source creates its first key, whose right it does not check.
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
        // Requests may add rules of faults, which must not act on the recreation of the data.
        server.ask("FAULT.EXEMPT ON");
        server.fill();
        server
    }

    fn ask(&mut self, line: &str) -> String {
        self.simulation.ask(self.admin, line)
    }

    /// Recreates the data, the user and the library.
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

    /// Sends a request of a new client of the user. Returns all answers until it waits or is served.
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

/// The two servers, and the findings of the walk.
struct Walk {
    with: Server,
    without: Server,
    /// The first problem of each command.
    problems: BTreeMap<String, String>,
    refused: usize,
    sent: usize,
}

impl Walk {
    fn new() -> Self {
        let (with, without) = (Server::new(true), Server::new(false));
        Walk { with, without, problems: BTreeMap::new(), refused: 0, sent: 0 }
    }

    fn fill(&mut self) {
        self.with.fill();
        self.without.fill();
    }

    /// Sends a request of this command in every way, each on new data if `is_anew`.
    fn send(&mut self, name: &str, request: &[Vec<u8>], is_anew: bool) {
        let text = line(request);
        for way in WAYS {
            if is_anew {
                self.fill();
            }
            let answers = [&mut self.with, &mut self.without].map(|server| server.run(way, &text));
            self.sent += 1;
            self.refused += usize::from(answers[0].contains("NOPERM") || answers[0].contains("can't access"));
            let is_same = [&mut self.with, &mut self.without].map(|server| server.digests() == server.denied);
            if answers[0] == answers[1] && is_same == [true; 2] {
                continue;
            }
            if !is_known_hole(request) {
                self.problems
                    .entry(name.to_owned())
                    .or_insert(format!("{way:?} {text}: {answers:?} other keys are the same: {is_same:?}"));
            }
            self.fill();
        }
    }

    #[track_caller]
    fn has_no_problem(self) {
        let texts: Vec<String> = self.problems.into_values().collect();
        assert!(texts.is_empty(), "{} commands:\n{}", texts.len(), texts.join("\n"));
    }
}

#[test]
fn every_key_that_a_request_uses_is_checked_by_acls() {
    let commands = commands();
    assert!(commands.len() > 200, "{}", commands.len());
    let mut walk = Walk::new();
    for seed in seeds(1) {
        let mut generator = Generator::new(seed);
        for (name, (group, syntax)) in &commands {
            let syntax = Syntax::parse(syntax).expect("synopses are well formed");
            for number in 0..REQUESTS {
                let request = generator.command(name, group, &syntax).arguments;
                walk.send(name, &request, number % ROUND == 0);
            }
        }
    }
    // Most requests have a key of each kind.
    assert!(walk.refused > walk.sent / 5 && walk.refused < walk.sent * 19 / 20, "{}", walk.refused);
    walk.has_no_problem();
}

/// The options of a command that take an argument. For each, a synopsis of the command that has only this option,
/// twice.
fn options_twice<'a>(syntax: &Syntax<'a>) -> Vec<(Syntax<'a>, Syntax<'a>)> {
    let Syntax::Sequence(parts) = syntax else { return Vec::new() };
    let twice = |(at, part): (usize, &Syntax<'a>)| {
        let Syntax::Optional(option) = part else { return None };
        if option.tokens().is_empty() || option.arguments().is_empty() {
            return None;
        }
        let needed = |part: &&Syntax<'a>| !matches!(part, Syntax::Optional(_));
        let before = parts[..at].iter().filter(needed).cloned();
        let after = parts[at + 1..].iter().filter(needed).cloned();
        let pair = [(**option).clone(), (**option).clone()];
        Some(((**option).clone(), Syntax::Sequence(before.chain(pair).chain(after).collect())))
    };
    parts.iter().enumerate().filter_map(twice).collect()
}

/// Replaces the number of a key of the data, if the word is one.
fn numbered(word: &mut [u8], number: u8) {
    if let [kind, last @ (b'1' | b'2')] = word
        && b"sbhltzgxpk".contains(kind)
    {
        *last = number;
    }
}

/// A valid request with one option twice. All its keys are allowed, except those of the second option.
fn request_twice(
    generator: &mut Generator,
    (name, group): (&str, &str),
    (option, twice): &(Syntax<'_>, Syntax<'_>),
) -> Option<Vec<Vec<u8>>> {
    let mut made = (0..ATTEMPTS).map(|_| generator.command(name, group, twice));
    let mut request = made.find(|made| made.form == Form::Valid)?.arguments;
    let tokens = option.tokens();
    let is_token = |word: &Vec<u8>| tokens.iter().any(|token| word.eq_ignore_ascii_case(token.as_bytes()));
    let second = request.iter().rposition(is_token)?;
    let end = option.words_max().map_or(request.len(), |words| request.len().min(second + words));
    for (at, word) in request.iter_mut().enumerate() {
        numbered(word, if (second..end).contains(&at) { b'2' } else { b'1' });
    }
    Some(request)
}

/// A command may accept an option twice: the last one counts, or each.
#[test]
fn keys_of_a_repeated_option_are_checked_by_acls() {
    let mut walk = Walk::new();
    for seed in seeds(1) {
        let mut generator = Generator::new(seed);
        for (name, (group, syntax)) in &commands() {
            let syntax = Syntax::parse(syntax).expect("synopses are well formed");
            for option in options_twice(&syntax) {
                for number in 0..REQUESTS_OF_OPTION {
                    let names = (name.as_str(), group.as_str());
                    if let Some(request) = request_twice(&mut generator, names, &option) {
                        walk.send(name, &request, number == 0);
                    }
                }
            }
        }
    }
    assert!(walk.sent > 100 * WAYS.len(), "{}", walk.sent);
    walk.has_no_problem();
}

/// Redis 7.0 sees the first key of each option, and stores to the last one.
#[test]
fn the_destination_key_of_a_search_is_checked_by_acls() {
    let mut server = Server::new(true);
    for search in ["GEORADIUS g1 13 38 100 km", "GEORADIUSBYMEMBER g1 m1 100 km"] {
        for option in ["STORE", "STOREDIST"] {
            for way in WAYS {
                server.fill();
                let answer = server.run(way, &format!("{search} {option} z1 {option} z2"));
                assert!(answer.contains("NOPERM") || answer.contains("can't access"), "{way:?}: {answer}");
                assert_eq!(server.digests(), server.denied, "{way:?} {search} {option}");
            }
            let answer = server.run(Way::Client, &format!("{search} {option} z1 {option} k1"));
            assert_eq!(answer, ":1\r\n", "{search} {option}");
        }
    }
}

/// The declared gap exists; otherwise its declaration is obsolete.
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
