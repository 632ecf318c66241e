//! Tests of grammars, also against a matcher that tries every way.

use super::super::syntax::Syntax;
use super::matcher::Matcher;
use super::*;
use std::collections::BTreeSet;

const SET: &CommandGrammar = grammar!("key value [NX | XX] [EX seconds:1..] [GET]");
const SEVERAL: &CommandGrammar = grammar!("numkeys key [key ...] owner [PX milliseconds] [SHARED]");
const RATE: &CommandGrammar = grammar!("key [permits:1..9] [BLOCK milliseconds] [CLIENT id]");
const PERMITS: &CommandGrammar = grammar!("key owner [PERMITS count | ID id [id ...]] [FORCE]");
const OBSERVE: &CommandGrammar = grammar!("[DEL] pattern");
const FREEZE: &CommandGrammar = grammar!("(id:0.. | NAME glob) (milliseconds:0.. | FOREVER)");
const ADD: &CommandGrammar = grammar!(
    "name [ON command] [ARG index value] DO (HOLD | DELAY ms [JITTER ms] | REPLY (OK | INT n) | ARG at ADD by)"
);
const CLOCK: &CommandGrammar = grammar!("[COUNT count] [NOWAKE] [SETTLE quiet [LIMIT milliseconds]]");
const LAG: &CommandGrammar = grammar!("[(KEY glob | milliseconds:0..)]");
const PLAIN: &CommandGrammar = grammar!("key [count]");
const NOTHING: &CommandGrammar = grammar!("");
const ALL: [&CommandGrammar; 11] =
    [SET, SEVERAL, RATE, PERMITS, OBSERVE, FREEZE, ADD, CLOCK, LAG, PLAIN, NOTHING];

symbols!(SET: NX, XX, EX, GET);

fn words(request: &str) -> Vec<&[u8]> {
    std::iter::once("command").chain(request.split_whitespace()).map(str::as_bytes).collect()
}

fn error(grammar: &'static CommandGrammar, request: &str) -> String {
    let words = words(request);
    let parsed: Result<ParsedArgs<'_>, _> = grammar.parse(Args::new(&words));
    parsed.map_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned(), |_| String::new())
}

#[track_caller]
fn check(grammar: &'static CommandGrammar, request: &str, expected: &str) {
    assert_eq!(error(grammar, request), format!("ERR syntax error: {expected}"), "{request}");
}

#[test]
fn a_grammar_equals_its_compiled_synopsis() {
    for grammar in ALL {
        let syntax = Syntax::parse(grammar.synopsis).unwrap();
        let tokens: Vec<&str> = grammar.tokens.iter().map(|token| token.text).collect();
        assert_eq!(tokens, syntax.tokens(), "{}", grammar.synopsis);
        let least = grammar.parts[usize::from(grammar.root)].least;
        assert_eq!(usize::from(least), syntax.words_min(), "{}", grammar.synopsis);
    }
}

#[test]
fn a_request_has_the_values_of_its_symbols() {
    let words = words("k v get EX 5 xx");
    let parsed: ParsedArgs<'_> = SET.parse(Args::new(&words)).unwrap();
    assert!(parsed.has(GET) && parsed.has(XX) && !parsed.has(NX));
    assert_eq!(parsed.one_of(&[(NX, 1), (XX, 2)]), Some(2));
    assert_eq!((parsed.index(EX), parsed.value(EX)), (Some(5), Some(&b"5"[..])));
    assert_eq!(parsed.integer(EX), Ok(Some(5)));
    const KEY: Symbol = SET.symbol("key");
    assert_eq!(parsed.value(KEY), Some(&b"k"[..]));
}

#[test]
fn a_symbol_is_found_behind_others() {
    let words = words("r ARG 1 x DO ARG 2 ADD 3");
    let parsed: ParsedArgs<'_> = ADD.parse(Args::new(&words)).unwrap();
    const ADDED: [Symbol; 3] = [ADD.symbol("ARG"), ADD.symbol("DO ARG"), ADD.symbol("DO ARG ADD")];
    assert_eq!(ADDED.map(|symbol| parsed.integer(symbol)), [1, 2, 3].map(|number| Ok(Some(number))));
}

#[test]
fn the_first_wrong_word_is_named_with_what_was_expected() {
    check(SET, "k v TTL 5", "expected NX, XX, EX or GET, found 'TTL'");
    check(SET, "k v NX 5", "expected NX, XX, EX or GET, found '5'");
    check(SET, "k v EX", "expected seconds at the end");
    check(SET, "k", "expected value at the end");
    check(SET, "k v nx EX 5 Nx", "'Nx' is given twice");
    check(SET, "k v nx XX", "'nx' and 'XX' exclude each other");
    check(PLAIN, "k 1 2", "'2' is one word too many");
    check(NOTHING, "a", "'a' is one word too many");
    check(ADD, "r ON get", "expected DO at the end");
    check(ADD, "r ON get HOLD", "expected ON, ARG or DO, found 'HOLD'");
    check(ADD, "r DO", "expected HOLD, DELAY, REPLY or ARG at the end");
    check(ADD, "r DO HOLD on", "'on' is one word too many");
    check(ADD, "r DO REPLY", "expected OK or INT at the end");
    check(PERMITS, "k o ID a b PERMITS 1", "'ID' and 'PERMITS' exclude each other");
}

#[test]
fn the_nearest_token_is_named_for_a_mistyped_one() {
    check(FREEZE, "5 6 x", "'x' is one word too many");
    check(FREEZE, "NMAE x 5", "expected id or NAME, found 'NMAE'. Did you mean 'NAME'?");
    let expected = "ERR value is not an integer or out of range: \
                    permits must be an integer from 1 to 9, not 'blok'. Did you mean 'BLOCK'?";
    assert_eq!(error(RATE, "k blok 5"), expected);
}

#[test]
fn keys_are_as_many_as_are_announced() {
    check(SEVERAL, "2 a b me TTL 5", "expected PX or SHARED, found 'TTL'");
    check(SEVERAL, "2 a b", "expected owner at the end");
    check(SEVERAL, "9 a b", "expected key at the end");
    for (count, expected) in [
        ("0", "ERR numkeys should be greater than 0"),
        ("-1", "ERR numkeys should be greater than 0"),
        ("x", "ERR value is not an integer or out of range"),
    ] {
        let expected =
            format!("{expected}: numkeys must be an integer from 1 to 9223372036854775807, not '{count}'");
        assert_eq!(error(SEVERAL, &format!("{count} a b")), expected);
    }
}

#[test]
fn a_wrong_value_is_named_with_its_option_and_its_range() {
    const COUNT: Symbol = RATE.symbol("permits");
    let integer = |grammar: &'static CommandGrammar, symbol, request: &str| {
        let words = words(request);
        let parsed: ParsedArgs<'_> = grammar.parse(Args::new(&words)).unwrap();
        String::from_utf8_lossy(parsed.integer(symbol).unwrap_err().as_bytes()).into_owned()
    };
    for (grammar, symbol, request, expected) in [
        (
            SET,
            EX,
            "k v ex x",
            "ERR value is not an integer or out of range: \
             EX seconds must be an integer from 1 to 9223372036854775807, not 'x'",
        ),
        (
            RATE,
            COUNT,
            "k 10",
            "ERR value is not an integer or out of range: permits must be an integer from 1 to 9, not '10'",
        ),
    ] {
        assert_eq!(integer(grammar, symbol, request), expected);
    }
}

/// A matcher that tries every way: it finds all places where a part may end that begins at a given place.
struct Naive<'a> {
    words: &'a [&'a [u8]],
    tokens: Vec<&'static str>,
}

type Places = BTreeSet<usize>;

impl Naive<'_> {
    fn is(&self, at: usize, token: &str) -> bool {
        self.words.get(at).is_some_and(|word| word.eq_ignore_ascii_case(token.as_bytes()))
    }

    /// Finds the places where a part may end that begins at `at`. `is_choice`: something else could stand here.
    fn ends(&self, part: &Syntax<'static>, at: usize, is_choice: bool) -> Places {
        match part {
            Syntax::Token(word) if self.is(at, word.text) => Places::from([at + 1]),
            Syntax::Token(_) => Places::new(),
            Syntax::Argument(word) => {
                let is_token = is_choice && self.tokens.iter().any(|token| self.is(at, token));
                let first = self.words.get(at).and_then(|word| word.first());
                let is_number = first.is_some_and(|first| !first.is_ascii_alphabetic());
                let fits = !is_token && (!is_choice || word.range.is_none() || is_number);
                if fits && at < self.words.len() { Places::from([at + 1]) } else { Places::new() }
            }
            Syntax::Named(_, part) => self.ends(part, at, is_choice),
            Syntax::Optional(part) => &self.ends(part, at, true) | &Places::from([at]),
            Syntax::OneOf(parts) => parts.iter().flat_map(|part| self.ends(part, at, true)).collect(),
            Syntax::Repeat(part) => {
                let mut ends = self.ends(part, at, is_choice);
                let mut last = ends.clone();
                while !last.is_empty() {
                    last = last.iter().flat_map(|&at| self.ends(part, at, true)).collect();
                    ends.extend(&last);
                }
                ends
            }
            Syntax::Sequence(parts) => self.ends_of_all(parts.iter().collect(), at, is_choice),
        }
    }

    /// Options that stand side by side come in any order.
    fn ends_of_all(&self, parts: Vec<&Syntax<'static>>, at: usize, is_choice: bool) -> Places {
        let Some(first) = parts.first() else { return Places::from([at]) };
        let is_option = |part: &&&Syntax<'_>| matches!(part, Syntax::Optional(part) if !begins_free(part));
        let run = parts.iter().take_while(is_option).count();
        let go_on = |without: usize, ends: Places| -> Places {
            let mut rest = parts.clone();
            rest.remove(without);
            ends.into_iter().flat_map(|at| self.ends_of_all(rest.clone(), at, false)).collect()
        };
        if run == 0 {
            return go_on(0, self.ends(first, at, is_choice));
        }
        let mut ends = self.ends_of_all(parts[run..].to_vec(), at, false);
        for (one, part) in parts[..run].iter().enumerate() {
            let mut taken = self.ends(part, at, true);
            taken.remove(&at);
            ends.extend(go_on(one, taken));
        }
        ends
    }
}

fn begins_free(part: &Syntax<'_>) -> bool {
    match part {
        Syntax::Token(_) => false,
        Syntax::Argument(_) => true,
        Syntax::Sequence(parts) => parts.first().is_some_and(begins_free),
        _ => part.parts().iter().any(begins_free),
    }
}

/// The next pseudo-random number, below `end`.
fn draw(state: &mut u64, end: usize) -> usize {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) as usize % end
}

/// A request of up to seven words: tokens of the grammar, and values.
fn draw_request(state: &mut u64, grammar: &CommandGrammar) -> String {
    let tokens = grammar.tokens.iter().map(|token| token.text);
    let pool: Vec<&str> = tokens.chain(["1", "-2", "x", "word"]).collect();
    let made: Vec<&str> = (0..draw(state, 8)).map(|_| pool[draw(state, pool.len())]).collect();
    made.join(" ")
}

#[test]
fn the_loop_over_options_reads_as_the_matcher_does() {
    let (mut state, mut read) = (7, 0);
    for grammar in ALL {
        for _ in 0..4000 {
            let request = draw_request(&mut state, grammar);
            let words = words(&request);
            let [mut places, mut expected_places] = [[0; MAX_SYMBOLS]; 2];
            if let Some(given) = grammar.match_options(Args::new(&words), &mut places) {
                let matcher = Matcher::new(grammar, Args::new(&words), &mut expected_places);
                assert_eq!(Ok(given), matcher.whole(), "{request} of {}", grammar.synopsis);
                assert_eq!(places, expected_places, "{request} of {}", grammar.synopsis);
                read += 1;
            }
        }
    }
    assert!(read > 100, "{read}");
}

#[test]
fn a_request_is_read_if_a_matcher_that_tries_everything_finds_a_way() {
    let (mut state, mut accepted) = (7, 0);
    for grammar in ALL.into_iter().filter(|grammar| !grammar.synopsis.starts_with("numkeys")) {
        let syntax = Syntax::parse(grammar.synopsis).unwrap();
        let tokens = syntax.tokens();
        for _ in 0..4000 {
            let request = draw_request(&mut state, grammar);
            let words = words(&request);
            let naive = Naive { words: &words[1..], tokens: tokens.clone() };
            let is_right = naive.ends(&syntax, 0, false).contains(&(words.len() - 1));
            accepted += usize::from(is_right);
            let error = error(grammar, &request);
            assert_eq!(error.is_empty(), is_right, "{} of {}: {error}", request, grammar.synopsis);
        }
    }
    assert!(accepted > 1000, "{accepted}");
}
