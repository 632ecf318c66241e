//! RDB, Redis' format of stored values: DUMP replies it, RESTORE reads it, and libraries of functions are stored in it.
//! The module knows values only. Nothing of the input is trusted, and no allocation depends on an announced number.

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
pub use save::{dump, dump_for_7_0, dump_for_any, dump_for_file, write_value, write_value_for_7_0};
pub use writer::Writer;

/// Marks of a length's first byte, and the kinds of strings that are not stored literally.
mod marks {
    /// The rest of the byte and the next byte are the length, big endian.
    pub(super) const LENGTH_14: u8 = 0x40;
    /// Four bytes follow, big endian.
    pub(super) const LENGTH_32: u8 = 0x80;
    /// Eight bytes follow, big endian.
    pub(super) const LENGTH_64: u8 = 0x81;
    /// A string that is the text of an integer of one byte.
    pub(super) const INT_8: u8 = 0xc0;
    /// A string that is the text of an integer of two bytes, little endian.
    pub(super) const INT_16: u8 = 0xc1;
    /// A string that is the text of an integer of four bytes, little endian.
    pub(super) const INT_32: u8 = 0xc2;
    /// A string compressed by LZF.
    pub(super) const LZF: u8 = 0xc3;
}

mod stream_flags {
    pub(super) const DELETED: i64 = 1;
    pub(super) const SHARED_FIELDS: i64 = 2;
}

#[cfg(test)]
mod tests;
