//! The pieces of an advance. Other clients are answered between two pieces.

/// The maximum number of deadlines in one piece: about a tenth of a second's work.
const MAX_FIRED: u64 = 131_072;

/// The maximum duration of a piece of servers that advance together, in microseconds of real time.
const MAX_JOINT_US: u64 = 100_000;

/// The maximum duration of a piece of a single server, in microseconds of real time. A deadline may take long if many
/// clients listen. A machine that is merely busy does not divide a short advance.
const MAX_US: u64 = 1_000_000;

/// The number of deadlines, or the equivalent amount of work, after which a single server reads the real time.
const DEADLINES_PER_READING: u64 = 16;

/// The budget of the present piece.
#[derive(Clone, Debug)]
pub(super) struct PieceBudget {
    /// The number of deadlines that have fired in this piece. `None` if the advance is one piece.
    fired: Option<u64>,
    /// The beginning of the piece on the system's monotonic clock, in microseconds.
    began_us: u64,
    /// The number of deadlines since the last reading of the real time.
    unread: u64,
}

impl PieceBudget {
    /// The budget of an advance that is not divided into pieces.
    pub(super) const UNLIMITED: PieceBudget = PieceBudget { fired: None, began_us: 0, unread: 0 };
    /// The budget of an advance that is divided into pieces.
    pub(super) const LIMITED: PieceBudget = PieceBudget { fired: Some(0), began_us: 0, unread: 0 };

    pub(super) fn is_limited(&self) -> bool {
        self.fired.is_some()
    }

    /// Returns the number of deadlines that may still fire in this piece.
    pub(super) fn left(&self) -> usize {
        let left = self.fired.map(|fired| MAX_FIRED.saturating_sub(fired).max(1));
        left.and_then(|most| usize::try_from(most).ok()).unwrap_or(usize::MAX)
    }

    /// Subtracts deadlines, or an equivalent amount of work.
    pub(super) fn spend(&mut self, deadlines: u64) {
        self.fired = self.fired.map(|fired| fired + deadlines);
        self.unread = self.unread.saturating_add(deadlines);
    }

    /// Whether enough deadlines have fired that the real time must be read again.
    pub(super) fn is_reading_due(&self) -> bool {
        self.unread >= DEADLINES_PER_READING
    }

    /// Records the beginning of the piece on the system's monotonic clock.
    pub(super) fn begin_at(&mut self, now_us: u64) {
        self.began_us = now_us;
        self.unread = 0;
    }

    /// Records the duration of the piece until `now_us` of that clock. `is_joint`: several servers advance together.
    pub(super) fn last_until(&mut self, now_us: u64, is_joint: bool) {
        let most = if is_joint { MAX_JOINT_US } else { MAX_US };
        if now_us.saturating_sub(self.began_us) >= most {
            self.spend(MAX_FIRED);
        }
        self.unread = 0;
    }

    pub(super) fn renew(&mut self) {
        self.fired = self.fired.map(|_| 0);
    }

    /// Whether the piece has been used up. If so, the next one begins.
    pub(super) fn take_spent(&mut self) -> bool {
        let is_spent = self.fired.is_some_and(|fired| fired >= MAX_FIRED);
        if is_spent {
            self.renew();
        }
        is_spent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_is_used_up_by_deadlines_or_time() {
        let mut piece = PieceBudget::LIMITED;
        assert_eq!(piece.left() as u64, MAX_FIRED);
        piece.spend(MAX_FIRED - 1);
        assert!(piece.left() == 1 && !piece.take_spent());
        piece.spend(1);
        assert!(piece.take_spent() && !piece.take_spent());
        for (is_joint, most) in [(true, MAX_JOINT_US), (false, MAX_US)] {
            piece.begin_at(1000);
            piece.last_until(most, is_joint);
            assert!(!piece.take_spent());
            piece.last_until(1000 + most, is_joint);
            assert!(piece.take_spent());
        }
    }

    #[test]
    fn a_piece_reads_the_time_after_some_deadlines_or_much_work() {
        let mut piece = PieceBudget::LIMITED;
        (1..DEADLINES_PER_READING).for_each(|_| piece.spend(1));
        assert!(!piece.is_reading_due());
        piece.spend(1);
        assert!(piece.is_reading_due());
        piece.last_until(1, false);
        assert!(!piece.is_reading_due());
        piece.spend(5000);
        assert!(piece.is_reading_due());
    }

    #[test]
    fn an_unlimited_piece_is_never_used_up() {
        let mut piece = PieceBudget::UNLIMITED;
        piece.spend(u64::MAX / 2);
        piece.last_until(u64::MAX, true);
        assert_eq!((piece.left(), piece.take_spent()), (usize::MAX, false));
    }
}
