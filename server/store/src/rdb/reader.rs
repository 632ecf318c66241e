//! Reading bytes, lengths and strings.

use super::{lzf, marks};
use crate::values::IntText;
use lockwheel_resp::allocation;
use std::borrow::Cow;

/// The error of bytes that are not a value: truncated, or not allowed by the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Corrupt;

/// Reads values in the format, one after another.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
    /// The most bytes of a decompressed string.
    max_string: usize,
    is_short: bool,
    /// Whether memory for a string was short.
    lacks_memory: bool,
}

impl<'a> Reader<'a> {
    /// A reader of these bytes.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, max_string: usize::MAX, is_short: false, lacks_memory: false }
    }

    /// Limits the reader to strings that decompress to at most `max_string` bytes.
    #[must_use]
    pub fn with_max_string(self, max_string: usize) -> Self {
        Self { max_string, ..self }
    }

    /// Whether a string was taken for a damaged one because memory for it was short.
    pub fn lacks_memory(&self) -> bool {
        self.lacks_memory
    }

    /// Whether everything has been read.
    pub fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }

    /// Whether a read needed more bytes than are left.
    pub fn is_short(&self) -> bool {
        self.is_short
    }

    /// Returns the error of a read that needs more bytes than are left.
    pub fn short(&mut self) -> Corrupt {
        self.is_short = true;
        Corrupt
    }

    /// The number of bytes that are left.
    pub fn left(&self) -> usize {
        self.rest.len()
    }

    /// Reads the next `count` bytes.
    ///
    /// # Errors
    /// Returns [`Corrupt`] if fewer are left.
    pub fn bytes(&mut self, count: usize) -> Result<&'a [u8], Corrupt> {
        let (bytes, rest) = self.rest.split_at_checked(count).ok_or_else(|| self.short())?;
        self.rest = rest;
        Ok(bytes)
    }

    /// Reads the next `N` bytes.
    ///
    /// # Errors
    /// Returns [`Corrupt`] if fewer are left.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Corrupt> {
        let (bytes, rest) = self.rest.split_first_chunk().ok_or_else(|| self.short())?;
        self.rest = rest;
        Ok(*bytes)
    }

    /// Reads the next byte.
    ///
    /// # Errors
    /// Returns [`Corrupt`] if none is left.
    pub fn byte(&mut self) -> Result<u8, Corrupt> {
        self.array().map(|[byte]| byte)
    }

    /// Reads a length or count. The announced data need not exist.
    ///
    /// # Errors
    /// Returns [`Corrupt`] if there is no valid length.
    pub fn length(&mut self) -> Result<usize, Corrupt> {
        let first = self.byte()?;
        self.length_after(first)
    }

    /// Reads a number of 64 bits, in the form of a length.
    ///
    /// # Errors
    /// Returns [`Corrupt`] if there is no valid number.
    pub fn number(&mut self) -> Result<u64, Corrupt> {
        let first = self.byte()?;
        self.number_after(first)
    }

    fn length_after(&mut self, first: u8) -> Result<usize, Corrupt> {
        usize::try_from(self.number_after(first)?).map_err(|_| Corrupt)
    }

    fn number_after(&mut self, first: u8) -> Result<u64, Corrupt> {
        Ok(match first {
            0..marks::LENGTH_14 => u64::from(first),
            marks::LENGTH_14..marks::LENGTH_32 => {
                u64::from(u16::from_be_bytes([first & !marks::LENGTH_14, self.byte()?]))
            }
            marks::LENGTH_32 => u64::from(u32::from_be_bytes(self.array()?)),
            marks::LENGTH_64 => u64::from_be_bytes(self.array()?),
            _ => return Err(Corrupt),
        })
    }

    /// Reads a string, copied only if not stored literally, and at most 88 times as long as stored.
    ///
    /// # Errors
    /// Returns [`Corrupt`] if there is no valid string.
    pub fn string(&mut self) -> Result<Cow<'a, [u8]>, Corrupt> {
        let integer = match self.byte()? {
            marks::INT_8 => i64::from(i8::from_le_bytes(self.array()?)),
            marks::INT_16 => i64::from(i16::from_le_bytes(self.array()?)),
            marks::INT_32 => i64::from(i32::from_le_bytes(self.array()?)),
            marks::LZF => return self.compressed(),
            first => {
                let length = self.length_after(first)?;
                return self.bytes(length).map(Cow::Borrowed);
            }
        };
        Ok(Cow::Owned(IntText::new(integer).to_vec()))
    }

    fn compressed(&mut self) -> Result<Cow<'a, [u8]>, Corrupt> {
        let (compressed, len) = (self.length()?, self.length()?);
        let compressed = self.bytes(compressed)?;
        if len > self.max_string {
            return Err(Corrupt);
        }
        let text = lzf::decompress(compressed, len);
        self.lacks_memory |= text.is_none()
            && len <= lzf::largest_expansion(compressed.len())
            && allocation::check(len).is_err();
        text.map(Cow::Owned).ok_or(Corrupt)
    }
}
