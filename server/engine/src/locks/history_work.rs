//! Long readings of the history. They are done in pieces, on a copy, so that others are served in between.

use super::history::{History, Ring};
use crate::spec::{Args, CommandError};
use lockwheel_resp::Reply;
use lockwheel_store::keyspace::Tx;
use std::fmt::Debug;

/// The maximum number of entries that a request reads at once.
pub(super) const MAX_AT_ONCE: usize = 4096;
/// The number of entries in a piece of a longer reading.
pub(super) const PIECE: usize = 1024;

/// The bytes of a reply that a piece writes for each of its entries. The rest is left to the next piece.
pub(super) const BYTES_PER_ENTRY: usize = 384;

/// The handler of a command that reads the history. It answers at once, or returns the work to be done in pieces.
pub(crate) type HistoryHandler =
    fn(&mut Tx<'_>, Args<'_>, &mut dyn Reply) -> Result<Option<Box<dyn HistoryWork>>, CommandError>;

/// A reading of the history that is done in pieces.
pub(crate) trait HistoryWork: Debug + Send {
    fn go_on(&mut self) -> bool;

    /// Writes the reply, after the last piece.
    fn write(&mut self, reply: &mut dyn Reply);

    /// Returns the memory of the copy and of the results in bytes. O(1).
    fn memory(&self) -> usize;
}

pub(super) trait Reading: Debug + Send + 'static {
    /// Examines `count` more entries. Returns whether the reading is complete.
    fn go_on(&mut self, ring: &Ring, count: usize) -> bool;

    /// Writes the reply, once the reading is complete.
    fn write(&mut self, ring: &Ring, reply: &mut dyn Reply);

    /// Returns the approximate memory of its output and state in bytes. O(1).
    fn memory(&self) -> usize;
}

#[derive(Debug)]
struct Copied<R> {
    ring: Ring,
    reading: R,
}

impl<R: Reading> HistoryWork for Copied<R> {
    fn go_on(&mut self) -> bool {
        self.reading.go_on(&self.ring, PIECE)
    }

    fn write(&mut self, reply: &mut dyn Reply) {
        self.reading.write(&self.ring, reply);
    }

    fn memory(&self) -> usize {
        self.ring.memory() + self.reading.memory()
    }
}

/// Reads a history of which `entries` entries must be examined: at once if they are few, else from a copy in pieces. A
/// long reading of few entries also continues in pieces.
pub(super) fn read(
    history: &mut History,
    entries: usize,
    mut reading: impl Reading,
    reply: &mut dyn Reply,
) -> Option<Box<dyn HistoryWork>> {
    if entries <= MAX_AT_ONCE && reading.go_on(history.ring(), 2 * MAX_AT_ONCE) {
        reading.write(history.ring(), reply);
        return None;
    }
    Some(Box::new(Copied { ring: history.take_to_read(), reading }))
}
