//! What is changed in Lua, each change with its reason.

mod bounds;
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
];

/// One change of one file. All of `why` is for the reader.
#[derive(Clone, Copy)]
pub(crate) struct Change {
    pub(crate) file: &'static str,
    pub(crate) why: &'static str,
    pub(crate) edit: Edit,
}

#[derive(Clone, Copy)]
pub(crate) enum Edit {
    /// The text must stand in the file exactly once.
    Replace(&'static str, &'static str),
    /// Puts text after another, which must stand in the file exactly once.
    After(&'static str, &'static str),
    /// Puts text before another, which must stand in the file exactly once.
    Before(&'static str, &'static str),
    /// Puts text at the end of the file.
    Append(&'static str),
}

impl Change {
    /// The file's text with the change made, or why it does not fit.
    pub(crate) fn apply(&self, text: &str) -> Result<String, String> {
        let (find, replacement) = match self.edit {
            Edit::Append(more) => return Ok(format!("{text}\n{more}")),
            Edit::Replace(find, with) => (find, with.to_owned()),
            Edit::After(find, more) => (find, format!("{find}{more}")),
            Edit::Before(find, more) => (find, format!("{more}{find}")),
        };
        match text.matches(find).count() {
            1 => Ok(text.replacen(find, &replacement, 1)),
            n => Err(format!("{}: found {n} times, must be once: {find:?} ({})", self.file, self.why)),
        }
    }
}
