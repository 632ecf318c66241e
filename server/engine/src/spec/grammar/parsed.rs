//! The arguments of a request, read by its grammar.

use super::super::args::Args;
use super::super::error::{CommandError, ValidValues, errors};
use super::super::syntax::Shown;
use super::compile::NO_NUMBER;
use super::{CommandGrammar, MAX_SYMBOLS, Mismatch, Symbol, SymbolSet};
use lockwheel_resp::number;
use std::fmt;

#[derive(Clone, Copy, Debug)]
pub(crate) struct ParsedArgs<'a, const N: usize = MAX_SYMBOLS> {
    args: Args<'a>,
    /// The given symbols, with one bit for each number.
    given: u64,
    /// The index of each given symbol's word, by the number of the symbol. 0 for the other symbols.
    places: [u32; N],
}

impl<'a, const N: usize> ParsedArgs<'a, N> {
    #[inline]
    pub(crate) fn new(args: Args<'a>) -> Self {
        ParsedArgs { args, given: 0, places: [0; N] }
    }

    /// Matches the arguments, and records the given symbols.
    pub(super) fn match_words(&mut self, grammar: &'static CommandGrammar) -> Result<(), Mismatch> {
        self.given = grammar.match_words(self.args, &mut self.places)?;
        Ok(())
    }

    #[inline]
    pub(super) fn args(&self) -> Args<'a> {
        self.args
    }

    #[inline]
    pub(crate) fn has(&self, symbol: Symbol) -> bool {
        symbol.number == NO_NUMBER || self.given >> symbol.number & 1 == 1
    }

    #[inline]
    pub(crate) fn has_any(&self) -> bool {
        self.given != 0
    }

    #[inline]
    pub(crate) fn has_others(&self, symbols: SymbolSet) -> bool {
        self.given & !symbols.0 != 0
    }

    /// The index of a symbol's value: of the argument itself, or of the word behind a token.
    #[inline]
    pub(crate) fn index(&self, symbol: Symbol) -> Option<usize> {
        let offset = usize::from(symbol.offset);
        if symbol.number == NO_NUMBER {
            return Some(offset);
        }
        self.has(symbol).then(|| self.places[usize::from(symbol.number)] as usize + offset)
    }

    #[inline]
    pub(crate) fn value(&self, symbol: Symbol) -> Option<&'a [u8]> {
        self.args.get(self.index(symbol)?)
    }

    /// The second value of a symbol that has two.
    pub(crate) fn second_value(&self, symbol: Symbol) -> Option<&'a [u8]> {
        self.args.get(self.index(symbol)? + 1)
    }

    /// All values of a symbol that is repeated: the words up to the next symbol.
    pub(crate) fn values(&self, symbol: Symbol) -> &'a [&'a [u8]] {
        let Some(first) = self.index(symbol) else { return &[] };
        let behind = self.places.iter().map(|&place| place as usize).filter(|&place| place > first).min();
        let words = self.args.from(first);
        &words[..behind.map_or(words.len(), |behind| behind - first)]
    }

    /// The value of the given symbol, out of some symbols that exclude each other.
    #[inline]
    pub(crate) fn one_of<T: Copy>(&self, symbols: &[(Symbol, T)]) -> Option<T> {
        symbols.iter().find(|(symbol, _)| self.has(*symbol)).map(|(_, meaning)| *meaning)
    }

    /// A symbol's value as an integer in the grammar's range. Fails with `value is out of range, must be positive` if
    /// too small, or else with `value is not an integer or out of range`.
    #[inline]
    pub(crate) fn integer(&self, symbol: Symbol) -> Result<Option<i64>, CommandError> {
        if !self.has(symbol) {
            return Ok(None);
        }
        self.given_integer(symbol, &errors::OUT_OF_RANGE_POSITIVE, &errors::NOT_AN_INTEGER).map(Some)
    }

    /// A symbol's value as an integer in the grammar's range. Fails with `value is not an integer or out of range`, or
    /// with `error` outside the range.
    #[inline]
    pub(crate) fn integer_or(
        &self,
        symbol: Symbol,
        error: CommandError,
    ) -> Result<Option<i64>, CommandError> {
        if self.has(symbol) { self.given_integer(symbol, &error, &error).map(Some) } else { Ok(None) }
    }

    /// The integer of a given symbol, or the error for an integer that is too small or too large.
    #[inline(never)]
    fn given_integer(
        &self,
        symbol: Symbol,
        too_small: &CommandError,
        too_large: &CommandError,
    ) -> Result<i64, CommandError> {
        let (min, max) = symbol.range;
        match self.value(symbol).and_then(number::parse_i64) {
            Some(number) if number < min => Err(self.out_of_range(symbol, too_small)),
            Some(number) if number > max => Err(self.out_of_range(symbol, too_large)),
            Some(number) => Ok(number),
            None => Err(self.out_of_range(symbol, &errors::NOT_AN_INTEGER)),
        }
    }

    /// A symbol's value as a count: an integer whose range begins at 0 or above. Fails as [`integer`](Self::integer).
    pub(crate) fn number(&self, symbol: Symbol) -> Result<Option<u64>, CommandError> {
        Ok(self.integer(symbol)?.map(i64::unsigned_abs))
    }

    #[cold]
    pub(crate) fn out_of_range(&self, symbol: Symbol, error: &CommandError) -> CommandError {
        let (min, max) = symbol.range;
        self.wrong(symbol, error, &ValidValues::Integer(min, max))
    }

    /// The error for the value of a symbol. It names the argument with its option, and the valid values.
    #[cold]
    pub(crate) fn wrong(
        &self,
        symbol: Symbol,
        error: &CommandError,
        valid: &dyn fmt::Display,
    ) -> CommandError {
        self.wrong_value((symbol, self.value(symbol).unwrap_or_default()), error, valid)
    }

    /// The error for one of the values of a symbol.
    #[cold]
    pub(crate) fn wrong_value(
        &self,
        (symbol, value): (Symbol, &[u8]),
        error: &CommandError,
        valid: &dyn fmt::Display,
    ) -> CommandError {
        let Symbol { option, name, .. } = symbol;
        let space = if option.is_empty() { "" } else { " " };
        wrong_argument(error, &format!("{option}{space}{name}"), value, valid)
    }
}

/// The error for the value of an argument.
#[cold]
pub(super) fn wrong_argument(
    error: &CommandError,
    name: &str,
    value: &[u8],
    valid: &dyn fmt::Display,
) -> CommandError {
    let explanation = format!(": {name} must be {valid}, not '{}'", Shown(value));
    CommandError::new([error.as_bytes(), explanation.as_bytes()].concat())
}
