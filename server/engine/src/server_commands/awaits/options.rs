//! The options that the `AWAIT` commands share.

use crate::spec::{Args, CommandError, CommandGrammar, OptionTexts, ParsedArgs, Symbol, kept_pattern};

/// The default limit of a wait, in milliseconds of real time.
const DEFAULT_LIMIT_MS: u64 = 5000;

/// The reply of a wait for a condition.
pub(super) const REACHED: &str =
    "The integer 1 when the condition holds. Null if the LIMIT has passed first.";

pub(super) const LIMIT_TEXTS: OptionTexts =
    &[("LIMIT milliseconds", "The longest wait, in real time: 5000 by default.")];
pub(super) const COUNT_TEXTS: OptionTexts = &[("count", "The number to wait for: at least so many.")];
pub(super) const COMPARISON_TEXTS: OptionTexts =
    &[("EXACT", "Waits for exactly this number."), ("ATMOST", "Waits for this number or fewer.")];

/// The comparison of a count with the given number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    /// The number, or a higher one.
    AtLeast,
    /// EXACT: exactly the number.
    Exactly,
    /// ATMOST: the number, or a lower one.
    AtMost,
}

impl Comparison {
    /// Whether `count` compares with `number` as required.
    pub(super) fn holds(self, count: u64, number: u64) -> bool {
        match self {
            Comparison::AtLeast => count >= number,
            Comparison::Exactly => count == number,
            Comparison::AtMost => count <= number,
        }
    }
}

/// The options of a request. Each command accepts some of them.
#[derive(Debug)]
pub(super) struct AwaitOptions<'a> {
    /// The number of clients, calls or milliseconds.
    pub(super) number: u64,
    pub(super) comparison: Comparison,
    pub(super) key: Option<&'a [u8]>,
    pub(super) name: Option<&'a [u8]>,
    pub(super) limit_ms: u64,
}

#[derive(Debug)]
pub(super) struct NumberGrammar {
    pub(super) grammar: &'static CommandGrammar,
    number: Symbol,
    exact: Option<Symbol>,
    at_most: Option<Symbol>,
    key: Option<Symbol>,
    name: Option<Symbol>,
    limit: Symbol,
}

impl NumberGrammar {
    /// Returns a grammar; `number` is the name of its argument that holds the number.
    pub(super) const fn of(grammar: &'static CommandGrammar, number: &str) -> Self {
        NumberGrammar {
            grammar,
            number: grammar.symbol(number),
            exact: grammar.find_symbol("EXACT"),
            at_most: grammar.find_symbol("ATMOST"),
            key: grammar.find_symbol("KEY"),
            name: grammar.find_symbol("NAME"),
            limit: grammar.symbol("LIMIT"),
        }
    }

    pub(super) fn parse<'a>(&self, args: Args<'a>) -> Result<AwaitOptions<'a>, CommandError> {
        let parsed: ParsedArgs<'_> = self.grammar.parse(args)?;
        let has = |symbol: Option<Symbol>| symbol.is_some_and(|symbol| parsed.has(symbol));
        let value = |symbol: Option<Symbol>| symbol.and_then(|symbol| parsed.value(symbol));
        Ok(AwaitOptions {
            number: parsed.number(self.number)?.unwrap_or(0),
            comparison: match (has(self.exact), has(self.at_most)) {
                (true, _) => Comparison::Exactly,
                (_, true) => Comparison::AtMost,
                _ => Comparison::AtLeast,
            },
            key: value(self.key),
            name: value(self.name).map(kept_pattern).transpose()?,
            limit_ms: limit_ms(&parsed, self.limit)?,
        })
    }
}

/// Returns the limit of a wait, `LIMIT milliseconds`.
pub(super) fn limit_ms(args: &ParsedArgs<'_>, limit: Symbol) -> Result<u64, CommandError> {
    Ok(args.number(limit)?.unwrap_or(DEFAULT_LIMIT_MS))
}
