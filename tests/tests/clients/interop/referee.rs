//! The members inside a section, as the clients themselves report them: a tested server's own statements prove nothing.
//!
//! Sections come in rounds: no member begins its next one before all have entered theirs. So only its predecessor can
//! wake the last member of a round. No later wake-up makes up for a missed one: all members stall.

use crate::interop::window::Windows;
use std::fmt::Write;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The side of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Native,
    Redisson,
}

/// The rule for the members inside.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Rule {
    /// At most this number at once.
    Within(usize),
    /// One that writes, or any number that read.
    ReadWrite,
    /// One member at once, each with a greater token than all before it.
    Fenced,
    /// Waiting members pass once this number have counted down, and never before.
    Latch(u64),
    /// This number of permits in each interval; rounds are not enforced.
    Rate(usize, Duration),
}

impl Rule {
    /// The number of turns by which a member may be ahead of the slowest.
    fn ahead(self) -> u64 {
        match self {
            // The number suffices for all to compete for the same permits, and is too small for one side to take them
            // all.
            Rule::Rate(..) => 20,
            _ => 0,
        }
    }
}

/// The way in which a member is inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Alone,
    Shared,
    Token(u64),
    /// Past the latch for which it has waited.
    Awaited,
    /// Has performed its part of this round; inside of nothing.
    Done,
}

/// The activities of all members of one object.
#[derive(Debug)]
pub(crate) struct Referee {
    rule: Rule,
    /// The state of each member.
    turns: u64,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    seats: Vec<Seat>,
    inside: Vec<(usize, Way)>,
    last_token: u64,
    countdowns: u64,
    passes: u64,
    /// The number of entries by the other side than the previous one.
    changes: u64,
    last_side: Option<Side>,
    windows: Windows,
    faults: Vec<String>,
    moved: Instant,
    failed: bool,
    stopped: bool,
}

#[derive(Debug)]
struct Seat {
    side: Side,
    taken: bool,
    entered: u64,
    asked: Instant,
    longest: Duration,
    overslept: u64,
    ended: bool,
}

/// A wait of this length has missed its wake-up: hundreds of other sections come between.
const OVERSLEPT: Duration = Duration::from_secs(8);

/// The result of the run.
#[derive(Debug)]
pub(crate) struct Summary {
    pub(crate) native: u64,
    pub(crate) redisson: u64,
    pub(crate) changes: u64,
    pub(crate) longest: Duration,
    /// The number of waits that ended only with another member's lease.
    pub(crate) overslept: u64,
    /// The number of native waits among these.
    pub(crate) overslept_natively: u64,
    pub(crate) faults: Vec<String>,
}

impl Referee {
    /// Creates a referee for members of these sides.
    pub(crate) fn new(rule: Rule, turns: u64, sides: &[Side]) -> Referee {
        let now = Instant::now();
        let seat = |&side: &Side| Seat {
            side,
            taken: false,
            entered: 0,
            asked: now,
            longest: Duration::ZERO,
            overslept: 0,
            ended: false,
        };
        let state = State {
            seats: sides.iter().map(seat).collect(),
            inside: Vec::new(),
            last_token: 0,
            countdowns: 0,
            passes: 0,
            changes: 0,
            last_side: None,
            windows: Windows::default(),
            faults: Vec::new(),
            moved: now,
            failed: false,
            stopped: false,
        };
        Referee { rule, turns, state: Mutex::new(state), changed: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A member that panicked has reported the reason; the others end by themselves.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of a free seat of this side.
    pub(crate) fn join(&self, side: Side) -> usize {
        let mut state = self.state();
        let free = state.seats.iter().position(|seat| seat.side == side && !seat.taken);
        let free = free.expect("there is a seat for each member");
        state.seats[free].taken = true;
        free
    }

    /// Waits until the member may try again. Returns the number of its turn, or `None` if none is left.
    pub(crate) fn turn(&self, member: usize) -> Option<u64> {
        let mut state = self.state();
        loop {
            let entered = state.seats[member].entered;
            if state.stopped || entered >= self.turns {
                state.seats[member].ended = true;
                state.moved = Instant::now();
                return None;
            }
            if state.slowest() + self.rule.ahead() >= entered {
                state.seats[member].asked = Instant::now();
                return Some(entered);
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Records that the member is about to count a latch down.
    pub(crate) fn counts_down(&self) {
        self.state().countdowns += 1;
    }

    /// Records that the member has got what it requested.
    pub(crate) fn enter(&self, member: usize, way: Way) {
        let mut state = self.state();
        let now = Instant::now();
        if let Some(fault) = state.fault(self.rule, member, way) {
            state.faults.push(fault);
        }
        state.enter(self.rule, member, way, now);
        self.changed.notify_all();
    }

    /// Records that the member is about to give back what it has.
    pub(crate) fn leave(&self, member: usize) {
        let mut state = self.state();
        state.inside.retain(|(inside, _)| *inside != member);
    }

    /// Records that the member disconnects. If the end was not announced to it, it has failed.
    pub(crate) fn leaves(&self, member: usize) {
        let mut state = self.state();
        state.failed |= !state.seats[member].ended && !state.stopped;
    }

    /// Whether a member has disconnected before the end: the others would wait for it.
    pub(crate) fn has_failed(&self) -> bool {
        self.state().failed
    }

    /// Stops the run: no member gets another turn.
    pub(crate) fn stop(&self) {
        self.state().stopped = true;
        self.changed.notify_all();
    }

    /// Whether all members have had all their turns.
    pub(crate) fn is_over(&self) -> bool {
        self.state().seats.iter().all(|seat| seat.ended)
    }

    /// The time since the last entry, unless all turns are over.
    pub(crate) fn idle(&self) -> Duration {
        if self.is_over() { Duration::ZERO } else { self.state().moved.elapsed() }
    }

    /// Describes the position of each member, for a failure.
    pub(crate) fn describe(&self) -> String {
        let state = self.state();
        let mut text = format!("inside: {:?}\n", state.inside);
        for (number, seat) in state.seats.iter().enumerate() {
            let asked = seat.asked.elapsed();
            writeln!(text, "member {number}: {:?}, entered {}, asked {asked:?} ago", seat.side, seat.entered)
                .expect("a text can be written to");
        }
        text
    }

    /// Returns the result, once the run is over.
    pub(crate) fn summary(&self) -> Summary {
        let state = self.state();
        let entered =
            |side| state.seats.iter().filter(|seat| seat.side == side).map(|seat| seat.entered).sum();
        let overslept =
            |side| state.seats.iter().filter(|seat| seat.side == side).map(|seat| seat.overslept).sum();
        let mut faults = state.faults.clone();
        if let Rule::Rate(permits, interval) = self.rule {
            faults.extend(state.windows.excess(permits, interval, state.seats.len()));
        }
        Summary {
            native: entered(Side::Native),
            redisson: entered(Side::Redisson),
            changes: state.changes,
            overslept: state.seats.iter().map(|seat| seat.overslept).sum(),
            overslept_natively: overslept(Side::Native),
            longest: state.seats.iter().map(|seat| seat.longest).max().unwrap_or_default(),
            faults,
        }
    }
}

impl State {
    fn slowest(&self) -> u64 {
        self.seats.iter().map(|seat| seat.entered).min().unwrap_or_default()
    }

    /// The reason why the member must not be inside now, if there is one.
    fn fault(&self, rule: Rule, member: usize, way: Way) -> Option<String> {
        let inside = &self.inside;
        let reads = |way: Way| way == Way::Shared;
        let broken = match (rule, way) {
            (Rule::Within(most), _) => inside.len() >= most,
            (Rule::ReadWrite, _) => {
                let only_readers = reads(way) && inside.iter().all(|(_, way)| reads(*way));
                !inside.is_empty() && !only_readers
            }
            (Rule::Fenced, Way::Token(token)) => !inside.is_empty() || token <= self.last_token,
            (Rule::Latch(count), Way::Awaited) => {
                self.countdowns < (self.seats[member].entered / 2 + 1) * count
            }
            (Rule::Latch(_), Way::Done) | (Rule::Rate(..), _) => false,
            (Rule::Fenced | Rule::Latch(_), _) => true,
        };
        broken.then(|| {
            let Seat { side, entered, .. } = self.seats[member];
            format!(
                "member {member} ({side:?}) enters as {way:?} in its turn {entered} beside {inside:?}; last token {}, \
                 countdowns {}",
                self.last_token, self.countdowns
            )
        })
    }

    fn enter(&mut self, rule: Rule, member: usize, way: Way, now: Instant) {
        let seat = &mut self.seats[member];
        let waited = now - seat.asked;
        seat.entered += 1;
        seat.longest = seat.longest.max(waited);
        seat.overslept += u64::from(waited >= OVERSLEPT);
        if self.last_side.replace(seat.side).is_some_and(|last| last != seat.side) {
            self.changes += 1;
        }
        match rule {
            Rule::Rate(..) => self.windows.add(seat.asked, now),
            Rule::Latch(_) => self.passes += 1,
            _ => self.inside.push((member, way)),
        }
        if let Way::Token(token) = way {
            self.last_token = self.last_token.max(token);
        }
        self.moved = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIDES: [Side; 2] = [Side::Native, Side::Redisson];

    /// The number of faults that the referee reports if the second member enters while the first is inside.
    fn faults(rule: Rule, first: Way, second: Way) -> usize {
        let referee = Referee::new(rule, 1, &SIDES);
        for (side, way) in SIDES.into_iter().zip([first, second]) {
            let member = referee.join(side);
            assert_eq!(referee.turn(member), Some(0));
            referee.enter(member, way);
        }
        referee.summary().faults.len()
    }

    #[test]
    fn two_simultaneous_holders_are_noticed() {
        assert_eq!(faults(Rule::Within(1), Way::Alone, Way::Alone), 1);
        assert_eq!(faults(Rule::Within(2), Way::Alone, Way::Alone), 0);
        assert_eq!(faults(Rule::ReadWrite, Way::Shared, Way::Alone), 1);
        assert_eq!(faults(Rule::ReadWrite, Way::Alone, Way::Shared), 1);
        assert_eq!(faults(Rule::ReadWrite, Way::Shared, Way::Shared), 0);
        assert_eq!(faults(Rule::Fenced, Way::Token(1), Way::Token(2)), 1);
    }

    #[test]
    fn a_token_that_does_not_rise_is_noticed() {
        for (next, seen) in [(8, 0), (7, 1)] {
            let referee = Referee::new(Rule::Fenced, 2, &SIDES[..1]);
            let member = referee.join(Side::Native);
            for token in [7, next] {
                referee.turn(member);
                referee.enter(member, Way::Token(token));
                referee.leave(member);
            }
            assert_eq!(referee.summary().faults.len(), seen, "{next}");
        }
    }

    #[test]
    fn an_early_pass_of_a_latch_is_noticed() {
        for (countdowns, seen) in [(1, 1), (2, 0)] {
            let referee = Referee::new(Rule::Latch(2), 1, &SIDES);
            let member = referee.join(Side::Native);
            (0..countdowns).for_each(|_| referee.counts_down());
            referee.enter(member, Way::Awaited);
            assert_eq!(referee.summary().faults.len(), seen);
        }
    }

    #[test]
    fn no_member_is_two_rounds_ahead() {
        let referee = Referee::new(Rule::Within(1), 2, &SIDES);
        let [first, second] = SIDES.map(|side| referee.join(side));
        std::thread::scope(|scope| {
            referee.turn(first);
            referee.enter(first, Way::Alone);
            referee.leave(first);
            let next = scope.spawn(|| referee.turn(first));
            referee.turn(second);
            assert!(!next.is_finished());
            referee.enter(second, Way::Alone);
            assert_eq!(next.join().expect("it ends"), Some(1));
        });
    }
}
