//! The synopsis of a command as a tree.
//!
//! A synopsis is written as on redis.io. A lower-case word is an argument; an upper-case word, or a sign such as `*`,
//! is a token. `[ ]` encloses an optional part, `|` parts alternatives, `( )` or `< >` group, and `...` repeats the
//! part before it. `key [key ...]` and `score member [score member ...]` are one item repeated.
//!
//! Notes hold the facts that COMMAND DOCS shows and neither the synopsis nor a convention of [`arguments`] tells:
//!
//! | note | meaning |
//! |---|---|
//! | `(unit: M \| KM)`, `[unit: M \| KM]` | a group's name |
//! | `CH=change` | the name of a word, where it is another than the word |
//! | `timeout:integer` | an argument's type |
//! | `count:1..`, `bit:0..1` | the range of an integer |
//! | `key2#0` | the key specification that an argument belongs to |
//! | `GET@6.2.0`, `[unit@7.0.0: …]` | the first version that had it |
//! | `SLAVE@2.8.12-5.0.0`, `SLAVE@-5.0.0` | the version that deprecated it |
//!
//! The tree drives COMMAND DOCS and the random sequences of the differential tests. The module knows no particular
//! command.

pub mod arguments;
mod explain;
mod fit;
pub(super) mod parser;
mod word;

pub(crate) use explain::Shown;
pub(super) use word::range;
pub use word::{Kind, Word};

use parser::{Form, NO_PART, Tree};
use std::fmt;

/// A part of a synopsis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Syntax<'a> {
    /// A word to be typed as it is, in any case: `NX`, `*`. `""` stands for an empty word.
    Token(Word<'a>),
    /// The name of an argument: `key`, `unix-time-seconds`.
    Argument(Word<'a>),
    /// Parts in this order. An empty sequence is a command without arguments.
    Sequence(Vec<Syntax<'a>>),
    /// One of two or more parts.
    OneOf(Vec<Syntax<'a>>),
    /// A part or nothing.
    Optional(Box<Syntax<'a>>),
    /// A part one or more times.
    Repeat(Box<Syntax<'a>>),
    /// A part with a name of its own.
    Named(Word<'a>, Box<Syntax<'a>>),
}

/// An error in a synopsis, with its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// The kind of error.
    pub problem: Problem,
    /// The offset, in bytes, of the word or bracket that shows it.
    pub at: usize,
}

/// The kinds of errors in a synopsis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Problem {
    /// A bracket is not closed, or closed by a bracket of another kind, or closes nothing.
    UnbalancedBracket,
    /// A bracket or an alternative holds nothing.
    Empty,
    /// `...` follows nothing.
    NothingToRepeat,
    /// A word is neither all lower case nor all upper case.
    MixedCase,
    /// Brackets nest more than 16 deep.
    TooDeep,
    /// A note behind a word has no known form.
    UnknownNote,
    /// There are more than 255 parts, or more than 64 in a sequence.
    TooLong,
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let problem = match self.problem {
            Problem::UnbalancedBracket => "unbalanced bracket",
            Problem::Empty => "nothing between brackets or bars",
            Problem::NothingToRepeat => "nothing to repeat",
            Problem::MixedCase => "a word in mixed case",
            Problem::TooDeep => "brackets nested too deep",
            Problem::UnknownNote => "a note of no known form",
            Problem::TooLong => "too many parts",
        };
        write!(f, "{problem} at byte {}", self.at)
    }
}

impl std::error::Error for SyntaxError {}

impl<'a> Syntax<'a> {
    /// Reads a synopsis without the command's own name: `"key [NX | XX]"`. Linear in its length.
    ///
    /// # Errors
    /// Returns the first [`Problem`] and its place.
    pub fn parse(synopsis: &'a str) -> Result<Syntax<'a>, SyntaxError> {
        let tree = parser::parse(synopsis)?;
        Syntax::built(synopsis, &tree, tree.root)
    }

    fn built(synopsis: &'a str, tree: &Tree, part: u8) -> Result<Syntax<'a>, SyntaxError> {
        let node = tree.nodes[usize::from(part)];
        let word = || {
            let error = SyntaxError { problem: Problem::UnknownNote, at: node.from };
            Word::parse(&synopsis[node.from..node.to]).ok_or(error)
        };
        let first = || Syntax::built(synopsis, tree, node.first).map(Box::new);
        let parts = || {
            let known = |part: u8| Some(part).filter(|&part| part != NO_PART);
            let parts =
                std::iter::successors(known(node.first), |&part| known(tree.nodes[usize::from(part)].next));
            parts.map(|part| Syntax::built(synopsis, tree, part)).collect::<Result<Vec<_>, _>>()
        };
        Ok(match node.form {
            Form::Token => Syntax::Token(word()?),
            Form::Argument => Syntax::Argument(word()?),
            Form::Sequence => Syntax::Sequence(parts()?),
            Form::OneOf => Syntax::OneOf(parts()?),
            Form::Optional => Syntax::Optional(first()?),
            Form::Repeat => Syntax::Repeat(first()?),
            Form::Named => Syntax::Named(word()?, first()?),
        })
    }

    /// The parts directly below this one.
    pub fn parts(&self) -> &[Syntax<'a>] {
        match self {
            Syntax::Token(_) | Syntax::Argument(_) => &[],
            Syntax::Sequence(parts) | Syntax::OneOf(parts) => parts,
            Syntax::Optional(part) | Syntax::Repeat(part) | Syntax::Named(_, part) => {
                std::slice::from_ref(part)
            }
        }
    }

    /// This part without its name.
    fn unnamed(&self) -> &Syntax<'a> {
        match self {
            Syntax::Named(_, part) => part.unnamed(),
            _ => self,
        }
    }

    /// All tokens, in the order of the synopsis; a token written twice appears twice.
    pub fn tokens(&self) -> Vec<&'a str> {
        let mut found = Vec::new();
        self.visit(&mut |part| {
            if let Syntax::Token(word) = part {
                found.push(word.text);
            }
        });
        found
    }

    /// The names of all arguments, in the order of the synopsis.
    pub fn arguments(&self) -> Vec<&'a str> {
        let mut found = Vec::new();
        self.visit(&mut |part| {
            if let Syntax::Argument(name) = part {
                found.push(name.text);
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

    /// The fewest words that this part can stand for. A row's arity may not demand more than these and the name.
    pub fn words_min(&self) -> usize {
        match self {
            Syntax::Token(_) | Syntax::Argument(_) => 1,
            Syntax::Sequence(parts) => parts.iter().map(Syntax::words_min).sum(),
            Syntax::OneOf(parts) => parts.iter().map(Syntax::words_min).min().unwrap_or(0),
            Syntax::Optional(_) => 0,
            Syntax::Repeat(part) | Syntax::Named(_, part) => part.words_min(),
        }
    }

    /// The most words that this part can stand for. `None` if there is no bound.
    pub fn words_max(&self) -> Option<usize> {
        match self {
            Syntax::Token(_) | Syntax::Argument(_) => Some(1),
            Syntax::Sequence(parts) => parts.iter().map(Syntax::words_max).sum(),
            Syntax::OneOf(parts) => {
                parts.iter().map(Syntax::words_max).try_fold(0, |most, each| Some(most.max(each?)))
            }
            Syntax::Optional(part) | Syntax::Named(_, part) => part.words_max(),
            Syntax::Repeat(_) => None,
        }
    }
}

/// Writes the synopsis in one canonical spelling, without notes.
impl fmt::Display for Syntax<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Syntax::Token(word) | Syntax::Argument(word) => f.write_str(word.text),
            Syntax::Sequence(parts) => write_joined(f, parts, " "),
            Syntax::OneOf(parts) => write_joined(f, parts, " | "),
            Syntax::Optional(part) => write!(f, "[{part}]"),
            Syntax::Repeat(part) if part.parts().is_empty() => write!(f, "{part} ..."),
            Syntax::Repeat(part) => write!(f, "({part}) ..."),
            Syntax::Named(_, part) => write!(f, "{part}"),
        }
    }
}

fn write_joined(f: &mut fmt::Formatter<'_>, parts: &[Syntax<'_>], separator: &str) -> fmt::Result {
    for (index, part) in parts.iter().enumerate() {
        f.write_str(if index == 0 { "" } else { separator })?;
        // Only a choice inside a sequence needs brackets of its own.
        match part.unnamed() {
            Syntax::OneOf(_) => write!(f, "({part})")?,
            _ => write!(f, "{part}")?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the canonical spelling of a tree, and that this spelling has the same tree.
    #[track_caller]
    fn check(synopsis: &str, expected: &str) {
        let tree = Syntax::parse(synopsis).unwrap();
        assert_eq!(tree.to_string(), expected);
        assert_eq!(Syntax::parse(expected).unwrap(), tree);
    }

    fn token(text: &str) -> Syntax<'_> {
        Syntax::Token(Word::plain(text))
    }

    fn argument(text: &str) -> Syntax<'_> {
        Syntax::Argument(Word::plain(text))
    }

    #[track_caller]
    fn check_error(synopsis: &str, problem: Problem, at: usize) {
        assert_eq!(Syntax::parse(synopsis), Err(SyntaxError { problem, at }));
    }

    #[test]
    fn words_brackets_and_bars() {
        assert_eq!(Syntax::parse(" "), Ok(Syntax::Sequence(vec![])));
        assert_eq!(Syntax::parse("key"), Ok(argument("key")));
        let tree = Syntax::parse("key [NX|EX seconds]").unwrap();
        let expiry = Syntax::Sequence(vec![token("EX"), argument("seconds")]);
        let choice = Syntax::OneOf(vec![token("NX"), expiry]);
        let expected = Syntax::Sequence(vec![argument("key"), Syntax::Optional(Box::new(choice))]);
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
    fn syntax_errors_name_their_position() {
        check_error("key [NX", Problem::UnbalancedBracket, 4);
        check_error("key [NX)", Problem::UnbalancedBracket, 4);
        check_error("key NX]", Problem::UnbalancedBracket, 6);
        check_error("key []", Problem::Empty, 5);
        check_error("A | | B", Problem::Empty, 4);
        check_error("A |", Problem::Empty, 3);
        check_error("... key", Problem::NothingToRepeat, 0);
        check_error("key Nx", Problem::MixedCase, 4);
        check_error(&"[".repeat(100_000), Problem::TooDeep, 16);
        check_error("key count:number", Problem::UnknownNote, 4);
        check_error("key CH@", Problem::UnknownNote, 4);
        check_error("key [unit:]", Problem::Empty, 10);
    }

    #[test]
    fn notes_are_not_shown() {
        let shown = |synopsis: &str| Syntax::parse(synopsis).unwrap().to_string();
        assert_eq!(shown("key [unit@7.0.0: M | KM@6.2.0] CH=change"), "key [M | KM] CH");
        assert_eq!(shown("(where: A | B) timeout:integer"), "(A | B) timeout");
        assert_eq!(shown("TO (target: host port [FORCE])"), "TO host port [FORCE]");
        assert_eq!(shown("[GET pattern#1 [GET pattern ...]]"), "[(GET pattern) ...]");
        assert_eq!(shown("ip:port"), "ip:port");
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
