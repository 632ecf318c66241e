//! The grammar of a command of our own: its synopsis, compiled into a reader of the arguments of a request.
//!
//! [`grammar!`] compiles a synopsis together with the program. A request pays nothing for it, and a mistake in a
//! synopsis is an error of the compiler. [`CommandGrammar::parse`] matches the words of a request, one after another.
//! Options that stand side by side come in any order, each once. A handler asks the result, [`ParsedArgs`], for the
//! value of a [`Symbol`]: a token of the synopsis, or an argument behind no token. Ranges of integers stand in the
//! synopsis (`count:1..`), so that the check and its error text agree.
//!
//! A grammar must be readable with one word of lookahead:
//!
//! - Alternatives begin with different tokens; at most one of them begins with an argument.
//! - A word that may be a token is a token. An optional argument never takes a token that may follow.
//! - An integer with a range begins with a digit or a sign, if a token may stand in its place.
//! - After `numkeys` there are that many keys.
//!
//! Most requests have only options behind the leading arguments, with which each request begins. One loop over the
//! words reads such a request ([`options`]). A recursive [`matcher`] reads all other requests, and finds the mistakes.

mod compile;
mod explain;
mod matcher;
mod mismatch;
mod options;
mod parsed;
#[cfg(test)]
mod tests;

pub(crate) use compile::{Compiled, Part, Token};
pub(crate) use mismatch::Mismatch;
pub(crate) use parsed::ParsedArgs;

use super::args::Args;
use super::error::CommandError;
use super::syntax::parser::{Form, NO_PART};
use compile::{Head, NO_NUMBER, is_same};

/// The default number of symbols that [`ParsedArgs`] has room for, enough for most grammars.
const MAX_SYMBOLS: usize = 24;
/// The greatest word length that is distinguished from others. Longer words count as this long.
const MAX_TOLD_LEN: usize = 15;

#[derive(Debug)]
pub(crate) struct CommandGrammar {
    synopsis: &'static str,
    parts: &'static [Part],
    /// The index of the whole synopsis.
    root: u8,
    head: Head,
    tokens: &'static [Token],
    /// The tokens of each length, with one bit for each token.
    by_len: [u64; MAX_TOLD_LEN + 1],
}

/// A token of a grammar with the argument behind it, or an argument that stands behind no token.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Symbol {
    /// The number among the grammar's symbols; [`NO_NUMBER`] for a leading argument, with which each request begins.
    number: u8,
    /// The distance of the value: 1 behind a token. For a symbol without a number: the index of the argument.
    offset: u8,
    /// The token. Empty for an argument.
    option: &'static str,
    name: &'static str,
    /// The least and the greatest valid integer.
    range: (i64, i64),
}

impl Symbol {
    /// Returns the symbol with a lower greatest integer.
    pub(crate) const fn at_most(self, max: i64) -> Self {
        Symbol { range: (self.range.0, max), ..self }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct SymbolSet(u64);

impl SymbolSet {
    pub(crate) const fn of(symbols: &[Symbol]) -> Self {
        let (mut set, mut at) = (0, 0);
        while at < symbols.len() {
            set |= 1 << symbols[at].number;
            at += 1;
        }
        SymbolSet(set)
    }
}

macro_rules! grammar {
    ($synopsis:expr) => {{
        const COMPILED: $crate::spec::Compiled = $crate::spec::Compiled::of($synopsis);
        const PARTS: [$crate::spec::GrammarPart; COMPILED.part_count()] = COMPILED.parts();
        const TOKENS: [$crate::spec::GrammarToken; COMPILED.token_count()] = COMPILED.tokens();
        &$crate::spec::CommandGrammar::new($synopsis, &PARTS, (COMPILED.root(), COMPILED.head()), &TOKENS)
    }};
}

/// Names symbols of a grammar by their tokens.
macro_rules! symbols {
    ($grammar:ident: $($token:ident),+ $(,)?) => {
        $(const $token: $crate::spec::Symbol = $grammar.symbol(stringify!($token));)+
    };
}

pub(crate) use {grammar, symbols};

impl CommandGrammar {
    /// A grammar of compiled parts: [`grammar!`] makes it.
    pub(crate) const fn new(
        synopsis: &'static str,
        parts: &'static [Part],
        (root, head): (u8, Head),
        tokens: &'static [Token],
    ) -> Self {
        let mut by_len = [0; MAX_TOLD_LEN + 1];
        let mut at = 0;
        while at < tokens.len() {
            let len = tokens[at].text.len();
            by_len[if len < MAX_TOLD_LEN { len } else { MAX_TOLD_LEN }] |= 1 << at;
            at += 1;
        }
        CommandGrammar { synopsis, parts, root, head, tokens, by_len }
    }

    pub(crate) const fn synopsis(&self) -> &'static str {
        self.synopsis
    }

    /// The symbol of this word. In a path of words, such as `DO ARG ADD`, each is the first after the one before.
    ///
    /// # Panics
    /// Panics, in a constant while compiling, if the grammar has no such symbol.
    pub(crate) const fn symbol(&self, path: &str) -> Symbol {
        match self.find_symbol(path) {
            Some(symbol) => symbol,
            None => panic!("the synopsis has no such symbol"),
        }
    }

    /// The symbol of this path, if the grammar has it.
    pub(crate) const fn find_symbol(&self, path: &str) -> Option<Symbol> {
        let mut rest = path.as_bytes();
        let mut at = 0;
        while at < self.parts.len() {
            let part = &self.parts[at];
            let (word, behind) = first_word(rest);
            let is_symbol = part.number != NO_NUMBER || part.place > 0;
            if is_symbol && is_same(part.text.as_bytes(), word) {
                if behind.is_empty() {
                    return Some(self.symbol_of(part));
                }
                rest = behind;
            }
            at += 1;
        }
        None
    }

    const fn symbol_of(&self, part: &Part) -> Symbol {
        let (number, name, range) = (part.number, part.text, (part.min, part.max));
        if matches!(part.form, Form::Argument) {
            return Symbol { number, offset: part.place, option: "", name, range };
        }
        let mut value = part.next;
        if value != NO_PART && matches!(self.parts[value as usize].form, Form::Repeat) {
            value = self.parts[value as usize].first;
        }
        if value == NO_PART || !matches!(self.parts[value as usize].form, Form::Argument) {
            return Symbol { number, offset: 1, option: part.text, name: "", range };
        }
        let value = &self.parts[value as usize];
        Symbol { number, offset: 1, option: part.text, name: value.text, range: (value.min, value.max) }
    }

    /// Reads a request's arguments. The error names the first wrong word and those expected, or the repeated option.
    pub(crate) fn parse<'a, const N: usize>(
        &'static self,
        args: Args<'a>,
    ) -> Result<ParsedArgs<'a, N>, CommandError> {
        let mut parsed = ParsedArgs::new(args);
        self.parse_into(&mut parsed)?;
        Ok(parsed)
    }

    /// As [`parse`](Self::parse), into memory of the caller: for handlers that run often, nothing is moved.
    #[inline]
    pub(crate) fn parse_into<const N: usize>(
        &'static self,
        parsed: &mut ParsedArgs<'_, N>,
    ) -> Result<(), CommandError> {
        if self.head.is_whole(parsed.args()) {
            return Ok(());
        }
        parsed.match_words(self).map_err(|mismatch| self.explain(parsed.args(), mismatch))
    }

    /// As [`parse`](Self::parse), but returns the first mistake for [`explain`](Self::explain), for commands with own
    /// errors.
    pub(crate) fn matched<'a, const N: usize>(
        &'static self,
        args: Args<'a>,
    ) -> Result<ParsedArgs<'a, N>, Mismatch> {
        let mut parsed = ParsedArgs::new(args);
        parsed.match_words(self)?;
        Ok(parsed)
    }
}

/// The bytes before the first space, and the bytes behind it.
const fn first_word(text: &[u8]) -> (&[u8], &[u8]) {
    let mut at = 0;
    while at < text.len() && text[at] != b' ' {
        at += 1;
    }
    let (word, rest) = text.split_at(at);
    match rest {
        [_, rest @ ..] => (word, rest),
        [] => (word, &[]),
    }
}
