//! Whole files: all keys of all databases and the libraries of functions.
//!
//! A file begins with the name of its format and the version, which are followed by parts, each of which begins with a
//! byte that says what it is: the type of a value, whose key comes before it, or one of the marks below. It ends with a
//! checksum of all of it.

mod read;
#[cfg(test)]
mod tests;
mod write;

pub use read::{FileError, FileReader, Part, early_library};
pub use write::{Access, FileWriter};

/// What a part of a file is, where it is no value.
pub mod marks {
    /// How many keys a slot of a cluster has.
    pub(super) const SLOT_INFO: u8 = 244;
    /// A library of functions: its text.
    pub const LIBRARY: u8 = 245;
    /// A library of Redis 7.0's release candidates.
    pub const EARLY_LIBRARY: u8 = 246;
    /// What a module keeps beside keys.
    pub(super) const MODULE: u8 = 247;
    /// For how many seconds the next key has not been accessed.
    pub(super) const IDLE: u8 = 248;
    /// How often the next key is accessed.
    pub(super) const FREQUENCY: u8 = 249;
    /// A name and a value that say something of the file.
    pub(super) const ABOUT: u8 = 250;
    /// How many keys, and how many with a deadline, the database has.
    pub(super) const SIZES: u8 = 251;
    /// The deadline of the next key, in milliseconds.
    pub(super) const DEADLINE_MS: u8 = 252;
    /// The same in seconds.
    pub(super) const DEADLINE_SECONDS: u8 = 253;
    /// The database of the keys that follow.
    pub(super) const DATABASE: u8 = 254;
    /// The end, before the checksum.
    pub(super) const END: u8 = 255;
}

/// How the files of Redis begin, before four digits of the version.
const REDIS: &[u8] = b"REDIS";
/// How those of Valkey do, before three.
const VALKEY: &[u8] = b"VALKEY";
/// Bytes of this and of the version.
const HEADER: usize = 9;
