//! What is kept of the data: when it was saved and how that went, and the file that a save writes.

mod data_file;
mod key_dumps;
mod rdb_file;
mod request;
mod save_control;

pub(crate) use data_file::{Content, DataFile};
pub(crate) use key_dumps::{KeyDumps, have_same_dump};
pub(crate) use rdb_file::RdbFile;
pub(crate) use request::{SaveRequest, SavesView};
pub(crate) use save_control::{SaveControl, SaveEffect};

use crate::clock::TimerKey;

/// A save in the background.
#[derive(Debug)]
pub(crate) struct Background {
    /// The number that tells it from those before it.
    pub(crate) serial: u64,
    /// When it began, in milliseconds of the system's monotonic clock.
    pub(crate) began_ms: i64,
    /// The receiver of the data.
    pub(crate) target: SaveTarget,
}

/// The receiver of a snapshot that is made in the background.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SaveTarget {
    /// A file, beneath the directory that the configuration had.
    File {
        /// Its name.
        path: String,
        /// The number of changes until the save began.
        changes: u64,
        /// Whether the file has all keys: the host writes it.
        is_complete: bool,
    },
    /// The replicas that wait for a snapshot.
    Replicas,
}

/// How a file was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Loaded {
    /// Keys that are there now.
    pub(crate) keys: u64,
    /// Keys whose deadline was over.
    pub(crate) expired: u64,
}

/// What INFO tells of saves.
#[derive(Debug, Default)]
pub(crate) struct Persistence {
    /// When the data was last saved, in wall milliseconds.
    pub(crate) saved_ms: Option<i64>,
    /// How many saves have begun.
    pub(crate) saves: u64,
    /// The last save in the background has failed.
    pub(crate) has_failed: bool,
    /// How long it took, in seconds.
    pub(crate) took_seconds: Option<i64>,
    /// The save in the background that is on its way.
    pub(crate) background: Option<Background>,
    /// One is to begin when the timer fires.
    is_scheduled: bool,
    /// A snapshot for replicas is to begin when the timer fires.
    is_due_for_replicas: bool,
    /// Begins a save in the background, or goes on with it.
    timer: Option<TimerKey>,
    /// The file that was read last.
    pub(crate) loaded: Loaded,
    serial: u64,
}

impl Persistence {
    /// A number that no save in the background had before.
    fn next_serial(&mut self) -> u64 {
        self.serial += 1;
        self.serial
    }

    /// Begins anew; saves that are still on their way are none of it.
    fn reset(&mut self) {
        *self = Persistence { serial: self.serial, ..Persistence::default() };
    }
}
