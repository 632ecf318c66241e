//! Syntax errors of our own commands: each names the wrong word, or the missing part.

use lockwheel::Config;
use lockwheel_engine::core::Simulation;
use lockwheel_engine::spec::Command;
use lockwheel_engine::spec::syntax::Syntax;
use lockwheel_tests::generate::Generator;
use lockwheel_tests::ours;
use std::collections::BTreeMap;

const FAMILIES: [&str; 8] = ["await", "clock", "control", "fault", "latch", "lock", "rate", "sem"];
const REQUESTS: usize = 60;

pub(super) fn is_own(command: &Command) -> bool {
    command.name.split_once('.').is_some_and(|(family, _)| FAMILIES.contains(&family))
}

/// A request as a line, if its words need no quotes.
pub(super) fn line(words: &[Vec<u8>]) -> Option<String> {
    let is_plain = |word: &Vec<u8>| {
        !word.is_empty() && word.iter().all(|byte| byte.is_ascii_graphic() && !b"\"'\\".contains(byte))
    };
    words.iter().all(is_plain).then(|| String::from_utf8_lossy(&words.join(&b' ')).into_owned())
}

/// The error of a request to an empty server, if it is a syntax error.
fn error(line: &str) -> Option<String> {
    let mut server = Simulation::new(Config::default(), 7);
    let client = server.connect();
    Some(server.ask(client, line)).filter(|answer| answer.starts_with("-ERR syntax error"))
}

#[test]
fn no_syntax_error_of_our_own_commands_is_bare() {
    let mut generator = Generator::new(ours::SEED);
    let mut found: BTreeMap<String, usize> = BTreeMap::new();
    let mut problems = Vec::new();
    for command in ours::commands().iter_all().filter(|command| is_own(command)) {
        let syntax = Syntax::parse(command.spec.syntax).unwrap();
        let made =
            (0..REQUESTS).map(|_| generator.command(&command.name, command.spec.group, &syntax).arguments);
        let mut lines: Vec<String> = made.filter_map(|words| line(&words)).collect();
        let least = "1 ".repeat(syntax.words_min());
        lines.push(format!("{} {least} NOPE", command.name));
        for answer in lines.iter().filter_map(|line| Some(format!("{line} -> {}", error(line)?.trim_end()))) {
            *found.entry(command.name.clone()).or_default() += 1;
            if !answer.contains("-ERR syntax error: ") {
                problems.push(answer);
            }
        }
    }
    assert!(found.len() > 40, "{found:?}");
    assert!(
        problems.is_empty(),
        "{} such as\n{}",
        problems.len(),
        problems[..problems.len().min(40)].join("\n")
    );
}

#[test]
fn a_syntax_error_names_the_word_and_what_was_expected() {
    for (line, expected) in [
        ("LOCK.ACQUIRE a b PX", "expected milliseconds at the end"),
        ("LOCK.RELEASE a b TTL", "expected SHARED, EXCLUSIVE, ALL or TOKEN, found 'TTL'"),
        ("LOCK.MACQUIRE 2 a b", "expected owner at the end"),
        ("LOCK.RENEW 1 a b TTL 5", "expected EX or PX, found 'TTL'"),
        ("SEM.ACQUIRE s a PING 500", "PING needs SESSION"),
        ("LOCK.SCAN 0 COUNT 0", "COUNT count must be an integer from 1 to 9223372036854775807, not '0'"),
        ("LOCK.ACQUIRE a b PX 1 PX 2", "'PX' is given twice"),
        ("LOCK.ACQUIRE a b SHARED fair", "'SHARED' and 'fair' exclude each other"),
        ("LOCK.ACQUIRE a b PING 500", "PING needs SESSION"),
        ("LOCK.VERIFY LEVEL BAD", "expected VIOLATION, SUSPECT or LINT, found 'BAD'"),
        ("SEM.RENEW a b EX 5", "expected PX, found 'EX'"),
        ("FAULT.ADD r ON get CLOSE", "DO, found 'CLOSE'"),
        ("FAULT.ADD r DO EXPLODE", "expected DROPREQUEST, "),
        ("FAULT.ADD r DO EXPLODE", ", found 'EXPLODE'"),
        ("FAULT.FREEZECLIENT bob 5", "expected client-id, NAME or LIB, found 'bob'"),
        ("CLOCK.NEXT 1", "expected COUNT, NOWAKE or SETTLE, found '1'"),
        ("AWAIT.KEY k MAYBE", "expected EXISTS, GONE or TYPE, found 'MAYBE'"),
        ("CONTROL.RESET NOW", "expected KEEPCLIENTS, found 'NOW'"),
        ("LATCH.COUNTDOWN l 1 1", "'1' is one word too many"),
        ("CL.THROTTLE k 1 1 1 1 1", "'1' is one word too many"),
    ] {
        let answer = error(line).unwrap_or_default();
        assert!(answer.starts_with("-ERR syntax error: ") && answer.contains(expected), "{line}: {answer}");
    }
    let all = error("LOCK.ACQUIRE a b TTL 100").unwrap_or_default();
    for word in ["expected ", "SHARED, ", "EX, ", "PX, ", "BLOCK, ", " or ASYNC, found 'TTL'\r\n"] {
        assert!(all.contains(word), "{word}: {all}");
    }
    assert_eq!(error("SET k v NOPE").as_deref(), Some("-ERR syntax error\r\n"));
}
