//! The parameters of the append-only file.

use lockwheel_store::time::Now;

/// The times at which the append-only file is synced to the disk (`appendfsync`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AppendFsync {
    /// Once a second.
    #[default]
    Everysec,
    /// Before the replies to writes.
    Always,
    /// When the system likes.
    No,
}

impl AppendFsync {
    pub(super) const NAMES: &[&str] = &["everysec", "always", "no"];
    pub(super) const ALL: [Self; 3] = [AppendFsync::Everysec, AppendFsync::Always, AppendFsync::No];
}

/// The parameters of the append-only file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppendOnlyParameters {
    /// Whether the file is kept (`appendonly`).
    pub enabled: bool,
    /// The directory of the files, in the working directory (`appenddirname`).
    pub directory: String,
    /// The beginning of the names of the files (`appendfilename`).
    pub filename: String,
    /// The times at which the file is synced (`appendfsync`).
    pub fsync: AppendFsync,
    /// Whether the file is not synced while a save or a rewrite runs (`no-appendfsync-on-rewrite`).
    pub no_fsync_on_rewrite: bool,
    /// The growth, in percent, after which the file is rewritten. 0: never (`auto-aof-rewrite-percentage`).
    pub rewrite_percentage: u64,
    /// The size, in bytes, up to which the file is not rewritten by itself (`auto-aof-rewrite-min-size`).
    pub rewrite_min_size: u64,
    /// Whether a file whose end is missing is read, and cut to what is whole (`aof-load-truncated`).
    pub load_truncated: bool,
    /// Whether a rewritten file is in the format of saves (`aof-use-rdb-preamble`).
    pub use_rdb_preamble: bool,
    /// Whether the file has lines with the time of its requests (`aof-timestamp-enabled`).
    pub timestamp_enabled: bool,
    /// Whether files that a rewrite has replaced are kept (`aof-disable-auto-gc`).
    pub disable_auto_gc: bool,
}

impl Default for AppendOnlyParameters {
    /// The defaults of Redis.
    fn default() -> Self {
        AppendOnlyParameters {
            enabled: false,
            directory: "appendonlydir".to_owned(),
            filename: "appendonly.aof".to_owned(),
            fsync: AppendFsync::default(),
            no_fsync_on_rewrite: false,
            rewrite_percentage: 100,
            rewrite_min_size: 64 << 20,
            load_truncated: true,
            use_rdb_preamble: true,
            timestamp_enabled: false,
            disable_auto_gc: false,
        }
    }
}

impl AppendOnlyParameters {
    /// Returns the path of one of the files, relative to the working directory.
    pub(crate) fn path(&self, file: &str) -> String {
        format!("{}/{file}", self.directory)
    }

    /// Returns the time that the next requests have in the file, in seconds of the wall clock. `None`: the file has no
    /// times.
    pub(crate) fn time_s(&self, now: Now) -> Option<i64> {
        self.timestamp_enabled.then(|| now.wall_second())
    }
}
