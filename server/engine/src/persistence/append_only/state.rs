//! The state of the append-only file.

use super::Manifest;
use crate::config::AppendOnlyParameters;
use crate::propagation::{Annotation, ReservedGrants, Unit};
use crate::spec::CommandError;
use lockwheel_resp::{allocation, write_request};

/// The number of undelivered bytes after which the batch need not have ended.
const MAX_UNDELIVERED_BYTES: usize = 16 << 10;

/// The beginning of the error if the file cannot be written. The reason of the system follows.
pub(crate) const NOT_APPENDED: &str = "MISCONF Errors writing to the AOF file: ";

/// The stage of the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Stage {
    /// The server keeps no such file, whatever the configuration says.
    #[default]
    Absent,
    /// The file is off.
    Off,
    /// The file was switched on, and its first base is not complete.
    Waiting,
    /// The file is on.
    On,
}

/// A rewrite in progress.
#[derive(Debug)]
pub(super) struct Rewrite {
    /// The temporary file of the new base.
    pub(super) path: String,
    /// Whether the new base is in the format of saves.
    pub(super) is_rdb: bool,
    /// The beginning, in milliseconds of the system's monotonic clock.
    pub(super) began_ms: i64,
    /// Whether the new base has been written, and the host is making it the base.
    pub(super) is_ending: bool,
}

/// The delay of automatic rewrites after several failures.
#[derive(Debug, Default)]
pub(super) struct RetryDelay {
    pub(super) minutes: i64,
    /// The instant of the next attempt, in milliseconds of the system's monotonic clock.
    pub(super) until_ms: Option<i64>,
}

/// The append-only file of a server.
#[derive(Debug, Default)]
pub(crate) struct AppendOnly {
    pub(super) stage: Stage,
    pub(super) manifest: Manifest,
    /// Whether the disk certainly has the manifest.
    pub(super) is_manifest_safe: bool,
    /// The database that the requests at the end of the file have selected.
    pub(super) selected: Option<usize>,
    /// The bytes that were appended and the host has not been given.
    undelivered: Vec<u8>,
    /// The requests of a master's open transaction, and the database that is selected before them.
    pub(super) streamed: Option<(usize, Vec<u8>)>,
    pub(super) is_loading: bool,
    /// The time of the last annotation, in seconds of the wall clock.
    pub(super) stamped_s: i64,
    /// The numbers of grants that the file names.
    pub(super) reserved_grants: ReservedGrants,
    /// The size of all files, in bytes.
    pub(super) size: u64,
    /// The size at the end of the last rewrite.
    pub(super) base_size: u64,
    /// The bytes in the last increment.
    pub(super) increment_size: u64,
    /// The bytes that were given to the host since it began.
    pub(super) appended: u64,
    pub(super) rewrite: Option<Rewrite>,
    /// The number of the work on the files that the host is doing, also if its rewrite was given up.
    pub(super) work: Option<u64>,
    /// The number of the last work on the files.
    pub(super) works: u64,
    pub(super) is_rewrite_scheduled: bool,
    pub(super) rewrites: u64,
    pub(super) failures: u64,
    pub(super) delay: RetryDelay,
    pub(super) took_seconds: Option<i64>,
    pub(super) has_rewrite_failed: bool,
    /// The reason why the file cannot be written, in Redis' words.
    pub(super) failure: Option<String>,
}

/// The figures of INFO.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AppendOnlyFigures {
    pub(crate) is_enabled: bool,
    pub(crate) is_rewriting: bool,
    pub(crate) is_scheduled: bool,
    pub(crate) took_seconds: Option<i64>,
    pub(crate) began_ms: Option<i64>,
    pub(crate) has_rewrite_failed: bool,
    pub(crate) rewrites: u64,
    pub(crate) failures: u64,
    pub(crate) has_write_failed: bool,
    pub(crate) size: u64,
    pub(crate) base_size: u64,
}

impl AppendOnly {
    /// Returns the state of a server with these files. They are off.
    pub(crate) fn new(manifest: Manifest) -> Self {
        AppendOnly { stage: Stage::Off, manifest, ..AppendOnly::default() }
    }

    /// Whether the server keeps the file if the configuration says so.
    pub(crate) fn is_kept(&self) -> bool {
        self.stage != Stage::Absent
    }

    /// Whether the file is on, or is being switched on.
    pub(crate) fn is_enabled(&self) -> bool {
        matches!(self.stage, Stage::Waiting | Stage::On)
    }

    /// Adds a request of a master's stream. `db`: the selected database before it. Returns the bytes to be appended,
    /// with the database before them, unless the transaction `is_open`. A message is left out, and a
    /// request that only selects.
    pub(crate) fn add_streamed(
        &mut self,
        (db, words): (usize, &[&[u8]]),
        is_open: bool,
    ) -> Option<(usize, Vec<u8>)> {
        let is = |name: &[u8]| words.first().is_some_and(|word| word.eq_ignore_ascii_case(name));
        let is_message = [&b"publish"[..], b"spublish"].into_iter().any(is);
        if is_message || (self.streamed.is_none() && (is(b"select") || is(b"ping"))) {
            return None;
        }
        let (_, bytes) = self.streamed.get_or_insert_with(|| (db, Vec::new()));
        write_request(words, bytes);
        if is_open { None } else { self.streamed.take() }
    }

    /// Adds a request of a master's stream that is not appended, for the rest of its transaction.
    pub(crate) fn note_streamed(&mut self, request: (usize, &[&[u8]]), is_open: bool) {
        if self.is_kept() && (is_open || self.streamed.is_some()) {
            let _not_appended = self.add_streamed(request, is_open);
        }
    }

    /// Forgets the requests of a master's open transaction, whose stream has ended.
    pub(crate) fn forget_streamed(&mut self) {
        self.streamed = None;
    }

    /// Sets whether the files are being read, so that nothing is appended.
    pub(crate) fn set_loading(&mut self, is_loading: bool) {
        self.is_loading = is_loading;
    }

    /// Whether changes are appended.
    pub(crate) fn is_appending(&self) -> bool {
        match self.stage {
            _ if self.is_loading => false,
            Stage::Absent | Stage::Off => false,
            Stage::Waiting => self.rewrite.is_some(),
            Stage::On => true,
        }
    }

    /// Whether a rewrite is in progress.
    pub(crate) fn is_rewriting(&self) -> bool {
        self.rewrite.is_some()
    }

    /// Whether there are files that can be read again, even if the file is off.
    pub(crate) fn has_files(&self) -> bool {
        self.is_enabled() || (self.is_kept() && !self.manifest.is_empty())
    }

    /// Whether the host is changing the files of the manifest.
    pub(crate) fn is_working(&self) -> bool {
        self.work.is_some()
    }

    /// Whether the file was switched on, and its first base is not complete.
    pub(crate) fn lacks_base(&self) -> bool {
        self.stage == Stage::Waiting
    }

    /// Whether the server must not end: the first base is not complete.
    pub(crate) fn awaits_base(&self) -> bool {
        self.stage == Stage::Waiting && self.rewrite.is_some()
    }

    /// Returns the manifest.
    pub(crate) fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Replaces the manifest by one that was read.
    pub(crate) fn set_manifest(&mut self, manifest: Manifest) {
        self.manifest = manifest;
    }

    /// Returns the bytes that were given to the host since it began.
    pub(crate) fn appended(&self) -> u64 {
        self.appended
    }

    /// Returns the reason why the file cannot be written, in Redis' words.
    pub(crate) fn failure(&self) -> Option<&str> {
        self.failure.as_deref().filter(|_| self.is_enabled())
    }

    /// Returns the error of a write while the file cannot be written.
    #[cold]
    pub(crate) fn write_error(&self) -> CommandError {
        CommandError::new(format!("{NOT_APPENDED}{}", self.failure().unwrap_or_default()))
    }

    /// Returns the figures of INFO.
    pub(crate) fn figures(&self) -> AppendOnlyFigures {
        AppendOnlyFigures {
            is_enabled: self.is_enabled(),
            is_rewriting: self.is_rewriting(),
            is_scheduled: self.is_rewrite_scheduled,
            took_seconds: self.took_seconds,
            began_ms: self.rewrite.as_ref().map(|rewrite| rewrite.began_ms),
            has_rewrite_failed: self.has_rewrite_failed,
            rewrites: self.rewrites,
            failures: self.failures,
            has_write_failed: self.failure.is_some(),
            size: self.size,
            base_size: self.base_size,
        }
    }

    /// Appends a unit. Returns false if there is no memory for the unit, or was none for a request of it. O(bytes).
    pub(crate) fn append_unit(&mut self, unit: &Unit, facts: (Option<i64>, u64)) -> bool {
        let begin = self.undelivered.len();
        let has_room = !unit.is_incomplete()
            && allocation::contain(|| {
                self.write_unit(facts, |db, bytes| unit.write(db, |receivers| receivers.file, bytes));
            })
            .is_ok();
        if !has_room {
            self.undelivered.truncate(begin);
        }
        has_room
    }

    /// Writes a unit with `write`, which appends to the bytes and returns the database that is selected after it. The
    /// unit follows the facts that have changed: the time in seconds, if the file has times, and the last grant.
    pub(super) fn write_unit(
        &mut self,
        (time_s, last_grant): (Option<i64>, u64),
        write: impl FnOnce(Option<usize>, &mut Vec<u8>) -> Option<usize>,
    ) {
        let begin = self.undelivered.len();
        if let Some(now_s) = time_s.filter(|now_s| *now_s > self.stamped_s) {
            self.stamped_s = now_s;
            Annotation::Time(now_s).write(&mut self.undelivered);
        }
        if let Some(annotation) = self.reserved_grants.reserve(last_grant) {
            annotation.write(&mut self.undelivered);
        }
        self.selected = write(self.selected, &mut self.undelivered);
        let len = (self.undelivered.len() - begin) as u64;
        self.appended += len;
        self.size += len;
        self.increment_size += len;
    }

    /// Whether the host is to be given bytes. `is_over`: the batch has ended.
    #[inline]
    pub(crate) fn is_delivery_due(&self, is_over: bool) -> bool {
        let len = self.undelivered.len();
        len > 0 && (is_over || len >= MAX_UNDELIVERED_BYTES)
    }

    /// Takes the bytes that the host has not been given, if there are any.
    pub(super) fn take_undelivered(&mut self) -> Option<Vec<u8>> {
        (!self.undelivered.is_empty()).then(|| std::mem::take(&mut self.undelivered))
    }

    /// Gives bytes that were taken back, so that the next ones have their memory.
    pub(super) fn recycle(&mut self, mut bytes: Vec<u8>) {
        if bytes.capacity() <= 2 * MAX_UNDELIVERED_BYTES {
            bytes.clear();
            self.undelivered = bytes;
        }
    }

    /// Forgets what the file ends with, for another file.
    pub(super) fn begin_file(&mut self, size: u64) {
        (self.selected, self.increment_size) = (None, size);
        self.reserved_grants = ReservedGrants::default();
    }
}

impl AppendOnly {
    /// Returns the growth of the file since its last rewrite, in percent, if it demands a rewrite.
    pub(super) fn growth(&self, parameters: &AppendOnlyParameters) -> Option<u64> {
        let is_large = self.stage == Stage::On
            && parameters.rewrite_percentage > 0
            && self.size > parameters.rewrite_min_size;
        if !is_large {
            return None;
        }
        let growth = (self.size.saturating_mul(100) / self.base_size.max(1)).saturating_sub(100);
        (growth >= parameters.rewrite_percentage).then_some(growth)
    }

    /// Whether the growth of the file demands a rewrite, and none is in progress or delayed.
    pub(crate) fn demands_rewrite(&self, parameters: &AppendOnlyParameters, now_ms: i64) -> bool {
        let is_delayed = self.delay.until_ms.is_some_and(|until_ms| now_ms < until_ms);
        self.rewrite.is_none() && !is_delayed && self.growth(parameters).is_some()
    }

    /// Forgets failed rewrites, so that the next one is not delayed.
    pub(super) fn forget_failures(&mut self) {
        (self.failures, self.delay) = (0, RetryDelay::default());
    }

    /// Records the sizes of the files that were read, in bytes: of all, and of the base.
    pub(crate) fn set_sizes(&mut self, all: u64, base: u64) {
        (self.size, self.base_size) = (all, base);
    }
}
