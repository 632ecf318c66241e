//! Redis' format of stored values, RDB: what DUMP answers, RESTORE reads, and libraries of functions are kept as.
//!
//! It knows values alone. What it reads may come from anybody: nothing is trusted, and nothing allocates by a number
//! that was only announced.

mod crc64;
pub mod file;
mod listpack;
mod load;
mod lzf;
pub mod payload;
mod reader;
mod save;
mod types;
mod writer;
mod ziplist;
mod zipmap;

pub use load::read_value;
pub use reader::{Corrupt, Reader};
pub use save::{dump, dump_for_7_0, dump_for_any, write_value, write_value_for_7_0};
pub use writer::Writer;

/// Marks of a length's first byte, and the kinds of strings that are not stored as they are.
mod marks {
    /// The rest of the byte and the next are the length, big endian.
    pub(super) const LENGTH_14: u8 = 0x40;
    /// Four bytes follow, big endian.
    pub(super) const LENGTH_32: u8 = 0x80;
    /// Eight bytes follow, big endian.
    pub(super) const LENGTH_64: u8 = 0x81;
    /// A string that is the text of an integer of one byte.
    pub(super) const INT_8: u8 = 0xc0;
    /// The same of two bytes, little endian.
    pub(super) const INT_16: u8 = 0xc1;
    /// The same of four bytes, little endian.
    pub(super) const INT_32: u8 = 0xc2;
    /// A string compressed by LZF.
    pub(super) const LZF: u8 = 0xc3;
}

/// What is said of a stream's entry.
mod stream_flags {
    /// It is deleted.
    pub(super) const DELETED: i64 = 1;
    /// Its fields are those of its node.
    pub(super) const SHARED_FIELDS: i64 = 2;
}

#[cfg(test)]
mod tests;
