//! The mistake of a request, and the words expected in its place.

/// The first mistake of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mismatch {
    /// The word at this place, or the end of the request there, does not fit the grammar.
    Word(usize),
    /// The words at these places begin the same option, which may be given once.
    Twice(usize, usize),
    /// The word at this place is not a number of keys.
    KeyCount(usize),
    /// This optional part is an integer, and the word at this place is not.
    Number(u8, usize),
}

/// The words expected at the last place that was looked at.
#[derive(Debug, Default)]
pub(super) struct Expected {
    at: usize,
    /// The expected words; with each, whether it may be left out.
    words: Vec<(&'static str, bool)>,
}

impl Expected {
    pub(super) fn note(&mut self, at: usize, text: &'static str, may_lack: bool) {
        if at > self.at {
            (self.at, self.words) = (at, Vec::new());
        }
        if at == self.at && !self.words.iter().any(|(known, _)| *known == text) {
            self.words.push((text, may_lack));
        }
    }

    /// The words expected at this place. At the end: only those that may not be left out, if any.
    pub(super) fn at(&self, at: usize, is_end: bool) -> Vec<&'static str> {
        let words = || self.words.iter().filter(|_| self.at == at);
        let lacks = is_end && words().any(|(_, may_lack)| !may_lack);
        words().filter(|(_, may_lack)| !(lacks && *may_lack)).map(|(text, _)| *text).collect()
    }
}
