//! The files of a server.

use lockwheel_engine::core::{DiskFiles, FileChange};
use parking_lot::Mutex;
use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

/// Returns the absolute path of a directory from `directory`, or the system's error if it may not be entered.
pub(super) fn enter(directory: &str, path: &str) -> io::Result<String> {
    if path.is_empty() {
        return Err(io::ErrorKind::NotFound.into());
    }
    let entered = Path::new(directory).join(path);
    // Only a process that may enter the directory can name what it contains.
    fs::metadata(entered.join("."))?;
    Ok(fs::canonicalize(entered)?.to_string_lossy().into_owned())
}

/// Reads a file. A relative path starts at `directory`, here and below.
pub(super) fn read(directory: &str, path: &str) -> io::Result<Vec<u8>> {
    fs::read(Path::new(directory).join(path))
}

/// Replaces the content of a file through another one in its directory, keeping its permissions. On an error, the file
/// is unchanged and the other is gone, or it is replaced but a power failure may undo that.
pub(super) fn write(directory: &str, path: &str, bytes: &[u8]) -> io::Result<()> {
    replace(directory, path, bytes, File::sync_all)?;
    sync_directory_of(&Path::new(directory).join(path))
}

/// Opens a file for appending, and creates it if necessary. `is_new`: an existing file is emptied.
pub(super) fn open_log(directory: &str, path: &str, is_new: bool) -> io::Result<File> {
    let path = Path::new(directory).join(path);
    let file = File::options().append(true).create(true).open(&path)?;
    if is_new {
        file.set_len(0)?;
    }
    sync_directory_of(&path)?;
    Ok(file)
}

/// Returns the length of a file, in bytes.
pub(super) fn len(directory: &str, path: &str) -> io::Result<u64> {
    fs::metadata(Path::new(directory).join(path)).map(|data| data.len())
}

/// Changes files, and waits for the disk.
pub(super) fn change(directory: &str, change: FileChange<'_>) -> io::Result<()> {
    let at = |path: &str| Path::new(directory).join(path);
    match change {
        FileChange::CreateDirectory(path) => match fs::create_dir(at(path)) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && at(path).is_dir() => Ok(()),
            Err(error) => Err(error),
            Ok(()) => sync_directory_of(&at(path)),
        },
        FileChange::Rename { from, to } => {
            fs::rename(at(from), at(to))?;
            sync_directory_of(&at(to))
        }
        FileChange::Remove(path) => fs::remove_file(at(path)),
        FileChange::Cut { path, len } => {
            let file = File::options().write(true).open(at(path))?;
            file.set_len(len)?;
            file.sync_all()
        }
    }
}

/// Waits until the disk has the names of the files beside this one. Some systems have no such operation.
fn sync_directory_of(path: &Path) -> io::Result<()> {
    let Some(parent) = path.parent() else { return Ok(()) };
    let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
    if !cfg!(unix) {
        return Ok(());
    }
    let synced = File::open(parent).and_then(|directory| directory.sync_all());
    synced.or_else(|error| if is_unsupported(&error) { Ok(()) } else { Err(error) })
}

/// Whether the system cannot sync directories, as in Redis: EBADF, EINVAL, and EISDIR when a directory is opened.
fn is_unsupported(error: &io::Error) -> bool {
    const EBADF: i32 = 9;
    let is_bad_descriptor = error.raw_os_error() == Some(EBADF);
    is_bad_descriptor || matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::IsADirectory)
}

/// The files of a directory.
pub(super) struct Directory(pub(super) String);

impl DiskFiles for Directory {
    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        read(&self.0, path)
    }

    fn write(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        write(&self.0, path, bytes)
    }

    fn change(&self, to: FileChange<'_>) -> io::Result<()> {
        change(&self.0, to)
    }

    fn len(&self, path: &str) -> io::Result<u64> {
        len(&self.0, path)
    }
}

/// A file that a server keeps locked until it gives it up.
#[derive(Debug, Default)]
pub(super) struct Claim(Mutex<Option<File>>);

impl Claim {
    /// Locks a file, created if necessary. Returns `WouldBlock` if another process, or server of this one, has it.
    #[cfg(unix)]
    pub(super) fn take(&self, directory: &str, path: &str) -> io::Result<()> {
        let path = Path::new(directory).join(path);
        loop {
            let file = File::options().read(true).append(true).create(true).open(&path)?;
            lock(&file)?;
            // The former owner may have replaced the file since it was opened.
            if is_at(&file, &path) {
                *self.0.lock() = Some(file);
                return Ok(());
            }
        }
    }

    pub(super) fn give_up(&self) {
        *self.0.lock() = None;
    }

    /// Replaces the content of a file as [`write`] does, but does not wait for the disk. The content survives the
    /// process, but perhaps not a power failure. If the file is locked, so is its replacement.
    pub(super) fn note(&self, directory: &str, path: &str, bytes: &[u8]) -> io::Result<()> {
        let mut kept = self.0.lock();
        let is_kept = kept.is_some();
        let file = replace(directory, path, bytes, |file| if is_kept { lock(file) } else { Ok(()) })?;
        *kept = Some(file).filter(|_| is_kept);
        Ok(())
    }
}

/// Locks a file for its opener, unless the file system has no locks.
fn lock(file: &File) -> io::Result<()> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(io::ErrorKind::WouldBlock.into()),
        Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => Ok(()),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Whether a file is still the one at this path.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let id = |data: &fs::Metadata| (data.dev(), data.ino());
    matches!((file.metadata(), fs::metadata(path)), (Ok(here), Ok(there)) if id(&here) == id(&there))
}

fn replace(
    directory: &str,
    path: &str,
    bytes: &[u8],
    settle: impl FnOnce(&File) -> io::Result<()>,
) -> io::Result<File> {
    let path = Path::new(directory).join(path);
    let beside = beside(&path);
    let permissions = fs::metadata(&path).map(|data| data.permissions());
    let written = File::create(&beside).and_then(|mut file| {
        if let Ok(permissions) = permissions {
            file.set_permissions(permissions)?;
        }
        file.write_all(bytes)?;
        settle(&file)?;
        Ok(file)
    });
    let moved = written.and_then(|file| fs::rename(&beside, &path).map(|()| file));
    if moved.is_err() {
        let _not_there = fs::remove_file(&beside);
    }
    moved
}

/// Returns a name in the same directory that no other process and no other server of this process uses.
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
        Claim::default().note(root, "users", b"three").expect("it can be written");
        assert_eq!(read(root, "users").expect("it is there"), b"three");
        fs::create_dir(directory.join("taken")).expect("it can be made");
        assert!(write(root, "taken", b"four").is_err());
        assert_eq!(fs::read_dir(&directory).expect("it is there").count(), 2, "nothing is left beside them");
        fs::remove_dir_all(&directory).expect("it can be removed");
    }

    #[cfg(unix)]
    #[test]
    fn only_a_system_that_syncs_directories_can_fail_to() {
        let is_unsupported = |code| is_unsupported(&io::Error::from_raw_os_error(code));
        let [ebadf, eio, eisdir, einval, enospc] = [9, 5, 21, 22, 28];
        assert!([ebadf, eisdir, einval].into_iter().all(is_unsupported));
        assert!(![eio, enospc].into_iter().any(is_unsupported));
    }

    #[cfg(unix)]
    #[test]
    fn a_file_lock_holds_when_the_file_is_replaced() {
        let directory = std::env::temp_dir().join(format!("lockwheel-claims-{}", process::id()));
        fs::create_dir_all(&directory).expect("it can be made");
        let root = directory.to_str().expect("it is text");
        let [first, second] = [Claim::default(), Claim::default()];
        first.take(root, "nodes").expect("nobody has it");
        for text in ["one", "two"] {
            first.note(root, "nodes", text.as_bytes()).expect("it can be written");
            let refused = second.take(root, "nodes").map_err(|error| error.kind());
            assert_eq!(refused, Err(io::ErrorKind::WouldBlock));
        }
        first.give_up();
        second.take(root, "nodes").expect("nobody has it any more");
        assert_eq!(read(root, "nodes").expect("it is there"), b"two");
        fs::remove_dir_all(&directory).expect("it can be removed");
    }
}
