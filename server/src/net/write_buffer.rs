//! Output on its way to the socket.

use lockwheel_engine::clients::{ClientBuffers, Outbox};
use std::io::{self, IoSlice, Write};
use std::sync::Arc;

const SLICES: usize = 32;

/// The bytes written at a time. During a write, the count of unread output may be too low by this number.
const AT_A_TIME: usize = 256 * 1024;

pub(super) struct WriteBuffer {
    waiting: Outbox,
    /// Whether the socket is full because its client does not read.
    stuck: bool,
    /// Whether writing is held, as if the socket were full.
    held: bool,
    buffers: Arc<ClientBuffers>,
}

impl WriteBuffer {
    pub(super) fn new(buffers: Arc<ClientBuffers>) -> Self {
        WriteBuffer { waiting: Outbox::default(), stuck: false, held: false, buffers }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    pub(super) fn extend(&mut self, append: impl FnOnce(&mut Outbox)) {
        append(&mut self.waiting);
        self.record_len();
    }

    fn record_len(&self) {
        self.buffers.set_taken(&self.waiting);
    }

    /// Whether the socket was full at the last write, or writing is held.
    pub(super) fn is_stuck(&self) -> bool {
        self.stuck || self.held
    }

    pub(super) fn hold(&mut self, held: bool) {
        self.held = held;
    }

    /// Writes as much as the socket takes now.
    pub(super) fn write(&mut self, stream: &mut impl Write) -> io::Result<()> {
        if self.held {
            return Ok(());
        }
        if self.waiting.is_empty() {
            return flush(stream);
        }
        let result = self.try_write(stream);
        self.record_len();
        result
    }

    fn try_write(&mut self, stream: &mut impl Write) -> io::Result<()> {
        while !self.waiting.is_empty() {
            // A client may reply to what it has read before the call returns; those bytes must not count against it.
            self.buffers.set_unwritten(self.waiting.len().saturating_sub(AT_A_TIME));
            match write_some(&self.waiting, stream) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => self.waiting.take(count),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.stuck = true;
                    self.waiting.settle();
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.stuck = false;
        Ok(())
    }
}

/// Sends the bytes that an encrypted socket still holds, as far as there is room.
fn flush(stream: &mut impl Write) -> io::Result<()> {
    match stream.flush() {
        Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock) => Ok(()),
        flushed => flushed,
    }
}

/// Writes the first bytes: at most [`AT_A_TIME`] of a single piece, or whole pieces.
fn write_some(waiting: &Outbox, stream: &mut impl Write) -> io::Result<usize> {
    if let Some(only) = waiting.only_part() {
        return stream.write(&only[..only.len().min(AT_A_TIME)]);
    }
    let mut slices = [IoSlice::new(&[]); SLICES];
    let count = waiting.first(&mut slices);
    let mut len = 0;
    // A longer piece goes alone, since it is one whole message.
    let fit = slices[..count].iter().take_while(|slice| {
        len += slice.len();
        len <= AT_A_TIME
    });
    let count = fit.count().max(1);
    stream.write_vectored(&slices[..count])
}
