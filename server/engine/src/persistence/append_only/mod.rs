//! The append-only file: the requests with the effects of all commands, so that a restart has them.
//!
//! The format is that of Redis 7: a manifest lists a base, which has the data of an instant, and increments, which have
//! the changes since then. Facts that only this server has are annotations, which Redis skips.

mod base_writer;
mod control;
mod file_work;
mod host;
mod log_file;
mod manifest;
mod reader;
mod state;

pub(crate) use base_writer::RequestBase;
pub(crate) use control::{AppendOnlyControl, AppendOnlyEffect};
pub use file_work::{FileWork, FileWorkDone};
pub(crate) use host::LogFiles;
pub use host::{AppendLog, DiskFiles, FileChange, LogSync};
pub(crate) use log_file::{LoadFailure, LogFile, LogNames, read_manifest, upgrade_old_file};
pub(crate) use manifest::Manifest;
pub(crate) use reader::{LogEnd, LogPart, LogReader, RDB_MAGICS};
pub(crate) use state::{AppendOnly, AppendOnlyFigures, NOT_APPENDED};

/// The maximum length of an annotation, in bytes with its end. Redis reads no longer ones.
const MAX_ANNOTATION: usize = 1023;
