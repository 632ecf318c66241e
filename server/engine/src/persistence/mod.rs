//! The state of saves: times, results, and the file that a save writes.

pub(crate) mod append_only;
mod data_file;
mod key_dumps;
mod load_progress;
mod rdb_file;
mod request;
mod save_control;

pub(crate) use append_only::AppendOnly;
pub use append_only::{AppendLog, DiskFiles, FileChange, FileWork, FileWorkDone, LogSync};
pub(crate) use data_file::{Content, DataFile, LAST_GRANT};
pub(crate) use key_dumps::{KeyDumps, have_same_dump};
pub(crate) use load_progress::LoadProgress;
pub(crate) use rdb_file::RdbFile;
pub(crate) use request::{SaveRequest, SavesView};
pub(crate) use save_control::{SaveControl, SaveEffect};

use crate::clock::TimerKey;

/// A background save in progress.
#[derive(Debug)]
pub(crate) struct Background {
    /// The serial number, unique among the saves in the background.
    pub(crate) serial: u64,
    /// The beginning, in milliseconds of the system's monotonic clock.
    pub(crate) began_ms: i64,
    /// The receiver of the data.
    pub(crate) target: SaveTarget,
}

/// The receiver of a snapshot that is made in the background.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SaveTarget {
    /// A file, relative to the directory that was configured when the save began.
    File {
        /// The file name.
        path: String,
        /// The number of changes up to the beginning of the save.
        changes: u64,
        /// Whether the snapshot is complete. The host is then writing the file.
        is_complete: bool,
    },
    /// The base of the append-only file.
    AppendOnly {
        /// The name of the temporary file.
        path: String,
        /// Whether the snapshot is complete. The host is then writing the file.
        is_complete: bool,
    },
    /// The replicas that wait for a snapshot.
    Replicas,
}

/// The result of reading a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Loaded {
    /// The number of keys that were loaded.
    pub(crate) keys: u64,
    /// The number of keys that were dropped because they had expired.
    pub(crate) expired: u64,
}

/// The facts about saves that INFO shows.
#[derive(Debug, Default)]
pub(crate) struct Persistence {
    /// The instant of the last save, in wall milliseconds.
    pub(crate) saved_ms: Option<i64>,
    /// The number of saves that have begun.
    pub(crate) saves: u64,
    /// Whether the last background save has failed.
    pub(crate) has_failed: bool,
    /// The duration of the last background save, in seconds.
    pub(crate) took_seconds: Option<i64>,
    /// The background save in progress.
    pub(crate) background: Option<Background>,
    /// Whether a save is to begin when the timer fires.
    is_scheduled: bool,
    /// The timer that begins or continues a background save.
    timer: Option<SaveTimer>,
    /// The file that was read last.
    pub(crate) loaded: Loaded,
    serial: u64,
    /// The instant of the last warning that the disk lacks the changes of a master, in milliseconds of the system's
    /// monotonic clock.
    warned_ms: Option<i64>,
    /// Bases of the append-only file that were given up while the host was writing them: serial number and path.
    given_up: Vec<(u64, String)>,
}

/// The timer of saves, with its instant in milliseconds of the system's monotonic clock.
#[derive(Clone, Copy, Debug)]
struct SaveTimer {
    key: TimerKey,
    at_ms: i64,
}

impl Persistence {
    /// Whether a background save, rather than a rewrite of the append-only file, is in progress.
    pub(crate) fn is_saving(&self) -> bool {
        self.background.as_ref().is_some_and(|save| !matches!(save.target, SaveTarget::AppendOnly { .. }))
    }

    /// Whether the base of the append-only file is being written.
    pub(crate) fn is_rewriting(&self) -> bool {
        self.background.is_some() && !self.is_saving()
    }

    /// Returns a serial number that no background save has had before.
    fn next_serial(&mut self) -> u64 {
        self.serial += 1;
        self.serial
    }

    /// Whether a warning is due that the disk lacks the changes of a master. Records the warning.
    pub(crate) fn takes_warning(&mut self, now_ms: i64, interval_ms: i64) -> bool {
        let is_due = self.warned_ms.is_none_or(|warned_ms| now_ms - warned_ms >= interval_ms);
        if is_due {
            self.warned_ms = Some(now_ms);
        }
        is_due
    }

    /// Resets the state. Saves in progress do not count as saves of the new state.
    fn reset(&mut self) {
        let given_up = std::mem::take(&mut self.given_up);
        *self = Persistence { serial: self.serial, given_up, ..Persistence::default() };
    }
}
