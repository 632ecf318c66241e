//! Deadlines: what has become due fires, on either clock, in order.

use super::clock_turn::Fired;
use super::engine::Engine;
use super::hooks::Hook;
use super::shared_clock::ClockRequest;
use crate::clients::Slot;
use crate::keyspace::Order;
use crate::latency::Event;
use crate::locks;
use crate::time::{Deadlines, Mode, Over};
use crate::timers::{Timer, TimerKind};

/// The most deadlines that fire before one batch while time runs, or once a server has hung while others turned the
/// clock: less than a millisecond's work. The rest fire before the next batches, which follow at once. Turning the
/// clock fires all of them.
const PIECE: usize = 1000;

/// What is due first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    Key,
    Fields,
    KeyTimer,
    Timer,
}

impl Engine {
    /// The system's monotonic instant, in microseconds, at which [`Engine::begin`] must be called at the latest;
    /// `None` while nothing is pending, or what is pending is on a frozen clock. O(1) amortised.
    pub(crate) fn next_deadline(&mut self) -> Option<u64> {
        if self.hooks.has(Hook::NextBatch) || (self.limits.evicts() && !self.hooks.has(Hook::Pause)) {
            return Some(self.time.system.monotonic_us);
        }
        let real = Deadlines { wall_ms: None, monotonic_ms: self.time.timers.next_deadline(true) };
        let real_us = self.time.system.us_until(real, Over::Past);
        if self.time.is_amid_turn() {
            return self.amid_deadline(real_us);
        }
        let wall_ms = self.next_expiry().map(|(at, _)| at);
        let of_fields = self.next_field_expiry().map(|(at, _)| at);
        let of_key_timer = self.next_key_timer().map(|(at, _)| at);
        // A request has set it for the instant at which frozen hands stand: nobody turns them to it.
        let is_at_once = of_key_timer.is_some_and(|at_ms| at_ms <= self.time.now.wall_ms());
        if (is_at_once || self.time.is_behind) && self.time.clock.mode() == Mode::Manual {
            return Some(self.time.system.monotonic_us);
        }
        let deadlines = Deadlines {
            wall_ms: wall_ms.into_iter().chain(of_fields).chain(of_key_timer).min(),
            monotonic_ms: self.time.timers.next_deadline(false),
        };
        let virtual_us = self.time.clock.until(self.time.system, deadlines);
        let first = virtual_us.into_iter().chain(real_us).min()?;
        Some(self.time.system.monotonic_us.saturating_add(first))
    }

    /// Returns the same while a turn has stopped amid its instant, which fires what is due itself. If it is another
    /// server's, that server is looked for.
    #[cold]
    fn amid_deadline(&self, real_us: Option<u64>) -> Option<u64> {
        let real_us = real_us.map(|us| self.time.system.monotonic_us.saturating_add(us));
        let look_us = self.shares_clock().then(|| self.time.look_at_us());
        real_us.into_iter().chain(look_us).min()
    }

    /// Fires what is due at the present instant before a batch: all of it, or while time runs, and after a hang, a
    /// piece of it. A turn of the clock that has stopped amid that instant fires the rest itself.
    pub(crate) fn fire_piece(&mut self) {
        if self.time.looks_at_turn() {
            self.ask_clock(ClockRequest::Look);
        }
        let most = match self.time.clock.mode() {
            _ if self.time.is_amid_turn() => 0,
            Mode::Manual if !self.time.is_behind => usize::MAX,
            Mode::Real | Mode::Manual => PIECE,
        };
        let is_left = self.fire_due(most, self.time.over());
        self.time.is_behind &= is_left;
    }

    /// Leaves everything due at the present instant for the next batch.
    pub(crate) fn hide_due(&mut self) {
        if self.time.clock.mode() == Mode::Real || self.time.is_behind {
            self.fire_due(0, self.time.over());
        }
    }

    /// Fires what is due at the present instant, in order, but no more than `most`. What is left is hidden until it
    /// fires, and [`Engine::next_deadline`] is in the past until then. Whether something is left.
    pub(super) fn fire_due(&mut self, most: usize, over: Over) -> bool {
        let mut left = most;
        let mut due = self.earliest_due(over);
        let began = due.map(|_| (self.keyspace.counters.expired_keys, self.stopwatch_ns()));
        while let Some(first) = due.filter(|_| left > 0) {
            left -= self.fire(first, over, left, |_| ());
            due = self.earliest_due(over);
        }
        if let Some((expired, began_ns)) = began
            && self.keyspace.counters.expired_keys != expired
        {
            let took_ns = self.stopwatch_ns().saturating_sub(began_ns);
            self.observers.stats.expire_ns += took_ns;
            self.note_latency(Event::ExpireCycle, took_ns);
        }
        let is_left = due.is_some() || !self.expires_actively();
        self.set_expiry_backlog(is_left.then(|| over.until_ms(self.time.now.wall_ms())));
        let real_ms = Over::Past.until_ms(self.time.system.monotonic_ms());
        while let Some(timer) = self.time.timers.pop_due(true, real_ms) {
            self.fire_timer(timer);
        }
        due.is_some()
    }

    fn earliest_due(&mut self, over: Over) -> Option<Due> {
        self.earliest(over.until_ms(0)).and_then(|(due, in_ms)| (in_ms <= over.until_ms(0)).then_some(due))
    }

    /// Expires backlog keys that this request names or its transaction watches, and serves their waiters first, so
    /// arrival order holds.
    #[cold]
    pub(crate) fn fire_named(&mut self, slot: Slot, argv: &[&[u8]]) {
        if self.hooks.has(Hook::Pause) {
            return;
        }
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

    /// Fires what is due first, after `see` has been called with it, but no more than so many fields of one hash; how
    /// many deadlines fired.
    pub(super) fn fire(&mut self, due: Due, over: Over, most: usize, see: impl FnOnce(Fired<'_>)) -> usize {
        let mut fired = 1;
        match due {
            Due::Key => {
                self.keyspace.expire_next_with(self.time.now, over, |key| see(Fired::Expiry(key)));
            }
            Due::Fields => {
                let see = |key: &[u8]| see(Fired::Fields(key));
                // A whole hash goes at once.
                fired = self.keyspace.expire_next_fields(self.time.now, over, most, see).clamp(1, most);
            }
            Due::KeyTimer => {
                if let Some((db, key, timer)) = self.keyspace.pop_key_timer(self.time.now, over) {
                    see(Fired::KeyTimer(timer, db, &key));
                    locks::key_timer_fired(&mut self.keyspace.tx(db, self.time.now), &key, timer);
                }
            }
            Due::Timer => {
                let until_ms = over.until_ms(self.time.now.monotonic_ms());
                if let Some(timer) = self.time.timers.pop_due(false, until_ms) {
                    see(Fired::of(timer));
                    self.fire_timer(timer);
                }
            }
        }
        self.commit();
        fired
    }

    fn fire_timer(&mut self, timer: Timer) {
        match timer.kind {
            TimerKind::Wait | TimerKind::RealWait => self.time_out(timer.client),
            TimerKind::Ticket => self.ticket_over(timer.client),
            TimerKind::Idle => self.close_idle(timer.client),
            TimerKind::Lease => self.renew_leases(timer.client),
            TimerKind::Output => self.output_due(timer.client),
            TimerKind::Delay => self.delay_over(timer.client),
            TimerKind::Thaw => self.thaw(timer.client),
            TimerKind::Cut => self.cut_lost(timer.client),
            TimerKind::Pause => self.pause_over(),
            TimerKind::Failover => self.failover_due(),
            TimerKind::HandOff => self.hand_off_due(),
            TimerKind::Restart => self.restart_over(),
            TimerKind::Arrival => self.arrival_due(),
            TimerKind::Sentinel => self.sentinel_tick(),
            TimerKind::Cluster => self.cluster_tick(),
            TimerKind::Save => self.save_timer_fired(),
            TimerKind::Replication => self.replication_due(),
            TimerKind::Shutdown => self.shutdown_due(),
            TimerKind::Turn => self.continue_left_turn(timer.client),
        }
    }

    /// What is due first on either clock, and in how many milliseconds from now (negative: overdue): exact when that is
    /// no more than `within_ms`. Of two at one instant, the one that was made first.
    pub(super) fn earliest(&mut self, within_ms: i64) -> Option<(Due, i64)> {
        let (wall_ms, monotonic_ms) = (self.time.now.wall_ms(), self.time.now.monotonic_ms());
        let key = self.next_expiry().map(|(at, order)| (Due::Key, at.saturating_sub(wall_ms), Some(order)));
        let fields = self.next_field_expiry();
        let fields = fields.map(|(at, order)| (Due::Fields, at.saturating_sub(wall_ms), Some(order)));
        let key_timer = self.next_key_timer();
        let key_timer = key_timer.map(|(at, order)| (Due::KeyTimer, at.saturating_sub(wall_ms), order));
        let timer = self.first_timer(monotonic_ms.saturating_add(within_ms));
        let timer = timer.map(|(at, timer)| (Due::Timer, at.saturating_sub(monotonic_ms), Some(timer.order)));
        let first = [key, fields, key_timer, timer].into_iter().flatten().reduce(|one, other| {
            let is_made_first = match (one.2, other.2) {
                (Some(order), Some(later)) => order.is_before(later),
                (order, _) => order.is_none(),
            };
            if one.1 < other.1 || (one.1 == other.1 && is_made_first) { one } else { other }
        });
        first.map(|(due, in_ms, _)| (due, in_ms))
    }

    /// The earliest deadline of a key, in wall milliseconds, unless keys expire only when they are named.
    fn next_expiry(&mut self) -> Option<(i64, Order)> {
        if self.expires_actively() { self.keyspace.next_expiry() } else { None }
    }

    /// The same of a field of a hash.
    fn next_field_expiry(&mut self) -> Option<(i64, Order)> {
        if self.expires_actively() { self.keyspace.next_field_expiry() } else { None }
    }

    /// The first timer of a key, unless clients are paused, or a master sees to it: it may change what keys hold.
    fn next_key_timer(&self) -> Option<(i64, Option<Order>)> {
        self.keyspace.next_key_timer().filter(|_| !self.hooks.has(Hook::Pause) && self.following.is_none())
    }

    /// Keys that are due up to this deadline, in wall milliseconds, are left for later; `None`: none is.
    pub(super) fn set_expiry_backlog(&mut self, until_ms: Option<i64>) {
        self.keyspace.set_expiry_backlog(until_ms);
        self.hooks.set(Hook::Backlog, until_ms.is_some());
    }

    /// The first timer on the monotonic clock; timers up to `until_ms` that are set too early are put off first.
    fn first_timer(&mut self, until_ms: i64) -> Option<(i64, Timer)> {
        loop {
            let (at_ms, timer) = self.time.timers.first()?;
            if at_ms > until_ms || !self.put_off_idle(at_ms, timer) {
                return Some((at_ms, timer));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clients::{Outbox, Peer};
    use crate::config::Config;
    use crate::time::Now;

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
            assert!(ask(&mut engine, slot, "CLOCK.ADVANCE 10").contains("fired\r\n:1\r\n"), "{first}");
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
        assert!(ask(&mut engine, slot, "CLOCK.ADVANCE 10").contains(&format!("fired\r\n:{}\r\n", 3 * PIECE)));
        assert_eq!(engine.keyspace.timers(), 0);
    }
}
