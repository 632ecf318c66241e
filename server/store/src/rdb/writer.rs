//! Writing bytes, lengths and strings.

use super::lzf::Compressor;
use super::{marks, payload};
use crate::values::parse_integer;
use lockwheel_resp::allocation;

/// The length up to which strings are not worth compressing.
const SHORT: usize = 20;
/// The length up to which the compression of a string that is soon read again takes longer than its bytes would.
const SHORT_IN_STREAM: usize = 1024;
/// The most bytes of a length or an integer with its mark.
const LENGTH: usize = 9;
/// The bytes of a payload's footer.
const FOOTER: usize = 10;
/// The length of the longest text that is stored as an integer.
const INTEGER: usize = 11;

/// Writes values in the format, one after another. Each writing method unwinds if memory is short.
#[derive(Debug)]
pub struct Writer {
    out: Vec<u8>,
    compressor: Compressor,
    compressed: Vec<u8>,
    /// The length up to which strings are not compressed.
    max_plain: usize,
    /// In a file, the key of the next value.
    key: Option<Box<[u8]>>,
}

impl Default for Writer {
    fn default() -> Self {
        Self::new()
    }
}

impl Writer {
    /// Makes a writer without content.
    pub fn new() -> Self {
        let (out, compressor, compressed) = (Vec::new(), Compressor::default(), Vec::new());
        Writer { out, compressor, compressed, max_plain: SHORT, key: None }
    }

    /// Makes a writer for a value that another server soon reads.
    pub(super) fn for_stream() -> Self {
        Writer { max_plain: SHORT_IN_STREAM, ..Writer::new() }
    }

    /// The bytes written so far.
    pub fn written(&self) -> &[u8] {
        &self.out
    }

    /// Compresses no strings from now on.
    pub(super) fn compress_nothing(&mut self) {
        self.max_plain = usize::MAX;
    }

    /// The bytes written.
    pub(super) fn into_written(self) -> Vec<u8> {
        self.out
    }

    /// Sets the key of the next value.
    pub(super) fn key(&mut self, key: &[u8]) {
        self.key = Some(allocation::copy(key));
    }

    /// Writes the form of the value that follows. In a file, the key follows the form.
    pub(super) fn form(&mut self, form: u8) {
        self.byte(form);
        if let Some(key) = self.key.take() {
            self.string(&key);
        }
    }

    /// The bytes written, with the footer of this version. O(written).
    pub fn finish(self, version: u16) -> Vec<u8> {
        let mut out = self.out;
        allocation::reserve(&mut out, FOOTER);
        payload::seal(&mut out, version);
        out
    }

    /// Writes one byte, such as the type of the value that follows.
    pub fn byte(&mut self, byte: u8) {
        allocation::reserve(&mut self.out, 1);
        self.out.push(byte);
    }

    /// Writes bytes literally.
    pub fn bytes(&mut self, bytes: &[u8]) {
        allocation::append(&mut self.out, bytes);
    }

    /// Writes a length or count, in the shortest form.
    pub fn length(&mut self, length: usize) {
        allocation::reserve(&mut self.out, LENGTH);
        // Each condition bounds the length, so the casts lose nothing.
        if length < 1 << 6 {
            self.out.push(length as u8);
        } else if length < 1 << 14 {
            self.out.extend([marks::LENGTH_14 | (length >> 8) as u8, length as u8]);
        } else if let Ok(length) = u32::try_from(length) {
            self.out.push(marks::LENGTH_32);
            self.out.extend(length.to_be_bytes());
        } else {
            self.out.push(marks::LENGTH_64);
            self.out.extend((length as u64).to_be_bytes());
        }
    }

    /// Writes a number of 64 bits, in the form of a length.
    pub fn number(&mut self, number: u64) {
        match usize::try_from(number) {
            Ok(number) => self.length(number),
            Err(_) => {
                allocation::reserve(&mut self.out, LENGTH);
                self.out.push(marks::LENGTH_64);
                self.out.extend(number.to_be_bytes());
            }
        }
    }

    /// Writes a string: as an integer if it is the short text of one, compressed if that is shorter.
    pub fn string(&mut self, text: &[u8]) {
        let integer = if text.len() <= INTEGER { parse_integer(text) } else { None };
        if !integer.is_some_and(|value| self.integer(value)) && !self.compress(text) {
            // Includes the footer, for which a large string would otherwise be moved.
            allocation::reserve(&mut self.out, text.len() + LENGTH + FOOTER);
            self.length(text.len());
            self.out.extend_from_slice(text);
        }
    }

    /// Writes an integer of at most four bytes; returns whether it did. A larger one is not written.
    fn integer(&mut self, value: i64) -> bool {
        allocation::reserve(&mut self.out, LENGTH);
        if let Ok(value) = i8::try_from(value) {
            self.out.push(marks::INT_8);
            self.out.extend(value.to_le_bytes());
        } else if let Ok(value) = i16::try_from(value) {
            self.out.push(marks::INT_16);
            self.out.extend(value.to_le_bytes());
        } else if let Ok(value) = i32::try_from(value) {
            self.out.push(marks::INT_32);
            self.out.extend(value.to_le_bytes());
        } else {
            return false;
        }
        true
    }

    /// Writes a string compressed, if that is shorter; returns whether it did.
    fn compress(&mut self, text: &[u8]) -> bool {
        if text.len() <= self.max_plain {
            return false;
        }
        self.compressed.clear();
        let is_shorter = self.compressor.compress(text, text.len() - 4, &mut self.compressed);
        if is_shorter {
            allocation::reserve(&mut self.out, self.compressed.len() + 2 * LENGTH + 1);
            self.out.push(marks::LZF);
            self.length(self.compressed.len());
            self.length(text.len());
            self.out.extend_from_slice(&self.compressed);
        }
        is_shorter
    }
}
