//! Time in the engine: what has become due fires, on either hand, in the order of the deadlines.

use super::engine::Engine;
use crate::clients::Slot;
use crate::time::{Clock, ClockError, Deadlines, Mode, Now, Over};

/// The most deadlines that fire before one batch while time runs: less than a millisecond's work. The rest fires before
/// the next ones, which follow at once. Who turns the clock has all of them fired.
const PIECE: usize = 1000;

/// Whether those who wait by Redisson's means are told when a turn of the clock ends the lease that they wait for: they
/// count its time on their own machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// They are, by the message of an unlock.
    Redisson,
    /// They are not.
    Nobody,
}

/// What is due first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Due {
    Key,
    Wait,
}

impl Engine {
    /// The system's monotonic instant, in microseconds, at which [`Engine::begin`] must be called at the latest;
    /// `None` while nothing is pending, or what is pending stands on a frozen clock. O(1) amortised.
    pub(crate) fn next_deadline(&mut self) -> Option<u64> {
        let deadlines = Deadlines {
            wall_ms: self.keyspace.next_deadline(),
            monotonic_ms: self.timers.monotonic.next_deadline(),
        };
        let virtual_us = self.time.clock.until(self.time.system, deadlines);
        let real = Deadlines { wall_ms: None, monotonic_ms: self.timers.real.next_deadline() };
        let first = virtual_us.into_iter().chain(self.time.system.us_until(real, Over::Past)).min()?;
        Some(self.time.system.monotonic_us.saturating_add(first))
    }

    /// Fires what is due at the present instant before a batch: all of it, or while time runs a piece of it.
    pub(crate) fn fire_piece(&mut self) {
        let most = if self.time.clock.mode() == Mode::Real { PIECE } else { usize::MAX };
        self.fire_due(most, self.time.clock.over());
    }

    /// Leaves all that is over at the present instant for the next batch.
    pub(crate) fn hide_due(&mut self) {
        if self.time.clock.mode() == Mode::Real {
            self.fire_due(0, self.time.clock.over());
        }
    }

    /// Fires what is over at the present instant, in order, but no more than `most`. What is left is hidden until it
    /// has its turn, and [`Engine::next_deadline`] is past.
    fn fire_due(&mut self, most: usize, over: Over) {
        let mut left = most;
        let mut due = self.earliest_due(over);
        while let Some(first) = due.filter(|_| left > 0) {
            self.fire(first, over);
            left -= 1;
            due = self.earliest_due(over);
        }
        self.keyspace.set_expiry_backlog(due.map(|_| over.until_ms(self.time.now.wall_ms())));
        while let Some(timeout) =
            self.timers.real.pop_due(Over::Past.until_ms(self.time.system.monotonic_ms()))
        {
            self.time_out(timeout.payload.id);
        }
    }

    fn earliest_due(&mut self, over: Over) -> Option<Due> {
        self.earliest().and_then(|(due, in_ms)| (in_ms <= over.until_ms(0)).then_some(due))
    }

    /// Has keys that were left for later gone before a request that names them, or a transaction that watches them; and
    /// has those served that wait for them, so that nobody comes first who came later.
    #[cold]
    pub(crate) fn fire_named(&mut self, slot: Slot, argv: &[&[u8]]) {
        let session = self.sessions.get(slot);
        let (db, watched) = (session.db, session.watched.clone());
        for key in argv.iter().skip(1) {
            self.keyspace.expire_if_due(db, key, self.time.now);
        }
        for (db, key) in &watched {
            self.keyspace.expire_if_due(*db, key, self.time.now);
        }
        self.commit();
    }

    fn fire(&mut self, due: Due, over: Over) {
        match due {
            Due::Key => drop(self.keyspace.expire_next(self.time.now, over)),
            Due::Wait => {
                if let Some(timeout) =
                    self.timers.monotonic.pop_due(over.until_ms(self.time.now.monotonic_ms()))
                {
                    self.time_out(timeout.payload.id);
                }
            }
        }
        self.commit();
    }

    /// What is due first on either hand, and in how many milliseconds from now (negative: overdue). Of two at one
    /// instant, the one that was made first.
    fn earliest(&mut self) -> Option<(Due, i64)> {
        let (wall_ms, monotonic_ms) = (self.time.now.wall_ms(), self.time.now.monotonic_ms());
        let key = self.keyspace.next_expiry().map(|(at, order)| (at.saturating_sub(wall_ms), order));
        let wait = self
            .timers
            .monotonic
            .peek()
            .map(|(at, waiting)| (at.saturating_sub(monotonic_ms), waiting.order));
        match (key, wait) {
            (Some((key, _)), None) => Some((Due::Key, key)),
            (None, Some((wait, _))) => Some((Due::Wait, wait)),
            (Some((key, made)), Some((wait, begun))) => {
                let key_first = key < wait || (key == wait && made.is_before(begun));
                Some(if key_first { (Due::Key, key) } else { (Due::Wait, wait) })
            }
            (None, None) => None,
        }
    }

    /// Moves both hands by `ms`, stopping at each deadline on the way: what fires, fires at its own instant.
    /// How many deadlines fired.
    ///
    /// # Errors
    /// When a hand would leave its range; then nothing has moved.
    pub fn advance(&mut self, ms: u64, wake: Wake) -> Result<u64, ClockError> {
        let target = self.time.clock.after(self.time.system, ms)?;
        self.keyspace.turn_quietly(wake == Wake::Nobody);
        let mut fired = 0;
        while let Some(due) = self.earliest_until(target) {
            fired += self.go_to_and_fire(due);
        }
        self.turn(target.monotonic_us - self.time.now.monotonic_us);
        self.keyspace.set_expiry_backlog(None);
        self.keyspace.turn_quietly(false);
        Ok(fired)
    }

    /// Moves both hands to the next deadline and fires all that is due there. How many fired; `None` when none is
    /// pending within the reach of both hands.
    pub fn advance_to_next(&mut self, wake: Wake) -> Option<u64> {
        let (first, in_us) = self.earliest_in_us()?;
        self.keyspace.turn_quietly(wake == Wake::Nobody);
        let mut fired = self.go_to_and_fire((first, in_us));
        while let Some((due, 0)) = self.earliest_in_us() {
            fired += self.go_to_and_fire((due, 0));
        }
        self.keyspace.set_expiry_backlog(None);
        self.keyspace.turn_quietly(false);
        Some(fired)
    }

    fn go_to_and_fire(&mut self, (due, in_us): (Due, u64)) -> u64 {
        self.turn(in_us);
        self.fire(due, Over::Reached);
        1
    }

    /// What is due first, and how far it is from now in microseconds; `None` when a hand cannot be turned so far.
    fn earliest_in_us(&mut self) -> Option<(Due, u64)> {
        let (due, _) = self.earliest()?;
        let deadlines = match due {
            Due::Key => Deadlines { wall_ms: self.keyspace.next_deadline(), monotonic_ms: None },
            Due::Wait => Deadlines { wall_ms: None, monotonic_ms: self.timers.monotonic.next_deadline() },
        };
        let in_us = self.time.now.us_until(deadlines, Over::Reached)?;
        self.time.clock.reaches_us(self.time.system, in_us).then_some((due, in_us))
    }

    fn earliest_until(&mut self, target: Now) -> Option<(Due, u64)> {
        let left = target.monotonic_us - self.time.now.monotonic_us;
        self.earliest_in_us().filter(|&(_, in_us)| in_us <= left)
    }

    fn turn(&mut self, us: u64) {
        // The target was within the range, and so is all on the way to it.
        if us > 0 && self.time.clock.advance_us(self.time.system, us).is_ok() {
            self.time.now = self.time.clock.read(self.time.system);
            self.keyspace.note_turn();
        }
    }

    /// Does something to the clock, then fires what is over by the new time.
    pub(crate) fn turn_clock<T>(&mut self, over: Over, verb: impl FnOnce(&mut Clock, Now) -> T) -> T {
        let before = self.time.now;
        let result = verb(&mut self.time.clock, self.time.system);
        self.time.now = self.time.clock.read(self.time.system);
        if self.time.now.wall_us > before.wall_us {
            self.keyspace.note_turn();
        }
        self.fire_due(usize::MAX, over);
        result
    }

    /// The present instant, as the hands show it.
    pub fn now(&self) -> Now {
        self.time.now
    }

    /// Stops both hands. The wall hand.
    pub fn freeze(&mut self) -> i64 {
        self.turn_clock(Over::Reached, Clock::freeze);
        self.time.now.wall_ms()
    }

    /// Lets both hands run from where they stand. The wall hand.
    pub fn resume(&mut self) -> i64 {
        self.turn_clock(Over::Past, Clock::resume);
        self.time.now.wall_ms()
    }

    /// Moves the wall hand alone; keys now past their deadline go at once, and none comes back. The wall hand.
    ///
    /// # Errors
    /// When the hand would leave its range.
    pub fn step_wall(&mut self, ms: i64) -> Result<i64, ClockError> {
        self.turn_clock(Over::Reached, |clock, system| clock.step(system, ms))?;
        Ok(self.time.now.wall_ms())
    }

    /// In how many milliseconds the next deadline on either hand is, if the hands can be turned so far.
    pub(crate) fn next_in_ms(&mut self) -> Option<i64> {
        self.earliest_in_us()?;
        self.earliest().map(|(_, in_ms)| in_ms.max(0))
    }

    /// How many deadlines are pending on either hand.
    pub(crate) fn pending_timers(&self) -> usize {
        self.keyspace.timers() + self.timers.monotonic.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clients::{Outbox, Peer};
    use crate::config::Config;

    fn at(ms: u64) -> Now {
        Now { wall_us: ms as i64 * 1000, monotonic_us: ms * 1000 }
    }

    fn ask(engine: &mut Engine, slot: Slot, request: &str) -> String {
        let argv: Vec<&[u8]> = request.split(' ').map(str::as_bytes).collect();
        engine.execute(slot, &argv);
        let mut answer = Outbox::default();
        engine.take_output(slot, &mut answer);
        String::from_utf8_lossy(answer.bytes()).into_owned()
    }

    /// An engine with a client and `keys` keys that are due at 10 ms.
    fn engine(keys: usize) -> (Engine, Slot) {
        let mut engine = Engine::new(Config::default(), 7, at(0));
        engine.begin(at(0));
        let slot = engine.connect(Peer::default());
        (0..keys).for_each(|n| assert_eq!(ask(&mut engine, slot, &format!("SET {n} v PX 10")), "+OK\r\n"));
        (engine, slot)
    }

    #[test]
    fn what_is_due_at_one_instant_goes_in_pieces_that_nobody_sees() {
        let (mut engine, slot) = engine(5 * PIECE / 2);
        engine.begin(at(11));
        assert_eq!(engine.keyspace.timers(), 3 * PIECE / 2);
        assert!(engine.next_deadline().is_some_and(|next| next <= 11_000));
        assert_eq!(ask(&mut engine, slot, "DBSIZE"), ":0\r\n");
        assert_eq!(ask(&mut engine, slot, "GET 2400"), "$-1\r\n");
        assert_eq!(ask(&mut engine, slot, "KEYS *"), "*0\r\n");
        engine.begin(at(11));
        assert_eq!(engine.keyspace.timers(), PIECE / 2 - 1, "GET has removed one more");
        engine.begin(at(11));
        assert_eq!((engine.keyspace.timers(), engine.next_deadline()), (0, None));
        assert!(!engine.keyspace.has_expiry_backlog());
    }

    #[test]
    fn while_time_runs_nothing_ends_before_the_millisecond_after_its_deadline() {
        let (mut engine, slot) = engine(1);
        let waiter = engine.connect(Peer::default());
        assert_eq!(ask(&mut engine, waiter, "BLPOP q 0.01"), "");
        assert_eq!(engine.next_deadline(), Some(11_000));
        engine.begin(Now { wall_us: 10_999, monotonic_us: 10_999 });
        assert_eq!(ask(&mut engine, slot, "PTTL 0"), ":0\r\n");
        assert!(engine.session(waiter).is_blocked());
        engine.begin(at(11));
        assert_eq!(ask(&mut engine, slot, "PTTL 0"), ":-2\r\n");
        assert!(!engine.session(waiter).is_blocked());
    }

    #[test]
    fn who_turns_the_clock_by_what_is_left_reaches_the_end_running_or_frozen() {
        for first in ["PING", "CLOCK.FREEZE"] {
            let (mut engine, slot) = engine(1);
            ask(&mut engine, slot, first);
            assert_eq!(ask(&mut engine, slot, "PTTL 0"), ":10\r\n");
            assert!(ask(&mut engine, slot, "CLOCK.ADVANCE 10").ends_with(":1\r\n"), "{first}");
            assert_eq!(ask(&mut engine, slot, "SET k v PX 5"), "+OK\r\n");
            ask(&mut engine, slot, "CLOCK.STEP 5");
            assert_eq!(ask(&mut engine, slot, "DBSIZE"), ":0\r\n", "{first}");
        }
    }

    #[test]
    fn freezing_fires_what_the_whole_millisecond_ends() {
        let (mut engine, slot) = engine(1);
        engine.begin(Now { wall_us: 10_400, monotonic_us: 10_400 });
        assert_eq!(ask(&mut engine, slot, "DBSIZE"), ":1\r\n");
        ask(&mut engine, slot, "CLOCK.FREEZE");
        assert_eq!(ask(&mut engine, slot, "DBSIZE"), ":0\r\n");
    }

    #[test]
    fn who_waits_for_a_key_that_is_due_is_served_before_who_asks_for_it_later() {
        let (mut engine, holder) = engine(2 * PIECE);
        let [waiter, late] = [0; 2].map(|_| engine.connect(Peer::default()));
        assert!(ask(&mut engine, holder, "LOCK.ACQUIRE lock a PX 10").contains("token"));
        assert_eq!(ask(&mut engine, waiter, "LOCK.ACQUIRE lock b BLOCK 1000"), "");
        engine.begin(at(11));
        assert!(engine.keyspace.has_expiry_backlog());
        assert_eq!(ask(&mut engine, late, "LOCK.ACQUIRE lock c BLOCK 1000"), "");
        let mut served = Outbox::default();
        engine.take_output(waiter, &mut served);
        let served = String::from_utf8_lossy(served.bytes()).into_owned();
        assert!(served.contains("token"), "{served}");
    }

    #[test]
    fn a_transaction_whose_watched_key_is_due_does_not_run() {
        let (mut engine, slot) = engine(2 * PIECE);
        assert_eq!(ask(&mut engine, slot, "SET last v PX 10"), "+OK\r\n");
        assert_eq!(ask(&mut engine, slot, "WATCH last"), "+OK\r\n");
        assert_eq!(ask(&mut engine, slot, "MULTI"), "+OK\r\n");
        engine.begin(at(11));
        assert!(engine.keyspace.has_expiry_backlog());
        assert_eq!(ask(&mut engine, slot, "EXEC"), "*-1\r\n");
    }

    #[test]
    fn who_turns_the_clock_has_all_that_is_due_fired() {
        let (mut engine, slot) = engine(3 * PIECE);
        ask(&mut engine, slot, "CLOCK.FREEZE");
        assert!(ask(&mut engine, slot, "CLOCK.ADVANCE 10").ends_with(&format!(":{}\r\n", 3 * PIECE)));
        assert_eq!(engine.keyspace.timers(), 0);
    }
}
