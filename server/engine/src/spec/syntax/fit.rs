//! The check whether the words of a request fit the synopsis of a version.

use super::{Kind, Syntax, Word, arguments};
use crate::spec::Version;
use lockwheel_resp::number;
use std::cell::RefCell;
use std::collections::BTreeSet;

impl Syntax<'_> {
    /// Whether these words, without the command's own name, fit the synopsis of this version. Options that stand side
    /// by side may come in any order, and more than once. O(words) for real synopses.
    pub fn fits(&self, version: Version, words: &[&[u8]]) -> bool {
        let request = Request { version, words, expected: None };
        request.behind(self, &BTreeSet::from([0]), false).contains(&words.len())
    }

    /// Whether the synopsis has a part that this version lacks.
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

/// The words of a request, and the version that reads them.
pub(super) struct Request<'a> {
    version: Version,
    words: &'a [&'a [u8]],
    /// The missing words, while a mistake is explained.
    pub(super) expected: Option<Expected>,
}

/// The words of a synopsis that a request lacks.
#[derive(Debug, Default)]
pub(super) struct Expected {
    /// The last place at which a word was missing, and the words expected there; with each, whether it may be left out.
    pub(super) last: RefCell<(usize, Vec<(String, bool)>)>,
    /// The number of words in the request.
    pub(super) end: usize,
    /// The number of keys that the request announces.
    pub(super) keys: Option<usize>,
}

impl Expected {
    fn note(&self, at: usize, text: &str, is_option: bool) {
        let mut last = self.last.borrow_mut();
        if at > last.0 {
            *last = (at, Vec::new());
        }
        if at == last.0 && !last.1.iter().any(|(known, _)| known == text) {
            last.1.push((text.to_owned(), is_option));
        }
    }
}

/// Places between words.
type Places = BTreeSet<usize>;

impl<'a> Request<'a> {
    /// Starts a match of these words by the newest version. The match records missing words.
    pub(super) fn explaining(words: &'a [&'a [u8]], expected: Expected) -> Self {
        Request { version: Version::Newest, words, expected: Some(expected) }
    }

    /// The places where a part may end that begins at one of `from`. `may_lack`: it may be left out there.
    pub(super) fn behind(&self, part: &Syntax<'_>, from: &Places, may_lack: bool) -> Places {
        match part {
            Syntax::Token(word) => {
                let is_it = |given: &[u8]| given.eq_ignore_ascii_case(token(word).as_bytes());
                self.behind_word(word, from, may_lack, is_it)
            }
            Syntax::Argument(word) => {
                let is_explained = self.expected.is_some();
                self.behind_word(word, from, may_lack, |given| !is_explained || can_be(word, given))
            }
            Syntax::Named(word, part) if is_in(word, self.version) => self.behind(part, from, may_lack),
            Syntax::Named(..) => Places::new(),
            Syntax::Optional(part) => &self.behind(part, from, true) | from,
            Syntax::OneOf(parts) => {
                parts.iter().fold(Places::new(), |places, part| &places | &self.behind(part, from, may_lack))
            }
            Syntax::Repeat(part) => match self.keys(part) {
                Some(count) => self.behind_keys(part, from, count),
                None => {
                    self.behind_any(std::slice::from_ref(part.as_ref()), &self.behind(part, from, may_lack))
                }
            },
            Syntax::Sequence(parts) => self.behind_all(parts, from, may_lack),
        }
    }

    fn behind_word(
        &self,
        word: &Word<'_>,
        from: &Places,
        may_lack: bool,
        is_it: impl Fn(&[u8]) -> bool,
    ) -> Places {
        let is_there = |at: usize| self.words.get(at).is_some_and(|given| is_it(given));
        if let Some(expected) = &self.expected {
            from.iter().filter(|&&at| !is_there(at)).for_each(|&at| expected.note(at, word.text, may_lack));
        }
        let begins = from.iter().filter(|&&at| is_there(at));
        begins.filter(|_| is_in(word, self.version)).map(|at| at + 1).collect()
    }

    /// Returns the number of keys, if it is known and this part is a key.
    fn keys(&self, part: &Syntax<'_>) -> Option<usize> {
        let keys = self.expected.as_ref()?.keys?;
        matches!(part, Syntax::Argument(word) if word.text == "key").then_some(keys)
    }

    /// The places behind `count` repetitions of a part.
    fn behind_keys(&self, part: &Syntax<'_>, from: &Places, count: usize) -> Places {
        let mut places = from.clone();
        for _ in 0..count {
            if places.is_empty() {
                break;
            }
            places = self.behind(part, &places, false);
        }
        places
    }

    /// The places behind all these parts, one after the other. Options that stand side by side come in any order.
    fn behind_all(&self, mut parts: &[Syntax<'_>], from: &Places, mut may_lack: bool) -> Places {
        let mut places = from.clone();
        while let Some((first, rest)) = parts.split_first() {
            let options = parts.iter().take_while(|part| is_option(part)).count();
            (places, parts) = match options {
                0 => (self.behind(first, &places, may_lack), rest),
                _ => (self.behind_any(&parts[..options], &places), &parts[options..]),
            };
            may_lack &= options > 0;
        }
        places
    }

    fn behind_any(&self, parts: &[Syntax<'_>], from: &Places) -> Places {
        let mut all = from.clone();
        let mut last = from.clone();
        while !last.is_empty() {
            let next =
                parts.iter().fold(Places::new(), |places, part| &places | &self.behind(part, &last, true));
            last = &next - &all;
            all.extend(&last);
        }
        all
    }
}

/// Whether a part may be left out and begins with a token.
pub(super) fn is_option(part: &Syntax<'_>) -> bool {
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

/// Whether a word can be an argument of this name. An integer argument takes only an integer.
fn can_be(word: &Word<'_>, given: &[u8]) -> bool {
    arguments::kind_of(word) != Kind::Integer || number::parse_i64(given).is_some()
}

/// The text that a client types for a token.
pub(super) fn token<'a>(word: &Word<'a>) -> &'a str {
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
    fn an_option_without_a_token_occurs_once() {
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
