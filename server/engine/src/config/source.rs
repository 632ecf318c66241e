//! The source of configuration text.

use std::io;

/// The source of configuration text.
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
    /// Returns the text of a file or of standard input.
    ///
    /// # Errors
    /// Returns the error of the system.
    fn read(&mut self, source: Source<'_>) -> io::Result<Vec<u8>>;

    /// Enters a directory, to which later paths are relative.
    ///
    /// # Errors
    /// Returns the error of the system.
    fn enter(&mut self, directory: &str) -> io::Result<()> {
        let _nowhere = directory;
        Ok(())
    }

    /// Returns the absolute path of a file.
    fn absolute(&mut self, path: &str) -> String {
        path.to_owned()
    }

    /// Returns the paths that a pattern with `*`, `?` and `[` matches, in alphabetical order.
    fn matching(&mut self, pattern: &str) -> Vec<String> {
        let _nothing = pattern;
        Vec::new()
    }
}
