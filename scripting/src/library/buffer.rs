//! A buffer for the result of a library function.

use super::frame::Frame;
use super::raise::Raise;
use std::ops::Deref;

/// The number of bytes between two checks whether the script must end.
const PIECE: usize = 1 << 14;

/// A buffer that grows within the interpreter's limit of memory, in addition to the interpreter's own memory. The next
/// buffer reuses its space.
pub(crate) struct Buffer<'f> {
    frame: &'f Frame<'f>,
    bytes: Vec<u8>,
    /// The length at which the next check is due.
    poll_at: usize,
}

impl<'f> Buffer<'f> {
    /// Makes an empty buffer for one call.
    pub(crate) fn new(frame: &'f Frame<'f>) -> Buffer<'f> {
        let mut bytes = frame.context().text.take();
        bytes.clear();
        Buffer { frame, bytes, poll_at: PIECE }
    }

    /// Empties the buffer.
    pub(crate) fn clear(&mut self) {
        self.frame.context().give_room_back(self.bytes.len());
        self.bytes.clear();
        self.poll_at = PIECE;
    }

    /// Appends bytes. Returns an error if memory is short, or if the script must end. O(length).
    #[inline]
    pub(crate) fn append(&mut self, bytes: &[u8]) -> Result<(), Raise> {
        if bytes.len() > PIECE {
            return bytes.chunks(PIECE).try_for_each(|piece| self.append(piece));
        }
        if !self.frame.context().take_room(bytes.len()) {
            return Err(Raise::error(b"not enough memory".as_slice()));
        }
        self.bytes.try_reserve(bytes.len()).map_err(|_| Raise::memory())?;
        self.bytes.extend_from_slice(bytes);
        if self.bytes.len() >= self.poll_at {
            self.poll_at = self.bytes.len() + PIECE;
            self.frame.poll()?;
        }
        Ok(())
    }
}

impl Buffer<'_> {
    /// Appends several texts in turn. O(length).
    #[inline]
    pub(crate) fn append_all<const N: usize>(&mut self, texts: [&[u8]; N]) -> Result<(), Raise> {
        let len = texts.iter().map(|text| text.len()).sum();
        if len > PIECE || self.bytes.len() + len >= self.poll_at || !self.frame.context().take_room(len) {
            return texts.iter().try_for_each(|text| self.append(text));
        }
        self.bytes.try_reserve(len).map_err(|_| Raise::memory())?;
        texts.iter().for_each(|text| self.bytes.extend_from_slice(text));
        Ok(())
    }
}

impl Deref for Buffer<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Buffer<'_> {
    fn drop(&mut self) {
        let context = self.frame.context();
        context.give_room_back(self.bytes.len());
        context.text.set(std::mem::take(&mut self.bytes));
    }
}
