//! The matcher: it walks through a grammar and a request side by side, one word at a time.

use super::super::args::Args;
use super::super::syntax::parser::{Form, NO_PART};
use super::CommandGrammar;
use super::compile::{NO_NUMBER, Part};
use super::mismatch::{Expected, Mismatch};
use lockwheel_resp::number;

pub(super) struct Matcher<'a> {
    grammar: &'static CommandGrammar,
    args: Args<'a>,
    /// The next word.
    at: usize,
    /// The place of each symbol that is given, by its number.
    places: &'a mut [u32],
    given: u64,
    /// The expected words, while a mistake is explained.
    expected: Option<&'a mut Expected>,
}

impl<'a> Matcher<'a> {
    #[inline]
    pub(super) fn new(grammar: &'static CommandGrammar, args: Args<'a>, places: &'a mut [u32]) -> Self {
        Matcher { grammar, args, at: 1, places, given: 0, expected: None }
    }

    /// Returns a match that also records the expected words.
    pub(super) fn explaining(self, expected: &'a mut Expected) -> Self {
        Matcher { expected: Some(expected), ..self }
    }

    /// Matches the whole request, and returns the set of the symbols that are given.
    pub(super) fn whole(mut self) -> Result<u64, Mismatch> {
        self.part(self.grammar.root, None)?;
        if self.at == self.args.len() { Ok(self.given) } else { Err(Mismatch::Word(self.at)) }
    }

    /// Matches a part. `token`, if known, is the number of the next word, with which the part may begin.
    fn part(&mut self, id: u8, token: Option<u8>) -> Result<(), Mismatch> {
        let grammar = self.grammar;
        let part = &grammar.parts[usize::from(id)];
        match part.form {
            Form::Token if token.or_else(|| self.token_among(part.firsts)).is_some() => {
                self.take(part);
                Ok(())
            }
            Form::Argument if self.at < self.args.len() => {
                self.take(part);
                Ok(())
            }
            Form::Token | Form::Argument => Err(self.missing(id)),
            Form::Sequence => self.sequence(part.first, token),
            Form::Named => self.part(part.first, token),
            Form::OneOf => {
                let token = token.or_else(|| self.token_among(part.firsts));
                match self.alternative(part, token) {
                    Some(alternative) => self.part(alternative, token),
                    None if self.is_wrong_number(part) => Err(Mismatch::Number(id, self.at)),
                    None => Err(self.missing(id)),
                }
            }
            Form::Optional if self.begins(part, part.firsts | part.follow) => self.part(part.first, None),
            Form::Optional if self.is_wrong_number(part) => Err(Mismatch::Number(id, self.at)),
            Form::Optional => {
                self.expect(id, true);
                Ok(())
            }
            Form::Repeat if part.is_counted => self.keys(part.first),
            Form::Repeat => {
                self.part(part.first, token)?;
                while self.begins(part, part.follow) {
                    self.part(part.first, None)?;
                }
                Ok(())
            }
        }
    }

    /// Matches parts from this one on. Options that stand side by side come in any order.
    fn sequence(&mut self, mut id: u8, mut token: Option<u8>) -> Result<(), Mismatch> {
        while id != NO_PART {
            let part = &self.grammar.parts[usize::from(id)];
            if part.is_option {
                self.options(id, part)?;
                id = part.behind;
            } else {
                self.part(id, token.take())?;
                id = part.next;
            }
        }
        Ok(())
    }

    /// Matches the options from this one on, as far as they are given.
    fn options(&mut self, first: u8, run: &Part) -> Result<(), Mismatch> {
        let grammar = self.grammar;
        while let Some(number) = self.token_among(run.run) {
            let token = &grammar.tokens[usize::from(number)];
            let option = &grammar.parts[usize::from(token.option)];
            if run.reserve > 0 && self.left() < usize::from(run.reserve) + self.least(option) {
                return Ok(());
            }
            let earlier = self.given & token.alternatives;
            if earlier != 0 {
                let earlier = self.places[earlier.trailing_zeros() as usize] as usize;
                return Err(Mismatch::Twice(earlier, self.at));
            }
            match token.values() {
                Some(values) if values < self.left() => {
                    self.note(number);
                    self.at += 1 + values;
                }
                _ => self.part(option.first, Some(number))?,
            }
        }
        if self.expected.is_some() {
            let mut id = first;
            while id != run.behind {
                self.expect(id, true);
                id = grammar.parts[usize::from(id)].next;
            }
        }
        Ok(())
    }

    /// The fewest words of an option that is given.
    fn least(&self, option: &Part) -> usize {
        self.grammar.parts[usize::from(option.first)].least.into()
    }

    /// The number of words that are left.
    fn left(&self) -> usize {
        self.args.len() - self.at
    }

    /// Matches as many keys as the word before them says.
    fn keys(&mut self, key: u8) -> Result<(), Mismatch> {
        let count = self.args.get(self.at - 1).and_then(number::parse_i64).filter(|&count| count > 0);
        let Some(count) = count else { return Err(Mismatch::KeyCount(self.at - 1)) };
        match usize::try_from(count) {
            Ok(count) if count <= self.left() => {
                self.at += count;
                Ok(())
            }
            _ => {
                self.at = self.args.len();
                Err(self.missing(key))
            }
        }
    }

    fn take(&mut self, part: &Part) {
        if part.number != NO_NUMBER {
            self.note(part.number);
        }
        self.at += 1;
    }

    /// Records the next word as this symbol.
    fn note(&mut self, number: u8) {
        self.given |= 1 << number;
        self.places[usize::from(number)] = u32::try_from(self.at).unwrap_or(u32::MAX);
    }

    /// The number of the next word as a token, if it is one of these tokens.
    fn token_among(&self, tokens: u64) -> Option<u8> {
        self.grammar.token_among(tokens, self.args.get(self.at)?).map(|number| number as u8)
    }

    /// The alternative that begins with this token; without one, with an argument which the next word can be.
    fn alternative(&self, part: &Part, token: Option<u8>) -> Option<u8> {
        let is_next = |one: &Part| match token {
            Some(token) => one.firsts >> token & 1 == 1,
            None => one.begins_free && self.can_be(one, part.firsts != 0),
        };
        let mut id = part.first;
        while id != NO_PART {
            let one = &self.grammar.parts[usize::from(id)];
            if is_next(one) {
                return Some(id);
            }
            id = one.next;
        }
        None
    }

    /// Whether an optional part is next, in a place where these tokens can stand too.
    fn begins(&self, part: &Part, tokens: u64) -> bool {
        if self.left() == 0
            || (part.reserve > 0 && self.left() < usize::from(part.reserve) + self.least(part))
        {
            return false;
        }
        match self.token_among(tokens) {
            Some(token) => part.firsts >> token & 1 == 1,
            None => part.begins_free && self.can_be(part, tokens != 0),
        }
    }

    /// Whether an integer, alone or beside tokens, is expected, and the next word is neither it nor such a token.
    fn is_wrong_number(&self, part: &Part) -> bool {
        if !part.begins_with_number || part.reserve > 0 || self.left() == 0 {
            return false;
        }
        let mut id = part.first;
        while id != NO_PART {
            let one = &self.grammar.parts[usize::from(id)];
            if !matches!(one.form, Form::Token | Form::Argument) {
                return false;
            }
            id = one.next;
        }
        self.token_among(part.firsts | part.follow).is_none()
    }

    /// Whether the next word can be a part's first argument. Beside tokens, an integer must look like a number.
    fn can_be(&self, part: &Part, is_beside_tokens: bool) -> bool {
        let is_numeric = |first: u8| first.is_ascii_digit() || matches!(first, b'-' | b'+');
        self.args.get(self.at).is_some_and(|word| {
            !(is_beside_tokens && part.begins_with_number) || word.first().copied().is_some_and(is_numeric)
        })
    }

    /// The error of a part that is needed and missing.
    #[cold]
    fn missing(&mut self, id: u8) -> Mismatch {
        self.expect(id, false);
        Mismatch::Word(self.at)
    }

    /// Records the words with which a part may begin.
    fn expect(&mut self, id: u8, may_lack: bool) {
        let part = &self.grammar.parts[usize::from(id)];
        let Some(expected) = &mut self.expected else { return };
        if matches!(part.form, Form::Token | Form::Argument) {
            expected.note(self.at, part.text, may_lack);
            return;
        }
        let mut id = part.first;
        while id != NO_PART {
            self.expect(id, may_lack || matches!(part.form, Form::Optional));
            let one = &self.grammar.parts[usize::from(id)];
            let is_over = matches!(part.form, Form::Sequence) && one.least > 0;
            id = if is_over { NO_PART } else { one.next };
        }
    }
}
