//! Mistyped words in requests of our own commands. Each row's grammar generates the requests, so that a new command is
//! covered automatically.

use super::explained::is_own;
use lockwheel::Config;
use lockwheel_engine::core::Simulation;
use lockwheel_engine::spec::Command;
use lockwheel_engine::spec::syntax::{Kind, Syntax, Word, arguments};
use lockwheel_tests::ours;

/// Words that are no number, or no number of 64 bits.
const NO_NUMBERS: [&str; 4] = ["nonum", "1x", "9223372036854775808", "-9223372036854775809"];
/// Numbers that some arguments refuse.
const SMALL_NUMBERS: [&str; 3] = ["-9223372036854775808", "-1", "0"];
/// A standalone server knows no other servers, whatever their names.
const ALONE: &str = "-ERR this server is not part of a topology: ";

/// A word of a synopsis, and a request that reaches it: one word for each required word of the synopsis.
struct Reached<'a> {
    part: Syntax<'a>,
    words: Vec<String>,
    at: usize,
}

/// Writes a request that contains some words of the synopsis, counted from 0; the first of them is the target.
struct Writer<'a> {
    wanted: Vec<usize>,
    seen: usize,
    words: Vec<String>,
    found: Option<(Syntax<'a>, usize)>,
}

fn leaves(part: &Syntax<'_>) -> usize {
    match part {
        Syntax::Token(_) | Syntax::Argument(_) => 1,
        _ => part.parts().iter().map(leaves).sum(),
    }
}

/// A value that the command accepts for an argument, judged by the argument's name.
fn value(word: &Word<'_>) -> String {
    match word.text {
        "event" => "acquired".to_owned(),
        "command" => "get".to_owned(),
        "sha1" => "a".repeat(40),
        "id" => "0".repeat(32),
        "server" | "servers" => "0".to_owned(),
        "type" => "hash".to_owned(),
        "milliseconds" => "100".to_owned(),
        _ if is_number(word) => "1".to_owned(),
        _ => "a".to_owned(),
    }
}

fn is_number(word: &Word<'_>) -> bool {
    let kind = arguments::of(&Syntax::Argument(*word))[0].kind;
    matches!(kind, Kind::Integer | Kind::Double | Kind::UnixTime)
}

impl<'a> Writer<'a> {
    fn has(&self, part: &Syntax<'a>) -> bool {
        let words = self.seen..self.seen + leaves(part);
        self.wanted.iter().any(|wanted| words.contains(wanted))
    }

    fn write(&mut self, part: &Syntax<'a>) {
        match part {
            Syntax::Token(word) | Syntax::Argument(word) => {
                if self.seen == self.wanted[0] {
                    self.found = Some((part.clone(), self.words.len()));
                }
                let is_token = matches!(part, Syntax::Token(_));
                self.words.push(if is_token { word.text.to_owned() } else { value(word) });
                self.seen += 1;
            }
            Syntax::Optional(part) if self.has(part) => self.write(part),
            Syntax::Optional(part) => self.seen += leaves(part),
            Syntax::Sequence(parts) => parts.iter().for_each(|part| self.write(part)),
            Syntax::Repeat(part) | Syntax::Named(_, part) => self.write(part),
            Syntax::OneOf(parts) => {
                let has_none = !self.has(&Syntax::Sequence(parts.clone()));
                for (n, part) in parts.iter().enumerate() {
                    if self.has(part) || (has_none && n == 0) {
                        self.write(part);
                    } else {
                        self.seen += leaves(part);
                    }
                }
            }
        }
    }
}

/// The first of these words of a synopsis, with a request that contains all of them.
fn reached_with<'a>(syntax: &Syntax<'a>, wanted: Vec<usize>) -> Reached<'a> {
    let mut writer = Writer { wanted, seen: 0, words: Vec::new(), found: None };
    writer.write(syntax);
    let (part, at) = writer.found.expect("each word is in a request");
    Reached { part, words: writer.words, at }
}

/// All words of a synopsis, each with a request that contains it.
fn reached<'a>(syntax: &Syntax<'a>) -> Vec<Reached<'a>> {
    (0..leaves(syntax)).map(|word| reached_with(syntax, vec![word])).collect()
}

/// Returns all numbers of a synopsis, each in requests without another option, and with each of the other tokens.
fn numbers_with_options<'a>(syntax: &Syntax<'a>) -> Vec<Reached<'a>> {
    let is_number =
        |reached: &Reached<'_>| matches!(&reached.part, Syntax::Argument(word) if is_number(word));
    let alone = reached(syntax);
    let numbers = (0..alone.len()).filter(|&at| is_number(&alone[at]));
    let tokens: Vec<usize> =
        (0..alone.len()).filter(|&at| matches!(alone[at].part, Syntax::Token(_))).collect();
    let with_each = |number| {
        let pairs = tokens.iter().map(move |&token| vec![number, token]);
        pairs.chain([vec![number]])
    };
    numbers.flat_map(with_each).map(|wanted| reached_with(syntax, wanted)).collect()
}

impl Reached<'_> {
    /// The request with another word in this place.
    fn line(&self, command: &Command, word: &str) -> String {
        let mut words = self.words.clone();
        words[self.at] = word.to_owned();
        format!("{} {}", command.name.to_uppercase(), words.join(" "))
    }

    /// The option of the word, followed by a space.
    fn option(&self) -> String {
        let before = self.at.checked_sub(1).map(|at| &self.words[at]);
        let option = before.filter(|word| word.starts_with(|first: char| first.is_ascii_uppercase()));
        option.map(|word| format!("{word} ")).unwrap_or_default()
    }
}

/// Calls `look` with each word of the synopses of our own commands.
fn each_word(mut look: impl FnMut(&Command, &Reached<'_>)) {
    for command in ours::commands().iter_all().filter(|command| is_own(command)) {
        let syntax = Syntax::parse(command.spec.syntax).expect("another test reads all synopses");
        reached(&syntax).iter().for_each(|reached| look(command, reached));
    }
}

fn server(change: fn(&mut Config)) -> Simulation {
    let mut config = Config::default();
    change(&mut config);
    Simulation::new(config, 7)
}

/// A new server on a manual clock, and a client.
fn frozen() -> (Simulation, u64) {
    let mut server = server(|config| config.lock_history = true);
    let client = server.connect();
    server.ask(client, "CLOCK.FREEZE");
    (server, client)
}

/// The answer of a new server to a line, and the server's data afterwards.
fn ask(line: Option<&str>) -> (String, Vec<String>) {
    let (mut server, client) = frozen();
    let answer = line.map(|line| server.ask(client, line)).unwrap_or_default();
    let state = ["DEBUG DIGEST", "FAULT.LIST", "CLOCK.INFO", "LOCK.FENCEINFO", "LOCK.GRAPH", "LOCK.STATS"];
    (answer, state.map(|line| server.ask(client, line)).into())
}

/// Fails with some of these lines, if there are any.
#[track_caller]
fn check_none(problems: &[String]) {
    let some = &problems[..problems.len().min(40)];
    assert!(problems.is_empty(), "{} such as\n{}", problems.len(), some.join("\n"));
}

#[test]
fn the_error_of_an_invalid_number_names_its_option() {
    let (mut problems, mut count) = (Vec::new(), 0);
    let (_, untouched) = ask(None);
    each_word(|command, reached| {
        let Syntax::Argument(argument) = &reached.part else { return };
        if !is_number(argument) {
            return;
        }
        count += 1;
        for word in NO_NUMBERS {
            let line = reached.line(command, word);
            let (answer, state) = ask(Some(&line));
            let (name, quoted) = (argument.text, format!("'{word}'"));
            let named = format!("{}{name} must be ", reached.option());
            let is_expected = answer.contains(&format!(", found {quoted}")) && answer.contains(name);
            if !answer.starts_with("-ERR ")
                || !(answer.contains(&named) || is_expected)
                || !answer.contains(&quoted)
            {
                problems.push(format!("{line} -> {}", answer.trim_end()));
            }
            if state != untouched {
                problems.push(format!("{line} changes something"));
            }
        }
    });
    assert!(count > 70, "{count}");
    check_none(&problems);
}

#[test]
fn every_error_of_a_number_has_an_explanation() {
    let mut problems = Vec::new();
    each_word(|command, reached| {
        if !matches!(reached.part, Syntax::Argument(_)) {
            return;
        }
        for word in NO_NUMBERS.iter().chain(&SMALL_NUMBERS) {
            let line = reached.line(command, word);
            let (answer, _) = ask(Some(&line));
            let beginnings =
                ["value is ", "timeout is ", "invalid ", "time is ", "numkeys ", "token should "];
            let is_of_number = beginnings.iter().any(|text| answer.starts_with(&format!("-ERR {text}")));
            let is_bare_syntax = answer.starts_with("-ERR syntax error: a value");
            if is_bare_syntax || (is_of_number && !(answer.contains(" must be ") && answer.contains(word))) {
                problems.push(format!("{line} -> {}", answer.trim_end()));
            }
        }
    });
    check_none(&problems);
}

/// A word with two neighbouring letters exchanged, behind its first one. `None` if the word is too short for that.
fn mistyped(word: &str) -> Option<String> {
    let mut letters: Vec<char> = word.chars().collect();
    let at = (1..letters.len().saturating_sub(1)).find(|&at| letters[at] != letters[at + 1])?;
    letters.swap(at, at + 1);
    (word.len() > 3).then(|| letters.into_iter().collect())
}

#[test]
fn the_error_of_a_mistyped_option_suggests_the_nearest_one() {
    let (mut problems, mut count) = (Vec::new(), 0);
    each_word(|command, reached| {
        let Syntax::Token(token) = &reached.part else { return };
        let Some(word) = mistyped(token.text) else { return };
        count += 1;
        let line = reached.line(command, &word);
        let (answer, _) = ask(Some(&line));
        let expected = format!("'{word}'");
        let hint = format!(". Did you mean '{}'?", token.text);
        let is_explained = answer.contains(&expected) && answer.contains(&hint);
        if !is_explained && !answer.starts_with(ALONE) {
            problems.push(format!("{line} -> {}", answer.trim_end()));
        }
    });
    assert!(count > 100, "{count}");
    check_none(&problems);
}

#[test]
fn the_error_of_a_mistyped_command_ends_with_the_nearest_one() {
    let mut count = 0;
    for command in ours::commands().iter_all().filter(|command| is_own(command)) {
        let name = command.name.to_uppercase();
        let (family, verb) = name.split_once('.').expect("our own commands have a family");
        let Some(verb) = mistyped(verb) else { continue };
        count += 1;
        let (answer, _) = ask(Some(&format!("{family}.{verb} a")));
        let expected =
            format!("-ERR unknown command '{family}.{verb}', with args beginning with: 'a' Did you mean '");
        assert!(answer.starts_with(&expected), "{answer}");
        assert!(answer.ends_with(&format!("'{name}'?\r\n")), "{answer}");
    }
    assert!(count > 40, "{count}");
}

#[test]
fn other_unknown_commands_get_the_text_of_redis() {
    for name in ["LOKC.ACQUIRE", "LOCKACQUIRE", "CL.THROTLE", "LOCK.FROBNICATE", "GTE", "LOCK.", "."] {
        let (answer, _) = ask(Some(name));
        assert_eq!(answer, format!("-ERR unknown command '{name}', with args beginning with: \r\n"));
    }
    let mut server = server(|config| config.control = false);
    let client = server.connect();
    for (name, hint) in
        [("CLOCK.ADVNACE", ""), ("CLOCK.FREEZE", ""), ("LOCK.AQUIRE", "Did you mean 'LOCK.ACQUIRE'?")]
    {
        let expected = format!("-ERR unknown command '{name}', with args beginning with: {hint}\r\n");
        assert_eq!(server.ask(client, name), expected);
    }
}

#[test]
fn the_error_of_a_mistyped_name_suggests_the_nearest_one() {
    let mut server = server(|config| config.lock_history = true);
    let client = server.connect();
    server.ask(client, "FAULT.ADD slow ON get DO HOLD");
    for (line, expected) in [
        ("AWAIT.EVENT renewd", "no such event 'renewd': the events are "),
        ("AWAIT.EVENT renewd", ". Did you mean 'renewed'?"),
        ("AWAIT.EVENT fish", "'fish': the events are "),
        ("AWAIT.KEY k TYPE lsit", "no such type 'lsit': the types are string, list, "),
        ("AWAIT.KEY k TYPE lsit", ". Did you mean 'list'?"),
        ("AWAIT.CALLS gte 1", "unknown command 'gte'. Did you mean 'get'?"),
        ("AWAIT.CALLS config|ste 1", "unknown command 'config|ste'. Did you mean 'config|set'?"),
        ("AWAIT.CALLS frobnicate 1", "unknown command 'frobnicate'\r\n"),
        ("FAULT.ADD r ON lock.aquire DO HOLD", "unknown command 'lock.aquire'. Did you mean 'lock.acquire'?"),
        ("FAULT.GO slwo", "there is no rule 'slwo'. Did you mean 'slow'?"),
        ("AWAIT.FAULT slwo 1", "there is no rule 'slwo'. Did you mean 'slow'?"),
        ("AWAIT.HELD nope 1", "there is no rule 'nope'\r\n"),
        ("AWAIT.HELD \"a\\r\\n\\x00b\" 1", "there is no rule 'a\\r\\n\\x00b'\r\n"),
        ("FAULT.FREEZECLIENT 5 FORVER", "'FORVER'. Did you mean 'FOREVER'?"),
        (
            "FAULT.FREEZECLIENT -5 FOREVER",
            "client-id must be an integer from 0 to 9223372036854775807, not '-5'",
        ),
        ("FAULT.ADD r SCRIPT abc DO HOLD", "SCRIPT sha1 must be 40 hexadecimal digits, not 'abc'"),
        ("FAULT.ADD r PROB 1.5 DO HOLD", "PROB chance must be a number from 0 to 1, not '1.5'"),
        ("RATE.ACQUIRE r 5000000000", "permits must be an integer from 1 to 4294967295, not '5000000000'"),
        ("LOCK.ACQUIRE l mode", "ERR invalid owner: owner must be a name that is neither empty nor reserved"),
        ("SEM.ACQUIRE s ''", "ERR invalid owner: owner must be a name that is not empty, not ''"),
        ("LOCK.ACQUIRE l a SESSION PX x", "PX milliseconds must be an integer from 100 to "),
        ("LOCK.ACQUIRE l a PX x DATA fair SESSION", "PX milliseconds must be an integer from 100 to "),
        ("LOCK.ACQUIRE l a SHARED DATA session PX x", "PX milliseconds must be an integer from 1 to "),
        ("LOCK.ACQUIRE l a EX x SESSION", "EX seconds must be an integer from 1 to "),
        ("SEM.ACQUIRE s a PX x SESSION", "PX milliseconds must be an integer from 100 to "),
        ("SEM.ACQUIRE s a PERMITS x IDS", "PERMITS count must be an integer from 1 to 10000, not 'x'"),
        ("SEM.ACQUIRE s a SESSION PX 5", "the lease of a session must be at least 100 milliseconds, not 5"),
        ("SEM.ACQUIRE s a PERMITS 10001 IDS", "PERMITS must be at most 10000 with IDS, not 10001"),
        ("SEM.RELEASE s a ID x", "ID id must be 32 hexadecimal digits, not 'x'"),
        ("FAULT.PARTITION -5", "expected NAME, LIB, ADDR, ALL or NODES, found '-5'"),
        ("FAULT.THAWCLIENT -5", "client-id must be an integer from 0 to 9223372036854775807, not '-5'"),
        ("FAULT.FREEZECLIENT 99999999999999999999 FOREVER", "client-id must be an integer from 0 to "),
        ("CLOCK.SET x", "milliseconds must be an integer from 0 to 4611686018427387, not 'x'"),
        ("CLOCK.SET -1", "milliseconds must be an integer from 0 to 4611686018427387, not '-1'"),
        ("FAULT.ADD slow DO HOLD", "rule 'slow' already exists"),
    ] {
        let answer = server.ask(client, line);
        assert!(answer.starts_with("-ERR ") && answer.contains(expected), "{line}: {answer}");
    }
    assert_eq!(server.ask(client, "FAULT.DEL nope slow slow"), ":1\r\n");
}

/// The ends of the range in an error, if it names one.
fn named_range(answer: &str) -> Option<[i128; 2]> {
    let (least, rest) = answer.split_once(" from ")?.1.split_once(" to ")?;
    let (most, _) = rest.split_once(", not ")?;
    Some([least.parse().ok()?, most.parse().ok()?])
}

/// Whether an answer refuses this number: it is an error that quotes the number.
fn refuses(answer: &str, number: i128) -> bool {
    let is_part = |char: char| char.is_ascii_alphanumeric() || char == '-';
    let mut words = answer.split(|char| !is_part(char));
    answer.starts_with("-ERR ") && words.any(|word| word == number.to_string())
}

#[test]
fn only_numbers_in_the_range_of_the_error_are_valid() {
    let answer = |line: &str| {
        let (mut server, client) = frozen();
        server.ask(client, line)
    };
    let (mut problems, mut count) = (Vec::new(), 0);
    for command in ours::commands().iter_all().filter(|command| is_own(command)) {
        let syntax = Syntax::parse(command.spec.syntax).expect("another test reads all synopses");
        for reached in numbers_with_options(&syntax) {
            let Some([least, most]) = named_range(&answer(&reached.line(command, "x"))) else {
                continue;
            };
            count += 1;
            for (number, is_valid) in [(least, true), (most, true), (least - 1, false), (most + 1, false)] {
                let line = reached.line(command, &number.to_string());
                let answer = answer(&line);
                // Another word of the request may be refused before a number that is not valid.
                let is_as_named =
                    if is_valid { !refuses(&answer, number) } else { answer.starts_with("-ERR ") };
                if !is_as_named {
                    problems.push(format!("{line} -> {}", answer.trim_end()));
                }
            }
        }
    }
    assert!(count > 300, "{count}");
    check_none(&problems);
}

/// The far end of a stepped clock is named, and can be reached.
#[test]
fn the_range_that_an_error_names_is_valid() {
    let mut server = server(|_| {});
    let client = server.connect();
    for line in ["CLOCK.SET 0", "CLOCK.ADVANCE 100000", "CLOCK.SET 0"] {
        server.ask(client, line);
    }
    let refused = server.ask(client, "CLOCK.STEP 9223372036854775807");
    let most = refused.split_once(" to ").and_then(|(_, rest)| rest.split_once(',')).expect("a range").0;
    let beyond: i64 = most.parse::<i64>().expect("a number") + 1;
    assert!(server.ask(client, &format!("CLOCK.STEP {beyond}")).starts_with('-'));
    assert_eq!(server.ask(client, &format!("CLOCK.STEP {most}")), format!(":{most}\r\n"));
}
