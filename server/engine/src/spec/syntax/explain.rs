//! The explanation of a request that is not of its synopsis: the first wrong word, and what was expected there.

use super::Syntax;
use super::fit::{Expected, Request, is_option, token};
use crate::spec::error::quotable;
use std::collections::BTreeSet;

/// The most bytes of a word that are quoted.
const SHOWN_BYTES: usize = 64;

impl Syntax<'_> {
    /// Explains why these words, without the command's own name, are not of the synopsis. Of a synopsis that begins
    /// with `numkeys` there are as many keys as the first word says. O(words) for what real synopses are.
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
            Some(word) if list.is_empty() => [b"'", shown(word), b"' is one word too many"].concat(),
            Some(word) => [b"'", shown(word), b"' where ", list.as_bytes(), b" was expected"].concat(),
            None => [list.as_bytes(), b" was expected at the end"].concat(),
        }
    }

    /// Explains words that are of the synopsis one by one: an option was given twice, or two that exclude each other.
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
                    return [b"'", shown(second), b"' is given twice"].concat();
                }
                [first, second, ..] => {
                    return [b"'", shown(first), b"' and '", shown(second), b"' exclude each other"].concat();
                }
                _ => {}
            }
        }
        format!("a value or the order of the words is wrong; expected {self}").into_bytes()
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

/// A word of a client's as an error quotes it.
fn shown(word: &[u8]) -> &[u8] {
    let word = quotable(word);
    &word[..word.len().min(SHOWN_BYTES)]
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
    /// Nothing yet, of these words.
    fn of(syntax: &Syntax<'_>, words: &[&[u8]]) -> Self {
        let is_counted = syntax.arguments().first() == Some(&"numkeys");
        let count = words.first().and_then(|word| std::str::from_utf8(word).ok()?.parse().ok());
        Expected { keys: count.filter(|_| is_counted), end: words.len(), ..Expected::default() }
    }

    /// Returns the words expected at the last place looked at, which is not before this one: the place, and each word.
    /// At the end only what may not be left out, if there is any.
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
        check(set, "k v TTL 5", "'TTL' where NX, XX, EX or GET was expected");
        check(set, "k v NX 5", "'5' where NX, XX, EX or GET was expected");
        check(set, "k v EX", "seconds was expected at the end");
        check(set, "k v EX soon", "'soon' where seconds was expected");
        check(set, "k", "value was expected at the end");
        check(set, "k v nx EX 5 Nx", "'Nx' is given twice");
        check(set, "k v nx XX", "'nx' and 'XX' exclude each other");
        check("key [count]", "k 1 2", "'2' is one word too many");
        check("", "a", "'a' is one word too many");
        check("key [A] [B]", "k A B", "a value or the order of the words is wrong; expected key [A] [B]");
    }

    #[test]
    fn what_may_not_be_left_out_is_named_at_the_end() {
        let add = "name [ON command] [SKIP count] DO (HOLD | DELAY ms)";
        check(add, "r ON get", "DO was expected at the end");
        check(add, "r ON get HOLD", "'HOLD' where ON, SKIP or DO was expected");
        check(add, "r DO", "HOLD or DELAY was expected at the end");
        check(add, "r DO HOLD on", "'on' is one word too many");
    }

    #[test]
    fn keys_are_as_many_as_are_announced() {
        let several = "numkeys key [key ...] owner [PX milliseconds]";
        check(several, "2 a b me TTL 5", "'TTL' where PX was expected");
        check(several, "2 a b", "owner was expected at the end");
        check(several, "9 a b", "key was expected at the end");
    }
}
