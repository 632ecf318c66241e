//! Where configuration text comes from.

use std::io;

/// Where configuration text comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source<'a> {
    /// The file at this path.
    File(&'a str),
    /// Standard input, to its end.
    Stdin,
}

impl<'a> Source<'a> {
    pub(super) fn path(self) -> &'a str {
        match self {
            Source::File(path) => path,
            Source::Stdin => "-",
        }
    }
}

/// The files that a configuration names.
pub trait Files {
    /// The text of a file or of standard input.
    ///
    /// # Errors
    /// The system's.
    fn read(&mut self, source: Source<'_>) -> io::Result<Vec<u8>>;

    /// Makes a directory the one that paths are relative to.
    ///
    /// # Errors
    /// The system's.
    fn enter(&mut self, directory: &str) -> io::Result<()> {
        let _nowhere = directory;
        Ok(())
    }

    /// The path of a file from the root, however it is named.
    fn absolute(&mut self, path: &str) -> String {
        path.to_owned()
    }

    /// The paths that a pattern with `*`, `?` and `[` matches, in alphabetical order.
    fn matching(&mut self, pattern: &str) -> Vec<String> {
        let _nothing = pattern;
        Vec::new()
    }
}
