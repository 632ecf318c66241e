//! The changes of Lua's own files, each with its reason. Larger additions are in `c/`.

mod bounds;
mod growth;
mod interrupt;
mod matching;
mod memory;
mod numerals;
mod readonly;
mod speed;
mod work;

/// All changes, in the order in which they are applied.
pub(crate) const PATCHES: &[&[Change]] = &[
    readonly::CHANGES,
    interrupt::CHANGES,
    work::CHANGES,
    numerals::CHANGES,
    matching::CHANGES,
    bounds::CHANGES,
    memory::CHANGES,
    speed::CHANGES,
    growth::CHANGES,
];

/// A change: its reason and its edits.
#[derive(Clone, Copy)]
pub(crate) struct Change {
    /// The reason in one sentence, for readers and for the error when an edit no longer applies.
    pub(crate) why: &'static str,
    /// The edits with their files, in order.
    pub(crate) edits: &'static [(&'static str, Edit)],
}

/// An edit of a file. The text that it searches must occur exactly once.
#[derive(Clone, Copy)]
pub(crate) enum Edit {
    /// Replaces the text.
    Replace(&'static str, &'static str),
    /// Adds another text after it.
    After(&'static str, &'static str),
    /// Adds another text before it.
    Before(&'static str, &'static str),
}

impl Change {
    /// Whether the change has edits, and its reason is a sentence.
    const fn has_reason(&self) -> bool {
        let why = self.why.as_bytes();
        why.len() > 30 && why[why.len() - 1] == b'.' && !self.edits.is_empty()
    }
}

/// Every change must have a reason.
const _: () = {
    let mut group = 0;
    while group < PATCHES.len() {
        let mut at = 0;
        while at < PATCHES[group].len() {
            assert!(PATCHES[group][at].has_reason(), "a change says in a sentence why it is made");
            at += 1;
        }
        group += 1;
    }
};

impl Edit {
    /// Returns the edited text, or the reason that the edit does not fit.
    pub(crate) fn apply(self, text: &str) -> Result<String, String> {
        let (find, replacement) = match self {
            Edit::Replace(find, with) => (find, with.to_owned()),
            Edit::After(find, more) => (find, format!("{find}{more}")),
            Edit::Before(find, more) => (find, format!("{more}{find}")),
        };
        match text.matches(find).count() {
            1 => Ok(text.replacen(find, &replacement, 1)),
            n => Err(format!("found {n} times, must be once: {find:?}")),
        }
    }
}
