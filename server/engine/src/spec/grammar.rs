//! The grammar of a command of our own: its synopsis, compiled into what reads the arguments of a request.
//!
//! [`grammar!`] compiles a synopsis together with the program, so that a request costs nothing for it, and a mistake in
//! a synopsis is an error of the compiler. [`CommandGrammar::parse`] matches the words of a request, one after another:
//! options that stand side by side come in any order, each once. A handler asks the result, [`ParsedArgs`], for the
//! value of a [`Symbol`]: a token of the synopsis, or an argument behind no token. Ranges of integers stand in the
//! synopsis (`count:1..`), so that the check and the text of its error are one.
//!
//! A grammar must be readable with one word of lookahead:
//!
//! - Alternatives begin with different tokens; at most one of them begins with an argument.
//! - A word that may be a token is one: an argument that may be left out is never a token that may follow.
//! - An integer with a range, beside which tokens may stand, begins with a digit or a sign.
//! - After `numkeys` there are as many keys as it says.

mod compile;
mod explain;
mod matcher;
mod mismatch;
mod parsed;
#[cfg(test)]
mod tests;

pub(crate) use compile::{Compiled, Part, Token};
pub(crate) use mismatch::Mismatch;
pub(crate) use parsed::ParsedArgs;

use super::args::Args;
use super::error::CommandError;
use super::syntax::parser::{Form, NO_PART};
use compile::{NO_NUMBER, is_same};
use matcher::Matcher;

/// The most symbols of most grammars.
const MAX_SYMBOLS: usize = 24;
/// The greatest length of words that is told apart from others; longer ones count as this long.
const MAX_TOLD_LEN: usize = 15;

/// A synopsis that has been compiled.
#[derive(Debug)]
pub struct CommandGrammar {
    synopsis: &'static str,
    parts: &'static [Part],
    /// The index of the whole synopsis.
    root: u8,
    /// The number of arguments that each request begins with.
    head: u8,
    /// The first part behind them.
    body: u8,
    tokens: &'static [Token],
    /// The tokens of each length, a bit for each.
    by_len: [u64; MAX_TOLD_LEN + 1],
}

/// A token of a grammar with the argument behind it, or an argument that stands behind no token.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Symbol {
    /// The number among the symbols of its grammar.
    number: u8,
    /// The distance of the value from the symbol: 1 behind a token.
    offset: u8,
    /// The token; empty for an argument.
    option: &'static str,
    /// The name of the argument.
    name: &'static str,
    /// The least and the greatest integer that it may be.
    range: (i64, i64),
}

impl Symbol {
    /// The same symbol with a lower greatest integer.
    pub(crate) const fn at_most(self, max: i64) -> Self {
        Symbol { range: (self.range.0, max), ..self }
    }
}

/// Compiles a synopsis.
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
        (root, (head, body)): (u8, (u8, u8)),
        tokens: &'static [Token],
    ) -> Self {
        let mut by_len = [0; MAX_TOLD_LEN + 1];
        let mut at = 0;
        while at < tokens.len() {
            let len = tokens[at].text.len();
            by_len[if len < MAX_TOLD_LEN { len } else { MAX_TOLD_LEN }] |= 1 << at;
            at += 1;
        }
        CommandGrammar { synopsis, parts, root, head, body, tokens, by_len }
    }

    /// The synopsis.
    pub(crate) const fn synopsis(&self) -> &'static str {
        self.synopsis
    }

    /// The symbol of this word; behind others, parted by spaces, the first one that comes after them: `DO ARG ADD`.
    ///
    /// # Panics
    /// If the grammar has no such symbol: constants are evaluated by the compiler.
    pub(crate) const fn symbol(&self, path: &str) -> Symbol {
        match self.find_symbol(path) {
            Some(symbol) => symbol,
            None => panic!("the synopsis has no such symbol"),
        }
    }

    /// The same, if there is one.
    pub(crate) const fn find_symbol(&self, path: &str) -> Option<Symbol> {
        let mut rest = path.as_bytes();
        let mut at = 0;
        while at < self.parts.len() {
            let part = &self.parts[at];
            let (word, behind) = first_word(rest);
            if part.number != NO_NUMBER && is_same(part.text.as_bytes(), word) {
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
            return Symbol { number, offset: 0, option: "", name, range };
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

    /// Reads the arguments of a request.
    ///
    /// # Errors
    /// Names the first word that is not of the grammar, what was expected there, or the option that is given twice.
    #[inline]
    pub(crate) fn parse<'a, const N: usize>(
        &'static self,
        args: Args<'a>,
    ) -> Result<ParsedArgs<'a, N>, CommandError> {
        self.matched(args).map_err(|mismatch| self.explain(args, mismatch))
    }

    /// The same, for commands that have errors of their own.
    ///
    /// # Errors
    /// Returns the first mistake, which [`explain`](Self::explain) explains.
    #[inline]
    pub(crate) fn matched<'a, const N: usize>(
        &'static self,
        args: Args<'a>,
    ) -> Result<ParsedArgs<'a, N>, Mismatch> {
        let mut parsed = ParsedArgs::new(args);
        Matcher::new(self, args, parsed.places_mut()).whole()?;
        Ok(parsed)
    }
}

/// The bytes before the first space, and those behind it.
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
