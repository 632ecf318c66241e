//! Writing of a file.

use super::{REDIS, marks};
use crate::rdb::crc64::crc64_on;
use crate::rdb::{Writer, payload, write_value, write_value_for_7_0};
use crate::values::Value;

/// The accesses of a key, as a file records them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Not recorded.
    Unknown,
    /// The seconds since the last access.
    Idle(u64),
    /// The access frequency: about the logarithm of the number of accesses.
    Frequency(u8),
}

/// Writes a file, one part after another.
#[derive(Debug)]
pub struct FileWriter {
    writer: Writer,
    write_value: fn(&Value, &mut Writer),
    /// The database of the next keys.
    db: Option<usize>,
    has_checksum: bool,
    /// The checksum of the first `summed` bytes.
    checksum: u64,
    summed: usize,
}

/// The number of bytes summed at once, so that no client waits for the sum of a large file.
const SUMMED_AT_ONCE: usize = 64 << 10;

impl FileWriter {
    /// Begins a file with these names and values that describe it. It ends with a checksum if `has_checksum`.
    pub fn new(about: &[(&str, &[u8])], has_checksum: bool) -> Self {
        FileWriter::of_version(payload::VERSION_7_2, write_value, about, has_checksum)
    }

    /// Begins a file for a server as old as Redis 7.0. Data that such a server does not support is left out.
    pub fn for_7_0(about: &[(&str, &[u8])], has_checksum: bool) -> Self {
        FileWriter::of_version(payload::VERSION_7_0, write_value_for_7_0, about, has_checksum)
    }

    fn of_version(
        version: u16,
        write_value: fn(&Value, &mut Writer),
        about: &[(&str, &[u8])],
        has_checksum: bool,
    ) -> Self {
        let mut writer = Writer::new();
        writer.bytes(REDIS);
        writer.bytes(format!("{version:04}").as_bytes());
        for (name, value) in about {
            writer.byte(marks::ABOUT);
            writer.string(name.as_bytes());
            writer.string(value);
        }
        FileWriter { writer, write_value, db: None, has_checksum, checksum: 0, summed: 0 }
    }

    /// Compresses no strings from now on.
    pub fn compress_nothing(&mut self) {
        self.writer.compress_nothing();
    }

    /// Writes a library of functions. O(text).
    pub fn library(&mut self, text: &[u8]) {
        self.writer.byte(marks::LIBRARY);
        self.writer.string(text);
    }

    /// Begins a database with `keys` keys, of which `with_deadline` have a deadline. Its keys come next.
    pub fn database(&mut self, db: usize, keys: usize, with_deadline: usize) {
        self.select(db);
        self.writer.byte(marks::SIZES);
        self.writer.length(keys);
        self.writer.length(with_deadline);
    }

    fn select(&mut self, db: usize) {
        if self.db != Some(db) {
            self.db = Some(db);
            self.writer.byte(marks::DATABASE);
            self.writer.length(db);
        }
    }

    /// Writes a key, with its deadline in wall milliseconds. O(value).
    pub fn key(&mut self, db: usize, key: &[u8], deadline_ms: Option<i64>, access: Access, value: &Value) {
        self.select(db);
        if let Some(deadline_ms) = deadline_ms {
            self.writer.byte(marks::DEADLINE_MS);
            self.writer.bytes(&deadline_ms.to_le_bytes());
        }
        match access {
            Access::Unknown => {}
            Access::Idle(seconds) => {
                self.writer.byte(marks::IDLE);
                self.writer.number(seconds);
            }
            Access::Frequency(frequency) => self.writer.bytes(&[marks::FREQUENCY, frequency]),
        }
        self.writer.key(key);
        (self.write_value)(value, &mut self.writer);
        if self.bytes_written() - self.summed >= SUMMED_AT_ONCE {
            self.sum();
        }
    }

    fn sum(&mut self) {
        if self.has_checksum {
            self.checksum = crc64_on(self.checksum, &self.writer.written()[self.summed..]);
        }
        self.summed = self.bytes_written();
    }

    /// The number of bytes that have been written.
    pub fn bytes_written(&self) -> usize {
        self.writer.written().len()
    }

    /// Finishes the file. O(1), except for the checksum of the last keys.
    pub fn finish(mut self) -> Vec<u8> {
        self.writer.byte(marks::END);
        self.sum();
        self.writer.bytes(&self.checksum.to_le_bytes());
        self.writer.into_written()
    }
}
