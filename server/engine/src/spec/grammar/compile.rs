//! The compiler of a grammar, for the compiler: it computes the data that a matcher needs of each part of a synopsis.

use super::super::args::Args;
use super::super::syntax::parser::{Form, MAX_PARTS, NO_PART, Tree, parse};
use super::super::syntax::range;

/// The most symbols of any grammar: a set of symbols has one bit for each.
const SYMBOL_BITS: usize = u64::BITS as usize;
/// The number of a part that is not a symbol.
pub(super) const NO_NUMBER: u8 = u8::MAX;
/// The number of values that marks an option with more than a token and arguments.
const MANIFOLD: u8 = u8::MAX;

/// A part of a synopsis with the data that a matcher needs. Sets of tokens have one bit for each number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub(super) form: Form,
    pub(super) text: &'static str,
    /// The number of a symbol. Tokens are numbered first, then the arguments that stand behind no token.
    pub(super) number: u8,
    /// The index of the word of a leading argument, with which each request begins. 0 for all other parts.
    pub(super) place: u8,
    pub(super) first: u8,
    /// The next part of the same group.
    pub(super) next: u8,
    /// The fewest words that the part takes.
    pub(super) least: u8,
    /// The tokens with which the part may begin.
    pub(super) firsts: u64,
    /// Whether the part may begin with an argument.
    pub(super) begins_free: bool,
    /// Whether that argument is an integer with a range.
    pub(super) begins_with_number: bool,
    /// The tokens that may follow the part.
    pub(super) follow: u64,
    /// The number of words that are needed behind the part, if they begin with an argument.
    pub(super) reserve: u8,
    /// Whether the part is a number of keys that the argument before it says.
    pub(super) is_counted: bool,
    /// Whether the part may be left out and begins with a token.
    pub(super) is_option: bool,
    /// The tokens with which the options may begin that stand side by side with this option.
    pub(super) run: u64,
    /// The part behind these options.
    pub(super) behind: u8,
    /// The least and the greatest integer that an argument may be.
    pub(super) min: i64,
    pub(super) max: i64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub(super) text: &'static str,
    /// The option that the token begins.
    pub(super) option: u8,
    /// The number of arguments behind the token, if the option has no other parts.
    values: u8,
    /// The tokens with which this option may begin.
    pub(super) alternatives: u64,
}

impl Token {
    /// The number of arguments behind the token, if the option has no other parts.
    #[inline]
    pub(super) fn values(&self) -> Option<usize> {
        if self.values == MANIFOLD { None } else { Some(self.values.into()) }
    }
}

/// The leading arguments, with which each request begins, and the options that may follow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    /// The number of these arguments.
    pub(super) count: u8,
    /// Whether a request may end with these arguments.
    is_enough: bool,
    /// The tokens of the options behind these arguments, if only options may stand there.
    pub(super) options: u64,
}

impl Head {
    /// Whether a request has only these arguments, and needs nothing else.
    #[inline]
    pub(super) fn is_whole(&self, args: Args<'_>) -> bool {
        self.is_enough && args.len() == usize::from(self.count) + 1
    }
}

pub(crate) struct Compiled {
    parts: [Part; MAX_PARTS],
    part_count: usize,
    root: u8,
    tokens: [Token; SYMBOL_BITS],
    token_count: usize,
    argument_count: usize,
}

impl Compiled {
    /// Compiles a synopsis.
    ///
    /// # Panics
    /// Panics if the synopsis is malformed, or if one word of lookahead is not enough for the grammar.
    pub(crate) const fn of(synopsis: &'static str) -> Self {
        let Ok(tree) = parse(synopsis) else { panic!("malformed synopsis") };
        let mut compiled = Compiled {
            parts: [part_of(synopsis, &tree, tree.root); MAX_PARTS],
            part_count: tree.len,
            root: tree.root,
            tokens: [Token { text: "", option: NO_PART, values: MANIFOLD, alternatives: 0 }; SYMBOL_BITS],
            token_count: 0,
            argument_count: 0,
        };
        let mut at = 0;
        while at < tree.len {
            compiled.parts[at] = part_of(synopsis, &tree, at as u8);
            at += 1;
        }
        compiled.number(tree.root, false);
        compiled.number_arguments();
        compiled.derive(tree.root);
        compiled.surround(tree.root, 0, 0);
        compiled
    }

    pub(crate) const fn part_count(&self) -> usize {
        self.part_count
    }

    pub(crate) const fn token_count(&self) -> usize {
        self.token_count
    }

    pub(crate) const fn root(&self) -> u8 {
        self.root
    }

    /// The leading arguments, with which each request begins.
    pub(crate) const fn head(&self) -> Head {
        let root = self.part(self.root);
        let (mut count, mut options) = (0, 0);
        if matches!(root.form, Form::Sequence) {
            let mut id = root.first;
            while id != NO_PART && matches!(self.part(id).form, Form::Argument) {
                (count, id) = (count + 1, self.part(id).next);
            }
            if id != NO_PART && self.part(id).behind == NO_PART {
                options = self.part(id).run;
            }
        }
        Head { count, is_enough: root.least == count, options }
    }

    pub(crate) const fn parts<const N: usize>(&self) -> [Part; N] {
        let (mut parts, mut at) = ([self.parts[0]; N], 0);
        while at < N {
            parts[at] = self.parts[at];
            at += 1;
        }
        parts
    }

    pub(crate) const fn tokens<const N: usize>(&self) -> [Token; N] {
        let (mut tokens, mut at) = ([self.tokens[0]; N], 0);
        while at < N {
            tokens[at] = self.tokens[at];
            at += 1;
        }
        tokens
    }

    const fn part(&self, id: u8) -> Part {
        self.parts[id as usize]
    }

    /// Numbers the symbols from this part on. `is_bound`: it stands behind a token. Returns whether the next does.
    const fn number(&mut self, id: u8, is_bound: bool) -> bool {
        let Part { form, text, first, .. } = self.part(id);
        let is_sequence = matches!(form, Form::Sequence);
        match form {
            Form::Token => {
                self.parts[id as usize].number = self.token_count as u8;
                self.tokens[self.token_count].text = text;
                self.token_count += 1;
                return true;
            }
            Form::Argument => {
                if !is_bound {
                    self.parts[id as usize].number = self.argument_count as u8;
                    self.argument_count += 1;
                }
                return is_bound;
            }
            Form::Repeat => return self.number(first, is_bound),
            Form::Sequence | Form::OneOf | Form::Optional | Form::Named => {}
        }
        let (mut part, mut is_bound) = (first, is_bound && is_sequence);
        while part != NO_PART {
            is_bound = self.number(part, is_bound) && is_sequence;
            part = self.part(part).next;
        }
        false
    }

    /// Numbers the arguments, after all tokens. Leading arguments get no number, because they have fixed places.
    const fn number_arguments(&mut self) {
        let (head, mut at) = (self.head().count, 0);
        assert!(self.token_count + self.argument_count <= SYMBOL_BITS, "a synopsis has too many words");
        while at < self.part_count {
            let part = &mut self.parts[at];
            if matches!(part.form, Form::Argument) && part.number < head {
                (part.number, part.place) = (NO_NUMBER, part.number + 1);
            } else if matches!(part.form, Form::Argument) && part.number != NO_NUMBER {
                part.number = part.number - head + self.token_count as u8;
            }
            at += 1;
        }
    }

    /// Computes the words with which a part may begin, and the fewest words that it takes.
    const fn derive(&mut self, id: u8) {
        let mut part = self.part(id);
        let is_sequence = matches!(part.form, Form::Sequence);
        match part.form {
            Form::Token => (part.least, part.firsts) = (1, 1 << part.number),
            Form::Argument => (part.least, part.begins_free) = (1, true),
            _ => {
                let (mut at, mut least, mut is_begun) = (part.first, u8::MAX, false);
                let mut sum = 0;
                while at != NO_PART {
                    self.derive(at);
                    let one = self.part(at);
                    if !is_begun {
                        assert!(part.firsts & one.firsts == 0, "alternatives begin with one token");
                        assert!(
                            !is_sequence || at != part.first || !one.is_option || id == self.root,
                            "an option begins with an option"
                        );
                        part.firsts |= one.firsts;
                        part.begins_free |= one.begins_free;
                        part.begins_with_number |= one.begins_with_number;
                        is_begun = is_sequence && one.least > 0;
                    }
                    sum += one.least;
                    least = if one.least < least { one.least } else { least };
                    at = one.next;
                }
                part.least = match part.form {
                    Form::Sequence => sum,
                    Form::Optional => 0,
                    _ => least,
                };
            }
        }
        part.is_option = matches!(part.form, Form::Optional) && part.firsts != 0 && !part.begins_free;
        self.parts[id as usize] = part;
        if part.is_option {
            let mut token = 0;
            while token < self.token_count {
                if part.firsts >> token & 1 == 1 {
                    (self.tokens[token].option, self.tokens[token].alternatives) = (id, part.firsts);
                }
                token += 1;
            }
            self.count_values(part.first);
        }
    }

    /// Counts the arguments behind the token of a simple option, or of each alternative of an option.
    const fn count_values(&mut self, id: u8) {
        let Part { form, number, first, .. } = self.part(id);
        match form {
            Form::Token => self.tokens[number as usize].values = 0,
            Form::Named => self.count_values(first),
            Form::OneOf => {
                let mut alternative = first;
                while alternative != NO_PART {
                    self.count_values(alternative);
                    alternative = self.part(alternative).next;
                }
            }
            Form::Sequence if matches!(self.part(first).form, Form::Token) => {
                let (mut values, mut next) = (0, self.part(first).next);
                while next != NO_PART {
                    if !matches!(self.part(next).form, Form::Argument) {
                        return;
                    }
                    (values, next) = (values + 1, self.part(next).next);
                }
                self.tokens[self.part(first).number as usize].values = values;
            }
            _ => {}
        }
    }

    /// Sets the tokens that may follow a part, and the number of words that are needed behind it.
    const fn surround(&mut self, id: u8, follow: u64, reserve: u8) {
        let part = &mut self.parts[id as usize];
        (part.follow, part.reserve) = (follow, reserve);
        let (is_sequence, mut at) = (matches!(part.form, Form::Sequence), part.first);
        // The part behind the options that stand here, and the tokens of these options.
        let (mut behind, mut run, mut before) = (at, 0, NO_PART);
        while at != NO_PART {
            let one = self.part(at);
            if !is_sequence {
                self.surround(at, follow, reserve);
                at = one.next;
                continue;
            }
            if at == behind {
                (behind, run) = self.run_of(at);
            }
            let (firsts, needed) = self.behind(behind, follow, reserve);
            self.surround(at, firsts | run, needed);
            let is_counted = matches!(one.form, Form::Repeat)
                && before != NO_PART
                && is_same(self.part(before).text.as_bytes(), b"numkeys");
            let part = &mut self.parts[at as usize];
            (part.run, part.behind, part.is_counted) = (run, behind, is_counted);
            (before, at) = (at, one.next);
        }
    }

    /// The part behind this part or, for an option, behind those side by side, and the tokens of these options.
    const fn run_of(&self, first: u8) -> (u8, u64) {
        let mut part = self.part(first);
        if !part.is_option {
            return (part.next, 0);
        }
        let mut run = part.firsts;
        while part.next != NO_PART && self.part(part.next).is_option {
            part = self.part(part.next);
            assert!(run & part.firsts == 0, "two options begin with one token");
            run |= part.firsts;
        }
        (part.next, run)
    }

    /// The tokens that may stand in the place of this part of a sequence, and the number of words that are needed there
    /// if they begin with an argument. `follow` and `reserve`: these for the part behind the sequence.
    const fn behind(&self, mut at: u8, follow: u64, reserve: u8) -> (u64, u8) {
        let mut firsts = 0;
        while at != NO_PART {
            let part = self.part(at);
            firsts |= part.firsts;
            if part.least > 0 {
                let (begins_free, mut needed) = (part.begins_free, 0);
                while at != NO_PART {
                    needed += self.part(at).least;
                    at = self.part(at).next;
                }
                return (firsts, if begins_free { needed } else { 0 });
            }
            at = part.next;
        }
        (firsts | follow, reserve)
    }
}

const fn part_of(synopsis: &'static str, tree: &Tree, id: u8) -> Part {
    let node = tree.nodes[id as usize];
    let range = match range(slice(synopsis, node.from + node.shown + 1, node.to)) {
        Some(range) if matches!(node.form, Form::Argument) => Some(range),
        _ => None,
    };
    let (min, max) = match range {
        Some(range) => range,
        None => (i64::MIN, i64::MAX),
    };
    Part {
        form: node.form,
        text: slice(synopsis, node.from, node.from + node.shown),
        number: NO_NUMBER,
        place: 0,
        first: node.first,
        next: node.next,
        least: 0,
        firsts: 0,
        begins_free: false,
        begins_with_number: range.is_some(),
        follow: 0,
        reserve: 0,
        is_counted: false,
        is_option: false,
        run: 0,
        behind: NO_PART,
        min,
        max,
    }
}

/// The text from the byte `from` to the byte `to`. Empty if there is no such text.
const fn slice(text: &'static str, from: usize, to: usize) -> &'static str {
    if from >= to { "" } else { text.split_at(to).0.split_at(from).1 }
}

/// Whether two texts are the same.
pub(super) const fn is_same(a: &[u8], b: &[u8]) -> bool {
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}
