//! Readings of the history that take long: they are done in pieces, on a copy, so that others are served in between.

use super::history::{History, Ring};
use crate::spec::{Args, CommandError};
use lockwheel_resp::Reply;
use lockwheel_store::keyspace::Tx;
use std::fmt::Debug;

/// The most entries that a request reads at once.
pub(super) const MAX_AT_ONCE: usize = 4096;
/// Entries that a piece of a longer reading has.
pub(super) const PIECE: usize = 1024;

/// Bytes of a reply that a piece writes for each of its entries: more are left to the next piece.
pub(super) const BYTES_PER_ENTRY: usize = 384;

/// The handler of a command that reads the history: it answers, or leaves the rest to be done in pieces.
pub(crate) type HistoryHandler =
    fn(&mut Tx<'_>, Args<'_>, &mut dyn Reply) -> Result<Option<Box<dyn HistoryWork>>, CommandError>;

/// A reading of the history that is done in pieces.
pub(crate) trait HistoryWork: Debug + Send {
    /// Does a piece; whether that was the last.
    fn go_on(&mut self) -> bool;

    /// Writes the reply, after the last piece.
    fn write(&mut self, reply: &mut dyn Reply);

    /// Bytes of the copy that is read, and of what has come of it. O(1).
    fn memory(&self) -> usize;
}

/// A reader of a history.
pub(super) trait Reading: Debug + Send + 'static {
    /// Looks at so many entries more; whether it is done.
    fn go_on(&mut self, ring: &Ring, count: usize) -> bool;

    /// Writes the reply, when it is done.
    fn write(&mut self, ring: &Ring, reply: &mut dyn Reply);

    /// Bytes of memory of what it has written and knows by now, about. O(1).
    fn memory(&self) -> usize;
}

/// A reading with its copy of the history.
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

/// Reads a history of which so many entries are to be looked at: at once if they are few, else a copy in pieces. What
/// takes long of few entries goes on as that of many.
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
