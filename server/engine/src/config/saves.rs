//! The parameters of files of saves.

/// The parameters of files of saves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SaveParameters {
    /// The conditions under which Redis saves (`save`): pairs of seconds and changes, only kept and shown here.
    pub points: Vec<String>,
    /// The file, in the working directory, that SAVE writes and that is read at the start (`dbfilename`).
    pub dbfilename: String,
    /// The file that is read at the start instead of `dbfilename`. Empty: none (`load`).
    pub load: String,
    /// Whether strings in the file are compressed (`rdbcompression`).
    pub compression: bool,
    /// Whether the file ends with a checksum (`rdbchecksum`).
    pub checksum: bool,
    /// Whether writes are refused if the last background save has failed (`stop-writes-on-bgsave-error`).
    pub stop_writes_on_error: bool,
    /// Extra microseconds that BGSAVE takes for each key, for tests (`rdb-key-save-delay`).
    pub key_delay_us: i64,
    /// Extra microseconds that the load of the data takes for each key, for tests. A negative number: a microsecond for
    /// so many keys (`key-load-delay`).
    pub load_delay_us: i64,
}

impl Default for SaveParameters {
    /// The defaults of Redis.
    fn default() -> Self {
        SaveParameters {
            points: ["3600", "1", "300", "100", "60", "10000"].map(str::to_owned).into(),
            dbfilename: "dump.rdb".to_owned(),
            load: String::new(),
            compression: true,
            checksum: true,
            stop_writes_on_error: true,
            key_delay_us: 0,
            load_delay_us: 0,
        }
    }
}
