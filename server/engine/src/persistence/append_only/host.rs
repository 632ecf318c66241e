//! The files of the host, as the append-only file needs them.

use std::io;

/// A change of the files of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileChange<'a> {
    /// Creates a directory, unless it exists.
    CreateDirectory(&'a str),
    /// Renames a file. A file with the new name is replaced.
    Rename {
        /// The present path.
        from: &'a str,
        /// The new path.
        to: &'a str,
    },
    /// Removes a file.
    Remove(&'a str),
    /// Cuts a file to a length.
    Cut {
        /// The path.
        path: &'a str,
        /// The new length, in bytes.
        len: u64,
    },
}

/// The times at which a log is synced to the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogSync {
    /// Never; the system does it when it likes.
    #[default]
    Never,
    /// Once a second of real time.
    EverySecond,
    /// Before anybody can see the effects of what was appended.
    Always,
}

/// The file of a host to which the engine appends. The host writes what was appended before any client can see an
/// effect of it. [`Engine::disk_event`](crate::Engine::disk_event) is told of a failure, and of its end.
pub trait AppendLog: Send + Sync {
    /// Opens a file, and creates it if necessary. All that is appended later goes to this file. The file before is
    /// written, synced and closed. `is_new`: an existing file is emptied.
    ///
    /// # Errors
    /// Returns the error of the system. The file before stays open then.
    fn open(&self, directory: &str, path: &str, is_new: bool) -> io::Result<()>;

    /// Appends bytes. Does not wait for the file.
    fn append(&self, bytes: &[u8]);

    /// Sets the times at which the file is synced.
    fn set_sync(&self, sync: LogSync);

    /// Sets the pause before each write of what was appended, in microseconds.
    fn set_flush_delay(&self, us: u64);

    /// Writes and syncs all that was appended.
    ///
    /// # Errors
    /// Returns the error of the system.
    fn sync(&self) -> io::Result<()>;

    /// Closes the file. What was appended and not written is lost.
    fn close(&self);

    /// Returns the number of bytes that are not written yet.
    fn pending(&self) -> usize;

    /// Returns the number of bytes that were appended and synced since the host began.
    fn synced(&self) -> u64;

    /// Tells [`Engine::disk_event`](crate::Engine::disk_event) of each sync, until this number of bytes is synced.
    fn announce_syncs(&self, until: u64);
}

/// The files in the working directory of a server.
pub trait DiskFiles {
    /// Returns the bytes of a file.
    ///
    /// # Errors
    /// Returns the error of the system.
    fn read(&self, path: &str) -> io::Result<Vec<u8>>;

    /// Replaces the content of a file, and waits for the disk.
    ///
    /// # Errors
    /// Returns the error of the system.
    fn write(&self, path: &str, bytes: &[u8]) -> io::Result<()>;

    /// Changes the files, and waits for the disk.
    ///
    /// # Errors
    /// Returns the error of the system.
    fn change(&self, change: FileChange<'_>) -> io::Result<()>;

    /// Returns the length of a file, in bytes.
    ///
    /// # Errors
    /// Returns the error of the system.
    fn len(&self, path: &str) -> io::Result<u64>;
}

/// The files in the working directory of a server, with its log.
pub(crate) trait LogFiles: DiskFiles {
    /// Opens a file as the log.
    ///
    /// # Errors
    /// Returns the errors of [`AppendLog::open`]. Without a log, that is an error, too.
    fn open_log(&self, path: &str, is_new: bool) -> io::Result<()>;

    /// Returns the log, if the host has one.
    fn log(&self) -> Option<&dyn AppendLog>;
}
