//! The options of SET and GETEX.

use super::expiry::TimeForm;
use crate::spec::{Args, CommandError, errors};
use lockwheel_store::keyspace::Tx;
use lockwheel_store::values::{DIGEST_BYTES, has_digest};
use std::ops::Range;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Condition {
    /// NX: the key is absent.
    Absent,
    /// XX: the key exists.
    Present,
    /// A comparison of the string at the key.
    Compared(Comparison),
}

/// A comparison of the string of a key with an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Comparison {
    /// The index of the argument.
    at: usize,
    /// Whether the argument is a digest: IFDEQ, IFDNE.
    by_digest: bool,
    /// Whether the two must differ: IFNE, IFDNE. An absent key always differs.
    differs: bool,
}

impl Comparison {
    /// Returns the comparison that the word at `at` names, with the argument after it. `None`: either is missing.
    pub(super) fn read(args: Args<'_>, at: usize) -> Option<Self> {
        const WORDS: [(&str, bool, bool); 4] =
            [("ifeq", false, false), ("ifne", false, true), ("ifdeq", true, false), ("ifdne", true, true)];
        let &(_, by_digest, differs) = WORDS.iter().find(|(word, ..)| args.is(at, word))?;
        (at + 1 < args.len()).then_some(Comparison { at: at + 1, by_digest, differs })
    }

    /// Whether a key's string (`None`: absent) satisfies the comparison. Fails if a digest has another length.
    pub(super) fn holds(self, args: Args<'_>, text: Option<&[u8]>) -> Result<bool, CommandError> {
        let word = &args[self.at];
        let Some(text) = text else { return Ok(self.differs) };
        if self.by_digest && word.len() != DIGEST_BYTES {
            return Err(CommandError::text(DIGEST_LENGTH));
        }
        let is_same = if self.by_digest { has_digest(text, word) } else { text == word };
        Ok(is_same != self.differs)
    }
}

/// The error for a digest that does not have 16 digits.
pub(super) const DIGEST_LENGTH: &str = "ERR must be exactly 16 hexadecimal characters";

/// The comparisons that SET takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparisons {
    /// Only IFEQ, as in Valkey 8.1.
    Equality,
    /// All comparisons, as in Redis 8.4.
    All,
}

/// The change of the deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ttl {
    Unsaid,
    /// KEEPTTL: the deadline stays.
    Keep,
    /// PERSIST: the deadline is removed.
    Persist,
    /// EX, PX, EXAT, PXAT: the deadline is set to the argument of this index, in this form.
    Set(TimeForm, usize),
}

impl Ttl {
    /// Whether a word for `new` may follow words for `self`.
    fn may_become(self, new: Ttl) -> bool {
        match (self, new) {
            (Ttl::Unsaid, _) => true,
            (Ttl::Set(earlier, _), Ttl::Set(form, _)) => earlier == form,
            (earlier, new) => earlier == new,
        }
    }
}

/// The words about a deadline in a request, read one after the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TtlWords(Option<Ttl>);

impl TtlWords {
    pub(super) fn get(self) -> Ttl {
        self.0.unwrap_or(Ttl::Unsaid)
    }

    /// Reads the words of a range; `other` reads those about no deadline. Fails with a syntax error for an unknown
    /// word, a time without its value within the range, or two words that exclude each other.
    pub(super) fn read_all(
        &mut self,
        args: Args<'_>,
        range: Range<usize>,
        other: impl Fn(Args<'_>, usize) -> Option<Ttl>,
    ) -> Result<(), CommandError> {
        let mut at = range.start;
        while at < range.end {
            at = self.read(args, at, range.end, &other)?;
        }
        Ok(())
    }

    /// Reads the word at `at` and its value, before `end`, or fails. Returns the place of the next word.
    pub(super) fn read(
        &mut self,
        args: Args<'_>,
        at: usize,
        end: usize,
        other: impl Fn(Args<'_>, usize) -> Option<Ttl>,
    ) -> Result<usize, CommandError> {
        let (ttl, next) = match (other(args, at), time_form(args, at)) {
            (Some(ttl), _) => (ttl, at + 1),
            (None, Some(form)) if at + 1 < end => (Ttl::Set(form, at + 1), at + 2),
            _ => return Err(errors::SYNTAX),
        };
        if !self.get().may_become(ttl) {
            return Err(errors::SYNTAX);
        }
        self.0 = Some(ttl);
        Ok(next)
    }
}

/// The form of a time whose word is at `at`.
fn time_form(args: Args<'_>, at: usize) -> Option<TimeForm> {
    let forms = [
        ("ex", TimeForm::SECONDS),
        ("px", TimeForm::MILLISECONDS),
        ("exat", TimeForm::UNIX_SECONDS),
        ("pxat", TimeForm::UNIX_MILLISECONDS),
    ];
    forms.into_iter().find(|(word, _)| args.is(at, word)).map(|(_, form)| form)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SetOptions {
    /// NX, XX or a comparison.
    pub(super) condition: Option<Condition>,
    /// GET: the reply is the old value.
    pub(super) get: bool,
    pub(super) ttl: Ttl,
}

impl SetOptions {
    const NONE: Self = SetOptions { condition: None, get: false, ttl: Ttl::Unsaid };

    /// Reads the options of SET: all but PERSIST. As in Redis, the last of a repeated option counts.
    pub(super) fn of_set(args: Args<'_>, comparisons: Comparisons) -> Result<Self, CommandError> {
        let mut options = Self::NONE;
        let mut at = 3;
        while at < args.len() {
            if args.is(at, "nx") {
                options.require(Condition::Absent)?;
            } else if args.is(at, "xx") {
                options.require(Condition::Present)?;
            } else if let Some(comparison) = Comparison::read(args, at)
                && (comparisons == Comparisons::All || args.is(at, "ifeq"))
            {
                at += 1;
                options.require(Condition::Compared(comparison))?;
            } else if args.is(at, "get") {
                options.get = true;
            } else if args.is(at, "keepttl") {
                options.change_ttl(Ttl::Keep)?;
            } else {
                at = options.time(args, at)?;
            }
            at += 1;
        }
        Ok(options)
    }

    /// Reads the options of MSETEX, from argument `from` on: NX or XX, a time or KEEPTTL.
    pub(super) fn of_msetex(args: Args<'_>, from: usize) -> Result<Self, CommandError> {
        let mut options = Self::NONE;
        let mut at = from;
        while at < args.len() {
            if args.is(at, "nx") {
                options.require(Condition::Absent)?;
            } else if args.is(at, "xx") {
                options.require(Condition::Present)?;
            } else if args.is(at, "keepttl") {
                options.change_ttl(Ttl::Keep)?;
            } else {
                at = options.time(args, at)?;
            }
            at += 1;
        }
        Ok(options)
    }

    /// Reads the options of GETEX: a time or PERSIST.
    pub(super) fn of_getex(args: Args<'_>) -> Result<Self, CommandError> {
        let mut options = Self::NONE;
        let mut at = 2;
        while at < args.len() {
            if args.is(at, "persist") {
                options.change_ttl(Ttl::Persist)?;
            } else {
                at = options.time(args, at)?;
            }
            at += 1;
        }
        Ok(options)
    }

    /// The deadline to set, if any, in wall milliseconds. Fails, naming `command`, for no integer or one out of range.
    pub(super) fn deadline_ms(
        &self,
        tx: &Tx<'_>,
        args: Args<'_>,
        command: &str,
    ) -> Result<Option<i64>, CommandError> {
        match self.ttl {
            Ttl::Set(form, at) => form.read_deadline_ms(tx, args, at, 1, command).map(Some),
            _ => Ok(None),
        }
    }

    fn require(&mut self, condition: Condition) -> Result<(), CommandError> {
        let agrees = self.condition.is_none_or(|earlier| earlier == condition);
        self.condition = Some(condition);
        if agrees { Ok(()) } else { Err(errors::SYNTAX) }
    }

    /// Reads a time at `at`, followed by its value. Returns the place of the value.
    fn time(&mut self, args: Args<'_>, at: usize) -> Result<usize, CommandError> {
        match (time_form(args, at), args.get(at + 1)) {
            (Some(form), Some(_)) => self.change_ttl(Ttl::Set(form, at + 1)).map(|()| at + 1),
            _ => Err(errors::SYNTAX),
        }
    }

    fn change_ttl(&mut self, new: Ttl) -> Result<(), CommandError> {
        let agrees = self.ttl.may_become(new);
        self.ttl = new;
        if agrees { Ok(()) } else { Err(errors::SYNTAX) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(words: &str) -> Result<SetOptions, CommandError> {
        let words: Vec<&[u8]> =
            ["set", "k", "v"].into_iter().chain(words.split_whitespace()).map(str::as_bytes).collect();
        SetOptions::of_set(Args::new(&words), Comparisons::Equality)
    }

    fn getex(words: &str) -> Result<Ttl, CommandError> {
        let words: Vec<&[u8]> =
            ["getex", "k"].into_iter().chain(words.split_whitespace()).map(str::as_bytes).collect();
        SetOptions::of_getex(Args::new(&words)).map(|options| options.ttl)
    }

    #[test]
    fn an_option_may_be_repeated_but_not_contradicted() {
        let found = set("nx GET ex 1 NX Ex 2").unwrap();
        let expected =
            SetOptions { condition: Some(Condition::Absent), get: true, ttl: Ttl::Set(TimeForm::SECONDS, 9) };
        assert_eq!(found, expected);
        assert_eq!(set("KEEPTTL keepttl").unwrap().ttl, Ttl::Keep);
        assert_eq!(getex("pxat 5"), Ok(Ttl::Set(TimeForm::UNIX_MILLISECONDS, 3)));
        assert_eq!(getex("PERSIST PERSIST"), Ok(Ttl::Persist));
        assert_eq!(getex(""), Ok(Ttl::Unsaid));
        for words in [
            "NX XX",
            "EX 1 PX 1",
            "EX 1 EXAT 1",
            "KEEPTTL EX 1",
            "EX 1 KEEPTTL",
            "EX",
            "PERSIST",
            "nope",
            "IFNE v",
        ] {
            assert_eq!(set(words), Err(errors::SYNTAX), "{words}");
        }
        for words in ["NX", "GET", "KEEPTTL", "EX 1 PERSIST", "PERSIST EX 1", "PX 1 PX"] {
            assert_eq!(getex(words), Err(errors::SYNTAX), "{words}");
        }
    }
}
