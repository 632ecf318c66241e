//! The files of a server.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

/// The bytes of a file; a path is relative to this directory.
///
/// # Errors
/// The system's.
pub(super) fn read(directory: &str, path: &str) -> io::Result<Vec<u8>> {
    fs::read(Path::new(directory).join(path))
}

/// Gives a file these bytes as a whole, by way of another file beside it; a path is relative to this directory. One
/// that is there keeps its permissions.
///
/// # Errors
/// The system's; then the file is as it was, and the other one is gone.
pub(super) fn write(directory: &str, path: &str, bytes: &[u8]) -> io::Result<()> {
    let path = Path::new(directory).join(path);
    let beside = beside(&path);
    let permissions = fs::metadata(&path).map(|data| data.permissions());
    let written = File::create(&beside).and_then(|mut file| {
        if let Ok(permissions) = permissions {
            file.set_permissions(permissions)?;
        }
        file.write_all(bytes)?;
        file.sync_all()
    });
    let moved = written.and_then(|()| fs::rename(&beside, &path));
    if moved.is_err() {
        let _not_there = fs::remove_file(&beside);
    }
    moved
}

/// A name beside a file that no other process and no other server of this one uses.
fn beside(path: &Path) -> PathBuf {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".tmp-{}-{}", process::id(), COUNT.fetch_add(1, Ordering::Relaxed)));
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_as_a_whole_or_not_at_all() {
        let directory = std::env::temp_dir().join(format!("lockwheel-files-{}", process::id()));
        fs::create_dir_all(&directory).expect("it can be made");
        let root = directory.to_str().expect("it is text");
        assert_eq!(read(root, "users").map_err(|error| error.kind()), Err(io::ErrorKind::NotFound));
        for text in [b"one".as_slice(), b"two"] {
            write(root, "users", text).expect("it can be written");
            assert_eq!(read(root, "users").expect("it is there"), text);
        }
        fs::create_dir(directory.join("taken")).expect("it can be made");
        assert!(write(root, "taken", b"three").is_err());
        assert_eq!(fs::read_dir(&directory).expect("it is there").count(), 2, "nothing is left beside them");
        fs::remove_dir_all(&directory).expect("it can be removed");
    }
}
