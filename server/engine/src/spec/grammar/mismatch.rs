//! The mistake of a request, and the words that would have been right.

/// The first mistake of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mismatch {
    /// The word at this place, or the end of the request there, is not of the grammar.
    Word(usize),
    /// The words at these places begin one option, which is given once.
    Twice(usize, usize),
    /// The word at this place is no number of keys.
    KeyCount(usize),
    /// This part, which may be left out, is an integer, and the word at this place is none.
    Number(u8, usize),
}

/// The words that would have been right at the last place that was looked at.
#[derive(Debug, Default)]
pub(super) struct Expected {
    at: usize,
    /// With each, whether it may be left out.
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

    /// The words for this place. At the end of a request only those that may not be left out, if there are any.
    pub(super) fn at(&self, at: usize, is_end: bool) -> Vec<&'static str> {
        let words = || self.words.iter().filter(|_| self.at == at);
        let lacks = is_end && words().any(|(_, may_lack)| !may_lack);
        words().filter(|(_, may_lack)| !(lacks && *may_lack)).map(|(text, _)| *text).collect()
    }
}
