//! Whether the words of a request are of a synopsis, as a version has it.

use super::{Syntax, Word};
use crate::spec::Version;
use std::collections::BTreeSet;

impl Syntax<'_> {
    /// Whether these words, without the command's own name, are what the synopsis says in this version. Options that
    /// stand side by side may come in any order, and more than once. O(words) for what real synopses are.
    pub fn fits(&self, version: Version, words: &[&[u8]]) -> bool {
        let request = Request { version, words };
        request.behind(self, &BTreeSet::from([0])).contains(&words.len())
    }

    /// Whether it has a part that this version has not.
    pub fn is_newer_than(&self, version: Version) -> bool {
        let mut is_newer = false;
        self.visit(&mut |part| {
            if let Syntax::Token(word) | Syntax::Argument(word) | Syntax::Named(word, _) = part {
                is_newer |= !is_in(word, version);
            }
        });
        is_newer
    }
}

fn is_in(word: &Word<'_>, version: Version) -> bool {
    word.since.is_none_or(|since| version.has(since))
}

/// The words that are looked at, and by which version.
struct Request<'a> {
    version: Version,
    words: &'a [&'a [u8]],
}

/// Places between words.
type Places = BTreeSet<usize>;

impl Request<'_> {
    /// The places where a part may end that begins at one of these.
    fn behind(&self, part: &Syntax<'_>, from: &Places) -> Places {
        match part {
            Syntax::Token(word) => {
                self.behind_word(word, from, |given| given.eq_ignore_ascii_case(token(word).as_bytes()))
            }
            Syntax::Argument(word) => self.behind_word(word, from, |_| true),
            Syntax::Named(word, part) if is_in(word, self.version) => self.behind(part, from),
            Syntax::Named(..) => Places::new(),
            Syntax::Optional(part) => &self.behind(part, from) | from,
            Syntax::OneOf(parts) => {
                parts.iter().fold(Places::new(), |places, part| &places | &self.behind(part, from))
            }
            Syntax::Repeat(part) => {
                self.behind_any(std::slice::from_ref(part.as_ref()), &self.behind(part, from))
            }
            Syntax::Sequence(parts) => self.behind_all(parts, from),
        }
    }

    fn behind_word(&self, word: &Word<'_>, from: &Places, is_it: impl Fn(&[u8]) -> bool) -> Places {
        let begins = from.iter().filter(|&&at| self.words.get(at).is_some_and(|given| is_it(given)));
        begins.filter(|_| is_in(word, self.version)).map(|at| at + 1).collect()
    }

    /// Behind all these parts, one after the other, options among their neighbours in any order.
    fn behind_all(&self, mut parts: &[Syntax<'_>], from: &Places) -> Places {
        let mut places = from.clone();
        while let Some((first, rest)) = parts.split_first() {
            let options = parts.iter().take_while(|part| is_option(part)).count();
            (places, parts) = match options {
                0 => (self.behind(first, &places), rest),
                _ => (self.behind_any(&parts[..options], &places), &parts[options..]),
            };
        }
        places
    }

    /// Behind any number of these parts, also none.
    fn behind_any(&self, parts: &[Syntax<'_>], from: &Places) -> Places {
        let mut all = from.clone();
        let mut last = from.clone();
        while !last.is_empty() {
            let next = parts.iter().fold(Places::new(), |places, part| &places | &self.behind(part, &last));
            last = &next - &all;
            all.extend(&last);
        }
        all
    }
}

/// Whether a part may be left out, and a token tells that it is there.
fn is_option(part: &Syntax<'_>) -> bool {
    matches!(part, Syntax::Optional(part) if begins_with_token(part))
}

fn begins_with_token(part: &Syntax<'_>) -> bool {
    match part {
        Syntax::Token(_) => true,
        Syntax::Argument(_) => false,
        Syntax::Sequence(parts) => parts.first().is_some_and(begins_with_token),
        Syntax::OneOf(parts) => parts.iter().all(begins_with_token),
        Syntax::Optional(part) | Syntax::Repeat(part) | Syntax::Named(_, part) => begins_with_token(part),
    }
}

/// What is to be typed for a token.
fn token<'a>(word: &Word<'a>) -> &'a str {
    if word.text == "\"\"" { "" } else { word.text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(synopsis: &str, version: Version, request: &str) -> bool {
        let words: Vec<&[u8]> = request.split_whitespace().map(str::as_bytes).collect();
        Syntax::parse(synopsis).unwrap().fits(version, &words)
    }

    #[test]
    fn requests_fit_what_their_synopsis_says() {
        let set = "key value [NX | XX | IFEQ old@8.1.0] [GET] [EX seconds | KEEPTTL]";
        for request in ["k v", "k v nx", "k v EX 5 GET", "k GET GET", "k v get xx ex 1"] {
            assert!(fits(set, Version::V6_2, request), "{request}");
        }
        for request in ["k", "k v EX", "k v nothing", "k v IFEQ", "k v w NX"] {
            assert!(!fits(set, Version::Newest, request), "{request}");
        }
        assert!(fits(set, Version::Newest, "k v IFEQ w"));
        assert!(!fits(set, Version::V7_2, "k v IFEQ w"));
        assert!(fits("", Version::V6_2, "") && !fits("", Version::V6_2, "a"));
        assert!(fits("key score member [score member ...]", Version::V6_2, "k 1 a 2 b"));
        assert!(!fits("key score member [score member ...]", Version::V6_2, "k 1 a 2"));
    }

    #[test]
    fn groups_and_names_of_them_have_their_versions() {
        let expire = "key seconds [condition@7.0.0: NX | XX]";
        assert!(fits(expire, Version::V7_0, "k 1 nx") && !fits(expire, Version::V6_2, "k 1 nx"));
        assert!(fits(expire, Version::V6_2, "k 1"));
        let syntax = Syntax::parse(expire).unwrap();
        assert!(syntax.is_newer_than(Version::V6_2) && !syntax.is_newer_than(Version::V7_0));
    }

    #[test]
    fn what_no_token_begins_stands_once() {
        let bitpos = "key bit [start [end [unit@7.0.0: BYTE | BIT]]]";
        assert!(fits(bitpos, Version::V6_2, "k 1 0 -1") && !fits(bitpos, Version::V6_2, "k 1 0 -1 BIT"));
        assert!(fits(bitpos, Version::V7_0, "k 1 0 -1 BIT"));
    }

    #[test]
    fn many_words_take_no_longer_than_reading_them() {
        let request = "f v ".repeat(50_000);
        assert!(fits(
            "key [NOMKSTREAM] id (field value) ...",
            Version::V6_2,
            &format!("k NOMKSTREAM * {request}")
        ));
    }
}
