//! Directories in which blocks run.

use lockwheel_tests::pages;
use std::fs;
use std::path::{Path, PathBuf};

/// A directory for one test.
pub(crate) struct Scratch {
    path: PathBuf,
    is_kept: bool,
}

impl Scratch {
    /// Creates an empty directory outside the workspace, removed when dropped.
    pub(crate) fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("lockwheel-book-{name}-{}", std::process::id()));
        fs::create_dir(&path).expect("the directory for temporary files can be written");
        Scratch { path, is_kept: false }
    }

    /// Creates a directory below the build directory, for dependencies that take long to fetch. It keeps the contents
    /// of an earlier run.
    pub(crate) fn kept(name: &str) -> Scratch {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("book").join(name);
        fs::create_dir_all(&path).expect("the build directory can be written");
        Scratch { path, is_kept: true }
    }

    /// The path of a file in the directory, or of the directory itself for an empty name.
    pub(crate) fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.path.join(name)
    }

    /// Writes a file, and creates the directories above it.
    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("it is below the directory"))
            .expect("a directory can be made");
        fs::write(path, text).expect("a file can be written");
    }

    /// Creates an empty directory in it.
    pub(crate) fn emptied(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        if path.exists() {
            fs::remove_dir_all(&path).expect("what an earlier run has left can be removed");
        }
        fs::create_dir_all(&path).expect("a directory can be made");
        path
    }

    /// Copies a folder of the repository.
    pub(crate) fn copy(&self, folder: &str, name: &str) {
        let to = self.emptied(name);
        copy(&pages::file(folder), &to);
    }
}

/// Copies the files of a folder, and those of its subfolders.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a directory can be made");
    for entry in fs::read_dir(from).expect("the folder is there").flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("a file can be copied");
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !self.is_kept {
            // Remaining files do no harm.
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}
