//! Moves of the clock, which the keyspace follows and the history records.

use crate::clock::{ClockChange, EngineClock};
use crate::locks;
use lockwheel_store::keyspace::Keyspace;
use lockwheel_store::time::{ClockError, ExpiryRule, Now};

/// The clock with the parts that follow its moves, as a capability.
#[derive(Debug)]
pub(crate) struct ClockMoves<'e> {
    pub(crate) clock: &'e mut EngineClock,
    pub(crate) keyspace: &'e mut Keyspace,
    /// Whether this server's history records moves of the clock: of several on one clock, the first does.
    pub(crate) is_recorded: bool,
}

impl ClockMoves<'_> {
    /// Moves both clocks by `us` microseconds, as a step of an advance with this rule.
    pub(crate) fn move_by(&mut self, us: u64, rule: ExpiryRule) {
        let before = self.clock.now();
        if self.clock.move_by(us) {
            self.keyspace.go_on_at(self.clock.now(), ExpiryRule::Reached);
            self.record(before);
            self.keyspace.note_advance();
        }
        // The rule also applies if the clock has not moved.
        self.keyspace.go_on_at(self.clock.now(), rule);
    }

    /// Changes the clock; passed deadlines fire afterwards. Fails, without a change, if a clock would leave its range.
    pub(crate) fn change(&mut self, change: &ClockChange) -> Result<(), ClockError> {
        let before = self.clock.now();
        self.clock.change(change)?;
        self.keyspace.go_on_at(self.clock.now(), change.rule());
        self.note_moved(before);
        Ok(())
    }

    /// Fires the deadlines left at this instant, for an advance that stopped within it when its server hung or went.
    pub(crate) fn fire_rest_of_instant(&mut self) {
        self.clock.fire_rest_of_instant(self.keyspace);
    }

    /// Records that the clock has moved from the instant `before`, which may be later than the present one.
    pub(crate) fn note_moved(&mut self, before: Now) {
        self.record(before);
        if self.clock.now().wall_us > before.wall_us {
            self.keyspace.note_advance();
        }
    }

    fn record(&mut self, before: Now) {
        let now = self.clock.now();
        if self.is_recorded && before.wall_ms() != now.wall_ms() {
            locks::clock_turned(self.keyspace, now, before.wall_ms(), now.wall_ms());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockwheel_store::time::{Clock, Mode};

    fn at(ms: u64) -> Now {
        Now { wall_us: ms as i64 * 1000, monotonic_us: ms * 1000 }
    }

    #[test]
    fn both_clocks_move_and_a_step_back_moves_only_the_wall_clock() {
        let mut keyspace = Keyspace::new(1, 7);
        let mut clock = EngineClock::new(Clock::new(Mode::Manual, at(100)), at(100));
        let mut moves = ClockMoves { clock: &mut clock, keyspace: &mut keyspace, is_recorded: false };
        moves.move_by(5000, ExpiryRule::Reached);
        assert_eq!((moves.clock.now().wall_ms(), moves.clock.now().monotonic_ms()), (105, 5));
        assert_eq!(moves.change(&ClockChange::Step(-50)), Ok(()));
        assert_eq!((moves.clock.now().wall_ms(), moves.clock.now().monotonic_ms()), (55, 5));
    }

    #[test]
    fn a_change_out_of_range_leaves_the_clock_unchanged() {
        let mut keyspace = Keyspace::new(1, 7);
        let mut clock = EngineClock::new(Clock::new(Mode::Manual, at(100)), at(100));
        let before = clock.now();
        let mut moves = ClockMoves { clock: &mut clock, keyspace: &mut keyspace, is_recorded: false };
        assert!(moves.change(&ClockChange::Step(i64::MAX)).is_err());
        assert_eq!(moves.clock.now(), before);
    }
}
