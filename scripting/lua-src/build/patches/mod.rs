//! What is changed in Lua's own files, each change with its reason. What is longer than an edit is in `c/`.

mod bounds;
mod growth;
mod interrupt;
mod matching;
mod memory;
mod numerals;
mod readonly;
mod speed;
mod work;

/// All changes, in the order they are applied.
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

/// One change: why it is made, and the edits that make it.
#[derive(Clone, Copy)]
pub(crate) struct Change {
    /// Its reason in a sentence, for readers and for the error when an edit no longer applies.
    pub(crate) why: &'static str,
    /// Files and what is edited in each, in this order.
    pub(crate) edits: &'static [(&'static str, Edit)],
}

/// One edit of a file. The text that it looks for must stand there exactly once.
#[derive(Clone, Copy)]
pub(crate) enum Edit {
    /// Puts another text in its place.
    Replace(&'static str, &'static str),
    /// Puts another text after it.
    After(&'static str, &'static str),
    /// Puts another text before it.
    Before(&'static str, &'static str),
}

impl Change {
    /// Whether the reason is one: a sentence.
    const fn has_reason(&self) -> bool {
        let why = self.why.as_bytes();
        why.len() > 30 && why[why.len() - 1] == b'.' && !self.edits.is_empty()
    }
}

/// No change is without a reason.
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
    /// The text with the edit made, or why it does not fit.
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
