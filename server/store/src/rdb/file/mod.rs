//! Whole files: all keys of all databases and the libraries of functions.
//!
//! A file begins with the name of its format and the version. Each part begins with a byte: one of the marks below, or
//! the type of a value, before a key and the value. The file ends with a checksum of all of it.

mod read;
#[cfg(test)]
mod tests;
mod write;

pub use read::{FileError, FileReader, Part, early_library};
pub use write::{Access, FileWriter};

/// The kinds of parts of a file that are not values.
pub mod marks {
    /// The number of keys of a cluster's slot.
    pub(super) const SLOT_INFO: u8 = 244;
    /// The text of a library of functions.
    pub const LIBRARY: u8 = 245;
    /// A library of Redis 7.0's release candidates.
    pub const EARLY_LIBRARY: u8 = 246;
    /// Data that a module keeps beside keys.
    pub(super) const MODULE: u8 = 247;
    /// The seconds since the last access of the next key.
    pub(super) const IDLE: u8 = 248;
    /// The access frequency of the next key.
    pub(super) const FREQUENCY: u8 = 249;
    /// A name and a value that describe the file.
    pub(super) const ABOUT: u8 = 250;
    /// The number of keys of the database, and the number of them that have a deadline.
    pub(super) const SIZES: u8 = 251;
    /// The deadline of the next key, in milliseconds.
    pub(super) const DEADLINE_MS: u8 = 252;
    /// The deadline of the next key, in seconds.
    pub(super) const DEADLINE_SECONDS: u8 = 253;
    /// The database of the keys that follow.
    pub(super) const DATABASE: u8 = 254;
    /// The end, before the checksum.
    pub(super) const END: u8 = 255;
}

/// The beginning of Redis' files, before four digits of the version.
const REDIS: &[u8] = b"REDIS";
/// The beginning of Valkey's files, before three digits of the version.
const VALKEY: &[u8] = b"VALKEY";
/// Bytes of the beginning and of the version.
const HEADER: usize = 9;
