//! What README.md says: its examples run as they stand, and its lists are those of the program.

mod commands;
mod console;
mod first_tests;
mod missing;
mod rust;

use std::fs;
use std::path::{Path, PathBuf};

/// A directory outside the workspace, removed when dropped.
struct Scratch(PathBuf);

impl Scratch {
    /// An empty one, named after a test.
    fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("lockwheel-readme-{name}-{}", std::process::id()));
        fs::create_dir(&path).expect("the directory for temporary files can be written");
        Scratch(path)
    }

    /// Where a file of it is.
    fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.join(name)
    }

    /// Writes a file, with the directories above it.
    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("it is below the directory"))
            .expect("a directory can be made");
        fs::write(path, text).expect("a file can be written");
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed is only rubbish.
        let _ = fs::remove_dir_all(&self.0);
    }
}
