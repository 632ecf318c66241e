//! The parser of synopses: recursive descent over their bytes, when the program is compiled or when it runs.

use super::{Problem, SyntaxError};

/// The deepest nesting of brackets. It is far beyond any synopsis, and bounds the recursion.
const MAX_DEPTH: usize = 16;
/// The most parts in a synopsis, groups included.
pub(in crate::spec) const MAX_PARTS: usize = 255;
/// The most parts of one sequence.
const MAX_SEQUENCE: usize = 64;
/// The index that stands for no part.
pub(in crate::spec) const NO_PART: u8 = u8::MAX;

/// The forms of parts, as [`Syntax`](super::Syntax) describes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::spec) enum Form {
    Token,
    Argument,
    Sequence,
    OneOf,
    Optional,
    Repeat,
    Named,
}

/// A part of a synopsis. It links to its first part and to its next neighbour.
#[derive(Clone, Copy, Debug)]
pub(in crate::spec) struct SyntaxNode {
    pub(in crate::spec) form: Form,
    /// The byte range, in the synopsis, of the word or of the name of a group, with the notes.
    pub(in crate::spec) from: usize,
    pub(in crate::spec) to: usize,
    /// The length of the word without its notes.
    pub(in crate::spec) shown: usize,
    pub(in crate::spec) first: u8,
    pub(in crate::spec) next: u8,
}

impl SyntaxNode {
    const fn group(form: Form, first: u8) -> Self {
        SyntaxNode { form, from: 0, to: 0, shown: 0, first, next: NO_PART }
    }
}

/// A synopsis as a tree. Words stand in the order of the synopsis.
#[derive(Clone, Copy, Debug)]
pub(in crate::spec) struct Tree {
    pub(in crate::spec) nodes: [SyntaxNode; MAX_PARTS],
    pub(in crate::spec) len: usize,
    /// The whole synopsis.
    pub(in crate::spec) root: u8,
}

/// Returns early with the error of an expression, or evaluates to its value: `?` for `const` functions.
macro_rules! check {
    ($result:expr) => {
        match $result {
            Ok(value) => value,
            Err(error) => return Err(error),
        }
    };
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
    depth: usize,
    tree: Tree,
}

/// Reads a synopsis. Linear in its length.
pub(in crate::spec) const fn parse(text: &str) -> Result<Tree, SyntaxError> {
    let nodes = [SyntaxNode::group(Form::Sequence, NO_PART); MAX_PARTS];
    let tree = Tree { nodes, len: 0, root: 0 };
    let mut parser = Parser { text: text.as_bytes(), at: 0, depth: 0, tree };
    let root = match parser.peek() {
        None => parser.add(SyntaxNode::group(Form::Sequence, NO_PART)),
        Some(_) => parser.choice(),
    };
    parser.tree.root = check!(root);
    match parser.peek() {
        None => Ok(parser.tree),
        Some(_) => Err(parser.error(Problem::UnbalancedBracket)),
    }
}

impl Parser<'_> {
    /// Reads alternatives up to a closing bracket or the end.
    const fn choice(&mut self) -> Result<u8, SyntaxError> {
        let first = check!(self.sequence());
        if !matches!(self.peek(), Some(b'|')) {
            return Ok(first);
        }
        let mut last = first;
        while let Some(b'|') = self.peek() {
            self.at += 1;
            let next = check!(self.sequence());
            self.tree.nodes[last as usize].next = next;
            last = next;
        }
        self.add(SyntaxNode::group(Form::OneOf, first))
    }

    /// Reads parts up to a bar, a closing bracket or the end.
    const fn sequence(&mut self) -> Result<u8, SyntaxError> {
        let mut parts = Parts { ids: [NO_PART; MAX_SEQUENCE], len: 0 };
        while let Some(byte) = self.peek() {
            if parts.len == MAX_SEQUENCE {
                return Err(self.error(Problem::TooLong));
            }
            match byte {
                b'|' | b']' | b')' | b'>' => break,
                b'[' => check!(self.optional(&mut parts)),
                b'(' => parts.push(check!(self.bracketed(b')'))),
                b'<' => parts.push(check!(self.bracketed(b'>'))),
                _ => check!(self.word(&mut parts)),
            }
        }
        if parts.len == 0 {
            return Err(self.error(Problem::Empty));
        }
        self.one_of_many(&parts, 0)
    }

    /// Reads `[ ... ]`: an optional part, or the repetition of the parts just read.
    const fn optional(&mut self, parts: &mut Parts) -> Result<(), SyntaxError> {
        let inner = check!(self.bracketed(b']'));
        let repeated = self.repeated_tail(parts, inner);
        let part = if repeated > 0 {
            parts.len -= repeated;
            let tail = Parts { ids: parts.ids, len: parts.len + repeated };
            SyntaxNode::group(Form::Repeat, check!(self.one_of_many(&tail, parts.len)))
        } else {
            SyntaxNode::group(Form::Optional, inner)
        };
        parts.push(check!(self.add(part)));
        Ok(())
    }

    /// Reads the parts between the bracket here and its closing bracket `close`.
    const fn bracketed(&mut self, close: u8) -> Result<u8, SyntaxError> {
        let open = self.at;
        if self.depth == MAX_DEPTH {
            return Err(self.error(Problem::TooDeep));
        }
        self.depth += 1;
        self.at += 1;
        let name = self.group_name();
        let mut inner = check!(self.choice());
        if let Some((from, to)) = name {
            inner = check!(self.add(SyntaxNode {
                form: Form::Named,
                from,
                to,
                shown: 0,
                first: inner,
                next: NO_PART
            }));
        }
        match self.peek() {
            Some(byte) if byte == close => {}
            _ => return Err(SyntaxError { problem: Problem::UnbalancedBracket, at: open }),
        }
        self.at += 1;
        self.depth -= 1;
        Ok(inner)
    }

    /// Reads the name that a bracket may begin with: `unit:`.
    const fn group_name(&mut self) -> Option<(usize, usize)> {
        self.peek();
        let (from, end) = (self.at, self.word_end());
        if end < from + 2 || self.text[end - 1] != b':' {
            return None;
        }
        self.at = end;
        Some((from, end - 1))
    }

    /// Reads a token, an argument, or `...`, which repeats the part before it.
    const fn word(&mut self, parts: &mut Parts) -> Result<(), SyntaxError> {
        let (from, to) = (self.at, self.word_end());
        let part = if to - from == 3 && self.text[from] == b'.' && self.text[from + 1] == b'.' {
            if parts.len == 0 {
                return Err(self.error(Problem::NothingToRepeat));
            }
            parts.len -= 1;
            SyntaxNode::group(Form::Repeat, parts.ids[parts.len])
        } else {
            let shown = shown_len(self.text, from, to);
            let form = match letters(self.text, from, from + shown) {
                (true, true) => return Err(self.error(Problem::MixedCase)),
                (true, false) => Form::Argument,
                (false, _) => Form::Token,
            };
            SyntaxNode { form, from, to, shown, first: NO_PART, next: NO_PART }
        };
        parts.push(check!(self.add(part)));
        self.at = to;
        Ok(())
    }

    /// The end of the word here: a space, a bracket or a bar.
    const fn word_end(&self) -> usize {
        let mut end = self.at;
        while end < self.text.len()
            && !matches!(self.text[end], b' ' | b'[' | b']' | b'(' | b')' | b'<' | b'>' | b'|')
        {
            end += 1;
        }
        end
    }

    /// Skips spaces, and returns the next byte.
    const fn peek(&mut self) -> Option<u8> {
        while self.at < self.text.len() && self.text[self.at].is_ascii_whitespace() {
            self.at += 1;
        }
        if self.at < self.text.len() { Some(self.text[self.at]) } else { None }
    }

    const fn error(&self, problem: Problem) -> SyntaxError {
        SyntaxError { problem, at: self.at }
    }

    const fn add(&mut self, node: SyntaxNode) -> Result<u8, SyntaxError> {
        let id = self.tree.len;
        if id == MAX_PARTS {
            return Err(self.error(Problem::TooLong));
        }
        self.tree.nodes[id] = node;
        self.tree.len += 1;
        Ok(id as u8)
    }

    /// Joins the parts from the index `from` on into one part.
    const fn one_of_many(&mut self, parts: &Parts, from: usize) -> Result<u8, SyntaxError> {
        let first = parts.ids[from];
        if parts.len - from == 1 {
            return Ok(first);
        }
        let mut at = from + 1;
        while at < parts.len {
            self.tree.nodes[parts.ids[at - 1] as usize].next = parts.ids[at];
            at += 1;
        }
        self.add(SyntaxNode::group(Form::Sequence, first))
    }

    /// The number of the last `parts` that an optional bracket repeats. It is 1 for `key [key ...]`, and 2 for `score
    /// member [score member ...]`. 0 if the bracket is no repetition.
    const fn repeated_tail(&self, parts: &Parts, inner: u8) -> usize {
        // The repeated part, and the parts before it in the bracket.
        let mut inner_parts = Parts { ids: [NO_PART; MAX_SEQUENCE], len: 0 };
        let node = self.tree.nodes[inner as usize];
        let mut at = if matches!(node.form, Form::Sequence) { node.first } else { inner };
        while at != NO_PART {
            inner_parts.push(at);
            at = self.tree.nodes[at as usize].next;
        }
        let count = inner_parts.len;
        if count == 0 || count > parts.len {
            return 0;
        }
        let last = self.tree.nodes[inner_parts.ids[count - 1] as usize];
        if !matches!(last.form, Form::Repeat) {
            return 0;
        }
        inner_parts.ids[count - 1] = last.first;
        let mut index = 0;
        while index < count {
            if !self.same_words(parts.ids[parts.len - count + index], inner_parts.ids[index]) {
                return 0;
            }
            index += 1;
        }
        count
    }

    /// Whether two parts are equal apart from their notes and names.
    const fn same_words(&self, a: u8, b: u8) -> bool {
        let (a, b) = (self.tree.nodes[a as usize], self.tree.nodes[b as usize]);
        if a.form as u8 != b.form as u8 || a.shown != b.shown {
            return false;
        }
        let mut index = 0;
        while index < a.shown {
            if self.text[a.from + index] != self.text[b.from + index] {
                return false;
            }
            index += 1;
        }
        let (mut first, mut second) = (a.first, b.first);
        while first != NO_PART && second != NO_PART {
            if !self.same_words(first, second) {
                return false;
            }
            (first, second) = (self.tree.nodes[first as usize].next, self.tree.nodes[second as usize].next);
        }
        first == second
    }
}

struct Parts {
    ids: [u8; MAX_SEQUENCE],
    len: usize,
}

impl Parts {
    const fn push(&mut self, id: u8) {
        self.ids[self.len] = id;
        self.len += 1;
    }
}

/// The length, without notes, of the word between two bytes. A sign at the beginning belongs to the word.
const fn shown_len(text: &[u8], from: usize, to: usize) -> usize {
    let mut at = from + 1;
    while at < to {
        let is_port = to - at == 5 && text[at + 1] == b'p' && text[at + 2] == b'o' && text[at + 3] == b'r';
        match text[at] {
            b':' if is_port => {}
            b'@' | b'#' | b':' | b'=' => break,
            _ => {}
        }
        at += 1;
    }
    at - from
}

/// Whether there are lower-case, and upper-case, letters from the byte `from` to the byte `to`.
const fn letters(text: &[u8], from: usize, to: usize) -> (bool, bool) {
    let (mut has_lower, mut has_upper, mut at) = (false, false, from);
    while at < to {
        has_lower |= text[at].is_ascii_lowercase();
        has_upper |= text[at].is_ascii_uppercase();
        at += 1;
    }
    (has_lower, has_upper)
}
