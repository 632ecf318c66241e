//! The parser of synopses: recursive descent over their bytes.

use super::{Problem, Syntax, SyntaxError, Word};

/// How deep brackets may nest. Far beyond any synopsis; it bounds the recursion.
const DEPTH_MAX: usize = 16;

/// A synopsis, and how far it has been read.
pub(super) struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    /// At the beginning of a synopsis.
    pub(super) fn new(text: &'a str) -> Self {
        Parser { text, at: 0, depth: 0 }
    }

    /// Everything to the end.
    pub(super) fn whole(mut self) -> Result<Syntax<'a>, SyntaxError> {
        let tree = if self.peek().is_none() { Syntax::Sequence(Vec::new()) } else { self.choice()? };
        match self.peek() {
            None => Ok(tree),
            Some(_) => Err(self.error(Problem::UnbalancedBracket)),
        }
    }

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
        let name = self.group_name()?;
        let mut inner = self.choice()?;
        if let Some(name) = name {
            inner = Syntax::Named(name, Box::new(inner));
        }
        if self.peek() != Some(close) {
            return Err(SyntaxError { problem: Problem::UnbalancedBracket, at: open });
        }
        self.at += 1;
        self.depth -= 1;
        Ok(inner)
    }

    /// The name that a bracket begins with: `unit:`.
    fn group_name(&mut self) -> Result<Option<Word<'a>>, SyntaxError> {
        self.peek();
        let text = self.next_word();
        let Some(name) = text.strip_suffix(':').filter(|name| !name.is_empty()) else { return Ok(None) };
        let word = Word::parse(name).ok_or_else(|| self.error(Problem::UnknownNote))?;
        self.at += text.len();
        Ok(Some(word))
    }

    /// A token, an argument, or `...` for what stands before it.
    fn word(&mut self, parts: &mut Vec<Syntax<'a>>) -> Result<(), SyntaxError> {
        let text = self.next_word();
        if text == "..." {
            let before = parts.pop().ok_or_else(|| self.error(Problem::NothingToRepeat))?;
            parts.push(Syntax::Repeat(Box::new(before)));
        } else {
            let word = Word::parse(text).ok_or_else(|| self.error(Problem::UnknownNote))?;
            let has_lower = word.text.bytes().any(|byte| byte.is_ascii_lowercase());
            let has_upper = word.text.bytes().any(|byte| byte.is_ascii_uppercase());
            parts.push(match (has_lower, has_upper) {
                (true, true) => return Err(self.error(Problem::MixedCase)),
                (true, false) => Syntax::Argument(word),
                (false, _) => Syntax::Token(word),
            });
        }
        self.at += text.len();
        Ok(())
    }

    /// What stands here up to a space, a bracket or a bar.
    fn next_word(&self) -> &'a str {
        let rest = &self.text[self.at..];
        let length = rest.find([' ', '[', ']', '(', ')', '<', '>', '|']).unwrap_or(rest.len());
        &rest[..length]
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
    let before_len = before.len();
    let is_same = tail_before.len() >= before_len
        && same_words(tail_last, last)
        && tail_before[tail_before.len() - before_len..].iter().zip(before).all(|(a, b)| same_words(a, b));
    is_same.then_some(before_len + 1)
}

/// Whether two parts are the same but for their notes.
fn same_words(a: &Syntax<'_>, b: &Syntax<'_>) -> bool {
    a.to_string() == b.to_string()
}

fn one_of_many(mut parts: Vec<Syntax<'_>>) -> Syntax<'_> {
    if parts.len() == 1 { parts.remove(0) } else { Syntax::Sequence(parts) }
}
