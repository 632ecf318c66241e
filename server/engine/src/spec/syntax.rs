//! The synopsis of a command as a tree.
//!
//! A synopsis is written as redis.io writes it: a lower-case word is an argument, an upper-case word or a sign such
//! as `*` a token, `[ ]` encloses what may be left out, `|` parts alternatives, `( )` or `< >` group, `...` repeats
//! what stands before it. `key [key ...]` and `score member [score member ...]` are one item repeated.
//!
//! The tree drives COMMAND DOCS and the random sequences of the differential tests. It knows no command.

use std::fmt;

/// How deep brackets may nest. Far beyond any synopsis; it bounds the parser's recursion.
const DEPTH_MAX: usize = 16;

/// A part of a synopsis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Syntax<'a> {
    /// A word to be typed as it is, in any case: `NX`, `*`.
    Token(&'a str),
    /// The name of an argument: `key`, `unix-time-seconds`.
    Argument(&'a str),
    /// Parts in this order. An empty one is a command without arguments.
    Sequence(Vec<Syntax<'a>>),
    /// One of two or more parts.
    OneOf(Vec<Syntax<'a>>),
    /// A part or nothing.
    Optional(Box<Syntax<'a>>),
    /// A part one or more times.
    Repeat(Box<Syntax<'a>>),
}

/// What is wrong with a synopsis, and at which byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// What is wrong.
    pub problem: Problem,
    /// The offset, in bytes, of the word or bracket that shows it.
    pub at: usize,
}

/// What can be wrong with a synopsis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Problem {
    /// A bracket is not closed, or closed by one of another kind, or closes nothing.
    UnbalancedBracket,
    /// A bracket or an alternative holds nothing.
    Empty,
    /// `...` follows nothing.
    NothingToRepeat,
    /// A word is neither all lower case nor all upper case.
    MixedCase,
    /// Brackets nest more than 16 deep.
    TooDeep,
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let problem = match self.problem {
            Problem::UnbalancedBracket => "unbalanced bracket",
            Problem::Empty => "nothing between brackets or bars",
            Problem::NothingToRepeat => "nothing to repeat",
            Problem::MixedCase => "a word in mixed case",
            Problem::TooDeep => "brackets nested too deep",
        };
        write!(f, "{problem} at byte {}", self.at)
    }
}

impl std::error::Error for SyntaxError {}

impl<'a> Syntax<'a> {
    /// Reads a synopsis without the command's own name: `"key [NX | XX]"`. Linear in its length.
    ///
    /// # Errors
    /// The first [`Problem`] and where it is.
    pub fn parse(synopsis: &'a str) -> Result<Syntax<'a>, SyntaxError> {
        let mut parser = Parser { text: synopsis, at: 0, depth: 0 };
        let tree = if parser.peek().is_none() { Syntax::Sequence(Vec::new()) } else { parser.choice()? };
        match parser.peek() {
            None => Ok(tree),
            Some(_) => Err(parser.error(Problem::UnbalancedBracket)),
        }
    }

    /// The parts directly below this one.
    pub fn parts(&self) -> &[Syntax<'a>] {
        match self {
            Syntax::Token(_) | Syntax::Argument(_) => &[],
            Syntax::Sequence(parts) | Syntax::OneOf(parts) => parts,
            Syntax::Optional(part) | Syntax::Repeat(part) => std::slice::from_ref(part),
        }
    }

    /// All tokens, in the order of the synopsis; a token written twice appears twice.
    pub fn tokens(&self) -> Vec<&'a str> {
        let mut found = Vec::new();
        self.visit(&mut |part| {
            if let Syntax::Token(word) = part {
                found.push(*word);
            }
        });
        found
    }

    /// The names of all arguments, in the order of the synopsis.
    pub fn arguments(&self) -> Vec<&'a str> {
        let mut found = Vec::new();
        self.visit(&mut |part| {
            if let Syntax::Argument(name) = part {
                found.push(*name);
            }
        });
        found
    }

    /// Calls `look` for this part and everything below it, in the order of the synopsis.
    pub fn visit(&self, look: &mut impl FnMut(&Syntax<'a>)) {
        look(self);
        for part in self.parts() {
            part.visit(look);
        }
    }

    /// The fewest words that this can stand for. A row's arity may not ask for more than this and the name.
    pub fn words_min(&self) -> usize {
        match self {
            Syntax::Token(_) | Syntax::Argument(_) => 1,
            Syntax::Sequence(parts) => parts.iter().map(Syntax::words_min).sum(),
            Syntax::OneOf(parts) => parts.iter().map(Syntax::words_min).min().unwrap_or(0),
            Syntax::Optional(_) => 0,
            Syntax::Repeat(part) => part.words_min(),
        }
    }

    /// The most words that this can stand for, `None` when there is no bound.
    pub fn words_max(&self) -> Option<usize> {
        match self {
            Syntax::Token(_) | Syntax::Argument(_) => Some(1),
            Syntax::Sequence(parts) => parts.iter().map(Syntax::words_max).sum(),
            Syntax::OneOf(parts) => {
                parts.iter().map(Syntax::words_max).try_fold(0, |most, each| Some(most.max(each?)))
            }
            Syntax::Optional(part) => part.words_max(),
            Syntax::Repeat(_) => None,
        }
    }
}

/// The synopsis again, in one spelling.
impl fmt::Display for Syntax<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Syntax::Token(word) | Syntax::Argument(word) => f.write_str(word),
            Syntax::Sequence(parts) => write_joined(f, parts, " "),
            Syntax::OneOf(parts) => write_joined(f, parts, " | "),
            Syntax::Optional(part) => write!(f, "[{part}]"),
            Syntax::Repeat(part) if part.parts().is_empty() => write!(f, "{part} ..."),
            Syntax::Repeat(part) => write!(f, "({part}) ..."),
        }
    }
}

fn write_joined(f: &mut fmt::Formatter<'_>, parts: &[Syntax<'_>], separator: &str) -> fmt::Result {
    for (index, part) in parts.iter().enumerate() {
        f.write_str(if index == 0 { "" } else { separator })?;
        // Only a choice inside a sequence needs brackets of its own.
        match part {
            Syntax::OneOf(_) => write!(f, "({part})")?,
            _ => write!(f, "{part}")?,
        }
    }
    Ok(())
}

/// A recursive-descent parser over the synopsis' bytes.
struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    /// Alternatives up to a closing bracket or the end.
    fn choice(&mut self) -> Result<Syntax<'a>, SyntaxError> {
        let mut alternatives = vec![self.sequence()?];
        while self.peek() == Some(b'|') {
            self.at += 1;
            alternatives.push(self.sequence()?);
        }
        Ok(if alternatives.len() == 1 { alternatives.remove(0) } else { Syntax::OneOf(alternatives) })
    }

    /// Parts up to a bar, a closing bracket or the end.
    fn sequence(&mut self) -> Result<Syntax<'a>, SyntaxError> {
        let mut parts = Vec::new();
        while let Some(byte) = self.peek() {
            match byte {
                b'|' | b']' | b')' | b'>' => break,
                b'[' => self.optional(&mut parts)?,
                b'(' => parts.push(self.bracketed(b')')?),
                b'<' => parts.push(self.bracketed(b'>')?),
                _ => self.word(&mut parts)?,
            }
        }
        match parts.len() {
            0 => Err(self.error(Problem::Empty)),
            1 => Ok(parts.remove(0)),
            _ => Ok(Syntax::Sequence(parts)),
        }
    }

    /// `[ ... ]`: something optional, or the repetition of what has just been read.
    fn optional(&mut self, parts: &mut Vec<Syntax<'a>>) -> Result<(), SyntaxError> {
        let inner = self.bracketed(b']')?;
        if let Some(count) = repeated_tail(parts, &inner) {
            let tail = parts.split_off(parts.len() - count);
            parts.push(Syntax::Repeat(Box::new(one_of_many(tail))));
        } else {
            parts.push(Syntax::Optional(Box::new(inner)));
        }
        Ok(())
    }

    /// What stands between the bracket here and the `close` that belongs to it.
    fn bracketed(&mut self, close: u8) -> Result<Syntax<'a>, SyntaxError> {
        let open = self.at;
        if self.depth == DEPTH_MAX {
            return Err(self.error(Problem::TooDeep));
        }
        self.depth += 1;
        self.at += 1;
        let inner = self.choice()?;
        if self.peek() != Some(close) {
            return Err(SyntaxError { problem: Problem::UnbalancedBracket, at: open });
        }
        self.at += 1;
        self.depth -= 1;
        Ok(inner)
    }

    /// A token, an argument, or `...` for what stands before it.
    fn word(&mut self, parts: &mut Vec<Syntax<'a>>) -> Result<(), SyntaxError> {
        let rest = &self.text[self.at..];
        let length = rest.find([' ', '[', ']', '(', ')', '<', '>', '|']).unwrap_or(rest.len());
        let word = &rest[..length];
        if word == "..." {
            let before = parts.pop().ok_or_else(|| self.error(Problem::NothingToRepeat))?;
            parts.push(Syntax::Repeat(Box::new(before)));
        } else {
            let has_lower = word.bytes().any(|byte| byte.is_ascii_lowercase());
            let has_upper = word.bytes().any(|byte| byte.is_ascii_uppercase());
            parts.push(match (has_lower, has_upper) {
                (true, true) => return Err(self.error(Problem::MixedCase)),
                (true, false) => Syntax::Argument(word),
                (false, _) => Syntax::Token(word),
            });
        }
        self.at += length;
        Ok(())
    }

    /// The next byte that is not a space.
    fn peek(&mut self) -> Option<u8> {
        let rest = &self.text.as_bytes()[self.at..];
        self.at += rest.len() - rest.trim_ascii_start().len();
        self.text.as_bytes().get(self.at).copied()
    }

    fn error(&self, problem: Problem) -> SyntaxError {
        SyntaxError { problem, at: self.at }
    }
}

/// How many of the last `parts` an optional bracket repeats: `key [key ...]` one, `score member [score member ...]`
/// two; none when the bracket is something else.
fn repeated_tail(parts: &[Syntax<'_>], inner: &Syntax<'_>) -> Option<usize> {
    let (last, before) = match inner {
        Syntax::Repeat(part) => (part.as_ref(), &[][..]),
        Syntax::Sequence(items) => match items.split_last() {
            Some((Syntax::Repeat(part), before)) => (part.as_ref(), before),
            _ => return None,
        },
        _ => return None,
    };
    let (tail_last, tail_before) = parts.split_last()?;
    (tail_last == last && tail_before.ends_with(before)).then_some(before.len() + 1)
}

fn one_of_many(mut parts: Vec<Syntax<'_>>) -> Syntax<'_> {
    if parts.len() == 1 { parts.remove(0) } else { Syntax::Sequence(parts) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the tree by its one spelling, and that this spelling means the same.
    #[track_caller]
    fn check(synopsis: &str, expected: &str) {
        let tree = Syntax::parse(synopsis).unwrap();
        assert_eq!(tree.to_string(), expected);
        assert_eq!(Syntax::parse(expected).unwrap(), tree);
    }

    #[track_caller]
    fn check_error(synopsis: &str, problem: Problem, at: usize) {
        assert_eq!(Syntax::parse(synopsis), Err(SyntaxError { problem, at }));
    }

    #[test]
    fn words_brackets_and_bars() {
        assert_eq!(Syntax::parse(" "), Ok(Syntax::Sequence(vec![])));
        assert_eq!(Syntax::parse("key"), Ok(Syntax::Argument("key")));
        let tree = Syntax::parse("key [NX|EX seconds]").unwrap();
        let expiry = Syntax::Sequence(vec![Syntax::Token("EX"), Syntax::Argument("seconds")]);
        let choice = Syntax::OneOf(vec![Syntax::Token("NX"), expiry]);
        let expected = Syntax::Sequence(vec![Syntax::Argument("key"), Syntax::Optional(Box::new(choice))]);
        assert_eq!(tree, expected);
    }

    #[test]
    fn synopses_of_real_commands() {
        let set =
            "key value [NX | XX] [GET] [EX seconds | PX milliseconds | EXAT unix-time-seconds | KEEPTTL]";
        check(set, set);
        check("source destination <LEFT | RIGHT>", "source destination (LEFT | RIGHT)");
        check(
            "key [MAXLEN [= | ~] threshold [LIMIT count]] <* | id> (field value) ...",
            "key [MAXLEN [= | ~] threshold [LIMIT count]] (* | id) (field value) ...",
        );
        check("ON | OFF", "ON | OFF");
        check("[[NX | XX] [GT | LT]] key", "[[NX | XX] [GT | LT]] key");
    }

    #[test]
    fn repetition_in_either_spelling() {
        check("key [key ...]", "key ...");
        check("numkeys key [key ...] [LIMIT limit]", "numkeys key ... [LIMIT limit]");
        check("key score member [score member ...]", "key (score member) ...");
        check("key (score member) ...", "key (score member) ...");
        check("[GET pattern [GET pattern ...]]", "[(GET pattern) ...]");
        check("script numkeys [key ...] [arg ...]", "script numkeys [key ...] [arg ...]");
        check("[MATCH pattern] [key ...]", "[MATCH pattern] [key ...]");
    }

    #[test]
    fn mistakes_are_told_with_their_place() {
        check_error("key [NX", Problem::UnbalancedBracket, 4);
        check_error("key [NX)", Problem::UnbalancedBracket, 4);
        check_error("key NX]", Problem::UnbalancedBracket, 6);
        check_error("key []", Problem::Empty, 5);
        check_error("A | | B", Problem::Empty, 4);
        check_error("A |", Problem::Empty, 3);
        check_error("... key", Problem::NothingToRepeat, 0);
        check_error("key Nx", Problem::MixedCase, 4);
        check_error(&"[".repeat(100_000), Problem::TooDeep, DEPTH_MAX);
    }

    #[test]
    fn tokens_arguments_and_counts() {
        let tree = Syntax::parse("key [BEFORE | AFTER pivot] (a b) ...").unwrap();
        assert_eq!(tree.tokens(), ["BEFORE", "AFTER"]);
        assert_eq!(tree.arguments(), ["key", "pivot", "a", "b"]);
        assert_eq!((tree.words_min(), tree.words_max()), (3, None));
        let tree = Syntax::parse("key <A | B c> [D]").unwrap();
        assert_eq!((tree.words_min(), tree.words_max()), (2, Some(4)));
        let nothing = Syntax::parse("").unwrap();
        assert_eq!((nothing.words_min(), nothing.words_max()), (0, Some(0)));
    }
}
