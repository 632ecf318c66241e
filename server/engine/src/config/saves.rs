//! The parameters of files of saves.

/// The parameters of files of saves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SaveParameters {
    /// When Redis saves: pairs of seconds and changes (`save`). Here it is kept and shown.
    pub points: Vec<String>,
    /// The file in the working directory that SAVE writes, and that is read at the start (`dbfilename`).
    pub dbfilename: String,
    /// The file that is read at the start instead of that one; empty: none (`load`).
    pub load: String,
    /// Whether strings in it are compressed (`rdbcompression`).
    pub compression: bool,
    /// Whether it ends with a checksum (`rdbchecksum`).
    pub checksum: bool,
    /// Whether nothing is written while the last save in the background has failed (`stop-writes-on-bgsave-error`).
    pub stop_writes_on_error: bool,
    /// Microseconds by which BGSAVE takes longer for each key: for tests (`rdb-key-save-delay`).
    pub key_delay_us: i64,
}

impl Default for SaveParameters {
    /// Those of Redis.
    fn default() -> Self {
        SaveParameters {
            points: ["3600", "1", "300", "100", "60", "10000"].map(str::to_owned).into(),
            dbfilename: "dump.rdb".to_owned(),
            load: String::new(),
            compression: true,
            checksum: true,
            stop_writes_on_error: true,
            key_delay_us: 0,
        }
    }
}
