//! Output on its way to the socket.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes taken from the session and how many of them are written.
pub(super) struct Output {
    pub(super) bytes: Vec<u8>,
    written: usize,
    /// The socket has not taken all of it: its client does not read.
    stuck: bool,
    /// Where the session is told how much is left to write.
    unwritten: Arc<AtomicUsize>,
}

/// A buffer that has grown beyond this is given back once it is written.
const KEEP: usize = 64 * 1024;

impl Output {
    pub(super) fn new(unwritten: Arc<AtomicUsize>) -> Self {
        Output { bytes: Vec::new(), written: 0, stuck: false, unwritten }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Lets `append` add to what is still to be written.
    pub(super) fn extend(&mut self, append: impl FnOnce(&mut Vec<u8>)) {
        // What is written already is dropped when it is the larger part, so that moving the rest costs no more.
        if self.written > self.bytes.len() / 2 {
            self.bytes.drain(..self.written);
            self.written = 0;
        }
        append(&mut self.bytes);
        self.unwritten.store(self.bytes.len() - self.written, Ordering::Relaxed);
    }

    /// Whether the socket has refused to take all of it.
    pub(super) fn is_stuck(&self) -> bool {
        self.stuck
    }

    /// Writes as much as the socket takes now.
    pub(super) fn write(&mut self, stream: &mut impl Write) -> io::Result<()> {
        if self.bytes.is_empty() {
            return Ok(());
        }
        let result = self.try_write(stream);
        self.unwritten.store(self.bytes.len() - self.written, Ordering::Relaxed);
        result
    }

    fn try_write(&mut self, stream: &mut impl Write) -> io::Result<()> {
        while self.written < self.bytes.len() {
            match stream.write(&self.bytes[self.written..]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(n) => self.written += n,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.stuck = true;
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.written = 0;
        self.stuck = false;
        self.bytes.clear();
        if self.bytes.capacity() > KEEP {
            self.bytes = Vec::new();
        }
        Ok(())
    }
}
