//! The bounds of the deadlines that fire before one batch.

/// The most deadlines, for less than a millisecond, before one batch while time runs, or after a hang during which
/// others advanced the clock. The rest fire before the next batches. An advance fires all.
pub(crate) const PIECE: usize = 1000;

/// The longest such piece, in nanoseconds. A deadline takes long if it has many listeners.
const MAX_PIECE_NS: u64 = 5_000_000;

/// The number of deadlines between two measurements of a piece's duration.
const DEADLINES_A_READING: usize = 16;

/// The deadlines that may still fire before a batch. A piece of at most [`PIECE`] deadlines is also limited in time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FiringPiece {
    left: usize,
    is_timed: bool,
    looks: usize,
}

impl FiringPiece {
    #[inline]
    pub(crate) fn new(most: usize) -> Self {
        FiringPiece { left: most, is_timed: most <= PIECE, looks: 0 }
    }

    #[inline]
    pub(crate) fn left(&self) -> usize {
        self.left
    }

    /// Counts deadlines that have fired. `took_ns` returns the time since the piece began, in nanoseconds, and is
    /// called only now and then. A piece that has taken too long ends.
    pub(crate) fn fired(&mut self, deadlines: usize, took_ns: impl FnOnce() -> u64) {
        self.left -= deadlines;
        self.looks += 1;
        let looks = self.is_timed && self.looks.is_multiple_of(DEADLINES_A_READING);
        if looks && took_ns() > MAX_PIECE_NS {
            self.left = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of deadlines that fire in a piece if each takes `each_ns` nanoseconds.
    fn fired(most: usize, of: usize, each_ns: u64) -> usize {
        let mut piece = FiringPiece::new(most);
        let mut fired = 0;
        while fired < of && piece.left() > 0 {
            fired += 1;
            piece.fired(1, || fired as u64 * each_ns);
        }
        fired
    }

    #[test]
    fn a_piece_ends_after_its_number_of_deadlines_or_its_time() {
        assert_eq!(fired(PIECE, 3 * PIECE, 1), PIECE);
        assert_eq!(fired(PIECE, 3 * PIECE, MAX_PIECE_NS), DEADLINES_A_READING);
        assert_eq!(fired(0, 10, 1), 0);
    }

    #[test]
    fn without_a_limit_every_due_deadline_fires() {
        assert_eq!(fired(usize::MAX, 3 * PIECE, MAX_PIECE_NS), 3 * PIECE);
    }
}
