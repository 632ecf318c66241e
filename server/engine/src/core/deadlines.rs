//! Deadlines: due ones fire, on either clock, in order.

use super::engine::Engine;
use super::hooks::Hook;
use crate::clock::{AdvanceOwner, Due, Fired, Timer, TimerKind};
use crate::deadlines::{FiringPiece, KeyDeadlines, PIECE, Schedule};
use crate::latency::LatencyEvent;
use crate::locks;
use crate::member::TopologyRequest;
use crate::waits::TicketEnd;
use lockwheel_store::keyspace::waiter_of;
use lockwheel_store::time::{ExpiryRule, Mode};

impl Engine {
    /// Returns the microseconds of the system's monotonic clock by which [`Engine::begin`] must be called. `None` if no
    /// deadline is pending, or all are on a frozen clock. O(1) amortised.
    pub(crate) fn next_deadline(&mut self) -> Option<u64> {
        if self.hooks.has(Hook::NextBatch) || (self.limits.evicts() && !self.hooks.keep_keys()) {
            return Some(self.clock.system().monotonic_us);
        }
        let is_joined = self.member.is_joined();
        self.schedule().next_us(is_joined)
    }

    #[inline]
    pub(crate) fn schedule(&mut self) -> Schedule<'_> {
        Schedule {
            keys: self.key_deadlines(),
            clock: &mut self.clock,
            keyspace: &mut self.keyspace,
            sessions: &mut self.sessions,
            timeout_s: self.config.timeout,
        }
    }

    /// Returns which deadlines of keys fire by themselves.
    #[inline]
    pub(super) fn key_deadlines(&self) -> KeyDeadlines {
        let are_kept = self.hooks.keep_keys() || self.following.is_some();
        KeyDeadlines::new(self.switches.expires_actively, are_kept)
    }

    /// Fires the deadlines due before a batch; while time runs, and after a hang, only a piece. An advance stopped
    /// within this instant fires the rest itself.
    pub(crate) fn fire_piece(&mut self) {
        if self.clock.takes_look() {
            self.member.ask(TopologyRequest::Look);
        }
        let most = match self.clock.mode() {
            _ if self.clock.amid().is_some() => 0,
            Mode::Manual if !self.clock.is_behind() => usize::MAX,
            Mode::Real | Mode::Manual => PIECE,
        };
        let is_left = self.fire_due(most, self.clock.rule());
        self.clock.note_fired(is_left);
    }

    /// Fires the deadlines due, in order, at most `most`. The rest is hidden until it fires; until then,
    /// [`Engine::next_deadline`] is past. Returns whether any is left.
    pub(super) fn fire_due(&mut self, most: usize, rule: ExpiryRule) -> bool {
        let mut piece = FiringPiece::new(most);
        let mut due = self.schedule().due_now(rule);
        let began = due.map(|_| (self.keyspace.counters.expired_keys, self.environment.stopwatch_ns()));
        while let (Some(first), Some((_, began_ns))) = (due.filter(|_| piece.left() > 0), began) {
            let fired = self.fire(first, rule, piece.left(), |_| ());
            due = self.schedule().due_now(rule);
            piece.fired(fired, || self.environment.stopwatch_ns().saturating_sub(began_ns));
        }
        if let Some((expired, began_ns)) = began
            && self.keyspace.counters.expired_keys != expired
        {
            let took_ns = self.environment.stopwatch_ns().saturating_sub(began_ns);
            self.observers.stats.expire_ns += took_ns;
            self.call_observer().note_latency(LatencyEvent::ExpireCycle, took_ns);
        }
        let is_left = due.is_some() || !self.key_deadlines().expire;
        self.set_expiry_backlog(is_left.then(|| rule.until_ms(self.clock.now().wall_ms())));
        while let Some(timer) = self.clock.pop_real() {
            self.fire_timer(timer);
        }
        due.is_some()
    }

    /// Passes the first due deadline to `see` and fires it, with at most `most` hash fields. Returns the number fired.
    pub(super) fn fire(
        &mut self,
        due: Due,
        rule: ExpiryRule,
        most: usize,
        see: impl FnOnce(Fired<'_>),
    ) -> usize {
        let (mut fired, now) = (1, self.clock.now());
        match due {
            Due::Key => {
                self.keyspace.expire_next_with(now, rule, |key| see(Fired::Expiry(key)));
            }
            Due::Fields => {
                let see = |key: &[u8]| see(Fired::Fields(key));
                // A whole hash is deleted at once.
                fired = self.keyspace.expire_next_fields(now, rule, most, see).clamp(1, most);
            }
            Due::KeyTimer => {
                if let Some((db, key, timer)) = self.keyspace.pop_key_timer(now, rule) {
                    see(Fired::KeyTimer { timer, db, key: &key, shown: locks::known_name(&key) });
                    locks::key_timer_fired(&mut self.keyspace.tx(db, now), &key, timer);
                }
            }
            Due::Timer => {
                let until_ms = rule.until_ms(now.monotonic_ms());
                if let Some(timer) = self.clock.timers_mut().pop_due(false, until_ms) {
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
            TimerKind::Ticket => {
                self.waits.timer_fired(waiter_of(timer.client));
                self.end_ticket(timer.client, TicketEnd::TimedOut);
            }
            TimerKind::Idle => self.close_idle(timer.client),
            TimerKind::Lease => {
                let renewed = self.client_timers().renew_leases(timer.client);
                self.clock.note_renewed_leases(renewed);
            }
            TimerKind::Output => {
                let client = self.client_timers().end_output(timer.client);
                client
                    .into_iter()
                    .for_each(|slot| self.change_output(slot, |output, slot| output.check(slot)));
            }
            TimerKind::GrantDelay => locks::release_due(&mut self.keyspace, self.clock.now()),
            TimerKind::Arrival => self.member.arrived(),
            TimerKind::Advance => self.continue_stopped(AdvanceOwner::Detached(timer.client)),
            _ => self.part_timer_fired(timer),
        }
    }

    /// Leaves keys due up to this wall-clock millisecond for later. `None`: no key is left.
    pub(super) fn set_expiry_backlog(&mut self, until_ms: Option<i64>) {
        self.keyspace.set_expiry_backlog(until_ms);
        self.hooks.set(Hook::Backlog, until_ms.is_some());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clients::{Outbox, Peer, Slot};
    use crate::config::Config;
    use lockwheel_store::time::Now;

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

    /// Returns an engine with a client and keys that expire at 10 ms.
    fn engine(keys: usize) -> (Engine, Slot) {
        let mut engine = Engine::new(Config::default(), 7, at(0));
        engine.begin(at(0));
        let slot = engine.connect(Peer::default());
        (0..keys).for_each(|n| assert_eq!(ask(&mut engine, slot, &format!("SET {n} v PX 10")), "+OK\r\n"));
        (engine, slot)
    }

    #[test]
    fn keys_due_at_once_are_invisible_and_deleted_in_batches() {
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
    fn on_a_running_clock_a_deadline_ends_a_millisecond_later() {
        let (mut engine, slot) = engine(1);
        let waiter = engine.connect(Peer::default());
        assert_eq!(ask(&mut engine, waiter, "BLPOP q 0.01"), "");
        assert_eq!(engine.next_deadline(), Some(11_000));
        engine.begin(Now { wall_us: 10_999, monotonic_us: 10_999 });
        assert_eq!(ask(&mut engine, slot, "PTTL 0"), ":0\r\n");
        assert!(engine.sessions().get(waiter).is_blocked());
        engine.begin(at(11));
        assert_eq!(ask(&mut engine, slot, "PTTL 0"), ":-2\r\n");
        assert!(!engine.sessions().get(waiter).is_blocked());
    }

    #[test]
    fn an_advance_by_the_remaining_time_reaches_the_deadline() {
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
    fn freezing_fires_the_deadlines_of_the_current_millisecond() {
        let (mut engine, slot) = engine(1);
        engine.begin(Now { wall_us: 10_400, monotonic_us: 10_400 });
        assert_eq!(ask(&mut engine, slot, "DBSIZE"), ":1\r\n");
        ask(&mut engine, slot, "CLOCK.FREEZE");
        assert_eq!(ask(&mut engine, slot, "DBSIZE"), ":0\r\n");
    }

    #[test]
    fn a_waiter_for_an_expired_key_is_served_before_later_requests() {
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
    fn a_transaction_with_an_expired_watched_key_does_not_run() {
        let (mut engine, slot) = engine(2 * PIECE);
        assert_eq!(ask(&mut engine, slot, "SET last v PX 10"), "+OK\r\n");
        assert_eq!(ask(&mut engine, slot, "WATCH last"), "+OK\r\n");
        assert_eq!(ask(&mut engine, slot, "MULTI"), "+OK\r\n");
        engine.begin(at(11));
        assert!(engine.keyspace.has_expiry_backlog());
        assert_eq!(ask(&mut engine, slot, "EXEC"), "*-1\r\n");
    }

    #[test]
    fn an_advance_fires_all_due_deadlines() {
        let (mut engine, slot) = engine(3 * PIECE);
        ask(&mut engine, slot, "CLOCK.FREEZE");
        assert!(ask(&mut engine, slot, "CLOCK.ADVANCE 10").contains(&format!("fired\r\n:{}\r\n", 3 * PIECE)));
        assert_eq!(engine.keyspace.timers(), 0);
    }
}
