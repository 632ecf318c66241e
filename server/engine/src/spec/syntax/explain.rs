//! The explanation of a request that does not fit its synopsis: the first wrong word, and the words expected there.

use super::fit::{Expected, Request, is_option, token};
use super::{Kind, Syntax, arguments};
use crate::spec::nearest::{nearest, suggestion};
use std::collections::BTreeSet;
use std::fmt;

/// The most bytes of a word that are quoted.
const MAX_SHOWN_BYTES: usize = 64;

impl Syntax<'_> {
    /// Explains why these words, without the command's own name, do not fit the synopsis. If the synopsis begins with
    /// `numkeys`, the first word says the number of keys. O(words) for real synopses.
    pub fn explain(&self, words: &[&[u8]]) -> Vec<u8> {
        let request = Request::explaining(words, Expected::of(self, words));
        let reached = request.behind(self, &BTreeSet::from([0]), false);
        if reached.contains(&words.len()) {
            return self.explain_options(words);
        }
        let place = reached.last().copied().unwrap_or(0);
        let expected = request.expected.map_or_else(Vec::new, |expected| expected.into_words(place));
        let at = expected.first().map_or(place, |(at, _)| *at);
        let list = listed(expected.iter().map(|(_, text)| text.as_str()));
        match words.get(at) {
            Some(word) if list.is_empty() => format!("'{}' is one word too many", Shown(word)),
            Some(word) => {
                let hint = hint(word, expected.iter().map(|(_, text)| text.as_str()));
                format!("expected {list}, found '{}'{hint}", Shown(word))
            }
            None => format!("expected {list} at the end"),
        }
        .into_bytes()
    }

    /// Explains that the word at this place has no valid value. The text names the argument as the synopsis does, with
    /// its option: `PX milliseconds`. O(words) for real synopses.
    pub(in crate::spec) fn explain_argument(
        &self,
        words: &[&[u8]],
        at: usize,
        wanted: &impl fmt::Display,
    ) -> Vec<u8> {
        let (before, expected) = (&words[..at.min(words.len())], self.expected_behind(words, at));
        let named: Vec<&str> = expected.iter().map(String::as_str).filter(|text| !is_token(text)).collect();
        let number = named.iter().find(|name| self.is_number(name));
        let name = number.or(named.first()).copied().unwrap_or("the value");
        let option = before.last().and_then(|word| self.option_of(name, word)).unwrap_or_default();
        let word = words.get(at).copied().unwrap_or_default();
        let hint = hint(word, expected.iter().map(String::as_str));
        format!("{option}{name} must be {wanted}, not '{}'{hint}", Shown(word)).into_bytes()
    }

    /// The words of the synopsis that may stand at this place of the request.
    fn expected_behind(&self, words: &[&[u8]], at: usize) -> Vec<String> {
        let before = &words[..at.min(words.len())];
        let request = Request::explaining(before, Expected::of(self, words));
        request.behind(self, &BTreeSet::from([0]), false);
        let (reached, expected) = request.expected.map_or_else(Default::default, |it| it.last.into_inner());
        expected.into_iter().filter(|_| reached == at).map(|(text, _)| text).collect()
    }

    fn is_number(&self, name: &str) -> bool {
        let mut is_number = false;
        self.visit(&mut |part| {
            if let Syntax::Argument(word) = part {
                let kind = arguments::kind_of(word);
                is_number |=
                    word.text == name && matches!(kind, Kind::Integer | Kind::Double | Kind::UnixTime);
            }
        });
        is_number
    }

    /// The token of the synopsis that equals this word, and a space, if `argument` stands right behind it.
    fn option_of(&self, argument: &str, word: &[u8]) -> Option<String> {
        let mut found = None;
        self.visit(&mut |part| {
            let Syntax::Sequence(parts) = part else { return };
            for pair in parts.windows(2) {
                if let [Syntax::Token(first), second] = pair
                    && second.first_argument() == Some(argument)
                    && word.eq_ignore_ascii_case(token(first).as_bytes())
                {
                    found = Some(format!("{} ", first.text));
                }
            }
        });
        found
    }

    /// Explains a mistake in words that fit one by one: a repeated option, or two that exclude each other.
    fn explain_options(&self, words: &[&[u8]]) -> Vec<u8> {
        let parts = match self {
            Syntax::Sequence(parts) => parts.as_slice(),
            other => std::slice::from_ref(other),
        };
        let before: usize = parts.iter().take_while(|part| !is_option(part)).map(Syntax::words_min).sum();
        for option in parts.iter().filter(|part| is_option(part)) {
            let firsts = first_tokens(option);
            let is_first =
                |word: &&&[u8]| firsts.iter().any(|first| word.eq_ignore_ascii_case(first.as_bytes()));
            let given: Vec<_> = words.iter().skip(before).filter(is_first).collect();
            match given[..] {
                [first, second, ..] if first.eq_ignore_ascii_case(second) => {
                    return format!("'{}' is given twice", Shown(second)).into_bytes();
                }
                [first, second, ..] => {
                    let (first, second) = (Shown(first), Shown(second));
                    return format!("'{first}' and '{second}' exclude each other").into_bytes();
                }
                _ => {}
            }
        }
        format!("a value or the order of the words is wrong; expected {self}").into_bytes()
    }
}

impl<'a> Syntax<'a> {
    /// The name of the argument, if this part is one argument, once or several times.
    fn first_argument(&self) -> Option<&'a str> {
        match self {
            Syntax::Argument(word) => Some(word.text),
            Syntax::Repeat(part) => part.first_argument(),
            _ => None,
        }
    }
}

/// The tokens with which an option may begin.
fn first_tokens<'a>(part: &Syntax<'a>) -> Vec<&'a str> {
    match part {
        Syntax::Token(word) => vec![token(word)],
        Syntax::Argument(_) => Vec::new(),
        Syntax::Sequence(parts) => parts.first().map_or_else(Vec::new, first_tokens),
        Syntax::OneOf(parts) => parts.iter().flat_map(first_tokens).collect(),
        Syntax::Optional(part) | Syntax::Repeat(part) | Syntax::Named(_, part) => first_tokens(part),
    }
}

/// A client's word as an error quotes it: the beginning of a long word, with escapes for unprintable bytes.
pub(crate) struct Shown<'a>(pub(crate) &'a [u8]);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shown(word) = *self;
        for chunk in word[..word.len().min(MAX_SHOWN_BYTES)].utf8_chunks() {
            chunk.valid().chars().try_for_each(|char| match char {
                '\n' | '\r' | '\t' => write!(f, "{}", char.escape_default()),
                _ if char.is_control() => write!(f, "\\x{:02x}", u32::from(char)),
                _ => write!(f, "{char}"),
            })?;
            chunk.invalid().iter().try_for_each(|byte| write!(f, "\\x{byte:02x}"))?;
        }
        f.write_str(if word.len() > MAX_SHOWN_BYTES { "..." } else { "" })
    }
}

/// `. Did you mean 'PX'?` with the nearest of these tokens. Empty if no token is near.
fn hint<'a>(word: &[u8], expected: impl Iterator<Item = &'a str>) -> String {
    let word = std::str::from_utf8(word).unwrap_or_default();
    match nearest(word, expected.filter(|text| is_token(text))) {
        None => String::new(),
        found => format!(".{}", suggestion(found)),
    }
}

/// Whether a word of a synopsis is a token.
fn is_token(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_uppercase())
}

/// `a, b or c`.
fn listed<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let words: Vec<&str> = words.collect();
    match words.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}

impl Expected {
    /// An empty record for a match of these words.
    fn of(syntax: &Syntax<'_>, words: &[&[u8]]) -> Self {
        let is_counted = syntax.arguments().first() == Some(&"numkeys");
        let count = words.first().and_then(|word| std::str::from_utf8(word).ok()?.parse().ok());
        Expected { keys: count.filter(|_| is_counted), end: words.len(), ..Expected::default() }
    }

    /// Returns the words expected at the last place looked at, each with the place, which is not before `reached`. At
    /// the end of a request: only the words that may not be left out, if there are any.
    fn into_words(self, reached: usize) -> Vec<(usize, String)> {
        let (at, words) = self.last.into_inner();
        if at < reached {
            return Vec::new();
        }
        let is_required = |(_, is_option): &(String, bool)| !is_option;
        let lacks = at == self.end && words.iter().any(is_required);
        let wanted = words.into_iter().filter(|word| !lacks || is_required(word));
        wanted.map(|(text, _)| (at, text)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(synopsis: &str, request: &str, expected: &str) {
        let words: Vec<&[u8]> = request.split_whitespace().map(str::as_bytes).collect();
        let text = Syntax::parse(synopsis).unwrap().explain(&words);
        assert_eq!(String::from_utf8_lossy(&text), expected, "{request}");
    }

    #[test]
    fn the_first_wrong_word_is_named_with_what_was_expected() {
        let set = "key value [NX | XX] [EX seconds] [GET]";
        check(set, "k v TTL 5", "expected NX, XX, EX or GET, found 'TTL'");
        check(set, "k v NX 5", "expected NX, XX, EX or GET, found '5'");
        check(set, "k v EX", "expected seconds at the end");
        check(set, "k v EX soon", "expected seconds, found 'soon'");
        check(set, "k", "expected value at the end");
        check(set, "k v nx EX 5 Nx", "'Nx' is given twice");
        check(set, "k v nx XX", "'nx' and 'XX' exclude each other");
        check("key [count]", "k 1 2", "'2' is one word too many");
        check("", "a", "'a' is one word too many");
        check("key [A] [B]", "k A B", "a value or the order of the words is wrong; expected key [A] [B]");
    }

    #[test]
    fn the_nearest_token_is_named_for_a_mistyped_one() {
        let freeze = "id (milliseconds | FOREVER)";
        check(
            freeze,
            "5 FORVER",
            "expected milliseconds or FOREVER, found 'FORVER'. Did you mean 'FOREVER'?",
        );
        check("key [BLOCK milliseconds]", "k blok 5", "expected BLOCK, found 'blok'. Did you mean 'BLOCK'?");
        check("key [BLOCK milliseconds]", "k millisecond", "expected BLOCK, found 'millisecond'");
    }

    #[track_caller]
    fn check_argument(synopsis: &str, request: &str, at: usize, expected: &str) {
        let words: Vec<&[u8]> = request.split_whitespace().map(str::as_bytes).collect();
        let text = Syntax::parse(synopsis).unwrap().explain_argument(&words, at, &"a number");
        assert_eq!(String::from_utf8_lossy(&text), expected, "{request}");
    }

    #[test]
    fn an_argument_is_named_with_its_option() {
        let acquire = "key [permits:integer] [PX milliseconds] [FOREVER]";
        check_argument(acquire, "PX x", 1, "permits must be a number, not 'x'");
        check_argument(acquire, "k px x", 2, "PX milliseconds must be a number, not 'x'");
        check_argument(acquire, "k 1 px x", 3, "PX milliseconds must be a number, not 'x'");
        check_argument(
            acquire,
            "k FORVER",
            1,
            "permits must be a number, not 'FORVER'. Did you mean 'FOREVER'?",
        );
        check_argument("numkeys key [key ...]", "x k", 0, "numkeys must be a number, not 'x'");
        check_argument("[ID id [id ...]]", "ID x", 1, "ID id must be a number, not 'x'");
        check_argument("[MATCH pattern] text", "x", 0, "text must be a number, not 'x'");
        check_argument("", "x", 0, "the value must be a number, not 'x'");
    }

    #[test]
    fn a_quoted_word_is_short_and_printable() {
        for (word, expected) in
            [(&b"a b\r\n\0'"[..], r"a b\r\n\x00'"), (b"\xffx\x7f", r"\xffx\x7f"), ("é".as_bytes(), "é")]
        {
            assert_eq!(Shown(word).to_string(), expected);
        }
        assert_eq!(Shown(&[b'x'; 65]).to_string(), "x".repeat(64) + "...");
        assert_eq!(Shown(&[b'x'; 64]).to_string(), "x".repeat(64));
    }

    #[test]
    fn a_missing_argument_is_named_at_the_end() {
        let add = "name [ON command] [SKIP count] DO (HOLD | DELAY ms)";
        check(add, "r ON get", "expected DO at the end");
        check(add, "r ON get HOLD", "expected ON, SKIP or DO, found 'HOLD'");
        check(add, "r DO", "expected HOLD or DELAY at the end");
        check(add, "r DO HOLD on", "'on' is one word too many");
    }

    #[test]
    fn keys_are_as_many_as_are_announced() {
        let several = "numkeys key [key ...] owner [PX milliseconds]";
        check(several, "2 a b me TTL 5", "expected PX, found 'TTL'");
        check(several, "2 a b", "expected owner at the end");
        check(several, "9 a b", "expected key at the end");
    }
}
