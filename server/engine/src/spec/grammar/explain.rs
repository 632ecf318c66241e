//! The explanation of a request that does not fit a grammar: the first wrong word, and the words expected there.

use super::super::args::Args;
use super::super::error::{CommandError, ValidValues, errors};
use super::super::nearest::{nearest, suggestion};
use super::super::syntax::Shown;
use super::super::syntax::parser::Form;
use super::CommandGrammar;
use super::matcher::Matcher;
use super::mismatch::{Expected, Mismatch};
use super::parsed::wrong_argument;

impl CommandGrammar {
    /// The error for a request that a match has rejected.
    #[cold]
    pub(crate) fn explain(&'static self, args: Args<'_>, mismatch: Mismatch) -> CommandError {
        let word = |at| Shown(args.get(at).unwrap_or_default());
        let explanation = match mismatch {
            Mismatch::Word(at) => self.explain_word(args, at),
            Mismatch::Twice(first, second) if args[first].eq_ignore_ascii_case(&args[second]) => {
                format!("'{}' is given twice", word(second))
            }
            Mismatch::Twice(first, second) => {
                format!("'{}' and '{}' exclude each other", word(first), word(second))
            }
            Mismatch::KeyCount(at) => {
                let is_number = lockwheel_resp::number::parse_i64(&args[at]).is_some();
                let error = if is_number { errors::NUMKEYS_NOT_POSITIVE } else { errors::NOT_AN_INTEGER };
                return wrong_argument(&error, "numkeys", &args[at], &ValidValues::Integer(1, i64::MAX));
            }
            Mismatch::Number(id, at) => return self.explain_number(id, &args[at]),
        };
        CommandError::new([errors::SYNTAX.as_bytes(), b": ", explanation.as_bytes()].concat())
    }

    /// The words expected at this place, where a match failed. At the end: only those that may not be left out, if any.
    pub(crate) fn expected(&'static self, args: Args<'_>, at: usize) -> Vec<&'static str> {
        let mut expected = Expected::default();
        let mut places = vec![0; self.parts.len()];
        // The match fails again, in the same way.
        let _ = Matcher::new(self, args, &mut places).explaining(&mut expected).whole();
        expected.at(at, at == args.len())
    }

    /// The error for a word that is not the integer that a group expects. The word may be a mistyped token.
    fn explain_number(&self, group: u8, word: &[u8]) -> CommandError {
        let group = &self.parts[usize::from(group)];
        let mut argument = &self.parts[usize::from(group.first)];
        while !matches!(argument.form, Form::Argument) {
            argument = &self.parts[usize::from(argument.next)];
        }
        let tokens = self.tokens.iter().enumerate();
        let tokens = tokens.filter(|(number, _)| (group.firsts | group.follow) >> number & 1 == 1);
        let hint = hint(word, &tokens.map(|(_, token)| token.text).collect::<Vec<_>>());
        let valid = ValidValues::Integer(argument.min, argument.max);
        let error = wrong_argument(&errors::NOT_AN_INTEGER, argument.text, word, &valid);
        CommandError::new([error.as_bytes(), hint.as_bytes()].concat())
    }

    fn explain_word(&'static self, args: Args<'_>, at: usize) -> String {
        let words = self.expected(args, at);
        let list = listed(&words);
        match args.get(at) {
            Some(word) if words.is_empty() => format!("'{}' is one word too many", Shown(word)),
            Some(word) => format!("expected {list}, found '{}'{}", Shown(word), hint(word, &words)),
            None => format!("expected {list} at the end"),
        }
    }
}

/// `. Did you mean 'PX'?` with the nearest of these tokens. Empty if no token is near.
fn hint(word: &[u8], expected: &[&str]) -> String {
    let word = std::str::from_utf8(word).unwrap_or_default();
    let is_token = |text: &&str| text.starts_with(|first: char| first.is_ascii_uppercase());
    match nearest(word, expected.iter().copied().filter(is_token)) {
        None => String::new(),
        found => format!(".{}", suggestion(found)),
    }
}

/// `a, b or c`.
fn listed(words: &[&str]) -> String {
    match words.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}
