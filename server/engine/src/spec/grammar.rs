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
//!
//! Most requests have nothing but options behind the arguments with which each request begins. One loop over their
//! words reads them ([`options`]). A recursive [`matcher`] reads all others, and finds the mistakes.

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

/// The most symbols of most grammars.
const MAX_SYMBOLS: usize = 24;
/// The greatest length of words that is told apart from others; longer ones count as this long.
const MAX_TOLD_LEN: usize = 15;

/// A synopsis that has been compiled.
#[derive(Debug)]
pub(crate) struct CommandGrammar {
    synopsis: &'static str,
    parts: &'static [Part],
    /// The index of the whole synopsis.
    root: u8,
    head: Head,
    tokens: &'static [Token],
    /// The tokens of each length, a bit for each.
    by_len: [u64; MAX_TOLD_LEN + 1],
}

/// A token of a grammar with the argument behind it, or an argument that stands behind no token.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Symbol {
    /// The number among the symbols of its grammar; [`NO_NUMBER`] for an argument with which each request begins.
    number: u8,
    /// The distance of the value from the symbol: 1 behind a token. Without a number, its index.
    offset: u8,
    /// The token; empty for an argument.
    option: &'static str,
    /// The name of the argument.
    name: &'static str,
    /// The least and the greatest integer that it may be.
    range: (i64, i64),
}

impl Symbol {
    /// Returns the symbol with a lower greatest integer.
    pub(crate) const fn at_most(self, max: i64) -> Self {
        Symbol { range: (self.range.0, max), ..self }
    }
}

/// A set of symbols of one grammar.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SymbolSet(u64);

impl SymbolSet {
    /// The set of these symbols.
    pub(crate) const fn of(symbols: &[Symbol]) -> Self {
        let (mut set, mut at) = (0, 0);
        while at < symbols.len() {
            set |= 1 << symbols[at].number;
            at += 1;
        }
        SymbolSet(set)
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

    /// The symbol of this path, if there is one.
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

    /// Reads the arguments of a request.
    ///
    /// # Errors
    /// Names the first word that is not of the grammar, what was expected there, or the option that is given twice.
    pub(crate) fn parse<'a, const N: usize>(
        &'static self,
        args: Args<'a>,
    ) -> Result<ParsedArgs<'a, N>, CommandError> {
        let mut parsed = ParsedArgs::new(args);
        self.parse_into(&mut parsed)?;
        Ok(parsed)
    }

    /// Reads the arguments of a request into a place of the caller, for handlers that run often: nothing is moved.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
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

    /// Reads the arguments of a request of a command that has errors of its own.
    ///
    /// # Errors
    /// Returns the first mistake, which [`explain`](Self::explain) explains.
    pub(crate) fn matched<'a, const N: usize>(
        &'static self,
        args: Args<'a>,
    ) -> Result<ParsedArgs<'a, N>, Mismatch> {
        let mut parsed = ParsedArgs::new(args);
        parsed.match_words(self)?;
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
