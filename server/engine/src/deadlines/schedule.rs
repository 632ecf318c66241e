//! The next deadline on either clock, and the instant at which it fires.

use crate::clients::{ClientTimers, Sessions, Slot};
use crate::clock::{Agenda, Due, EngineClock, FirstDue};
use lockwheel_store::keyspace::Keyspace;
use lockwheel_store::time::{ExpiryRule, Mode};

/// The kinds of key deadlines that fire without a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeyDeadlines {
    /// Whether keys expire at their deadlines, and not only when a request names them.
    pub(crate) expire: bool,
    pub(crate) fire_timers: bool,
}

impl KeyDeadlines {
    /// Returns the kinds that fire. `is_switched_on`: no test has switched off the expiry of keys. `are_kept`: nothing
    /// may change the data, because clients are paused or a master expires the keys.
    #[inline]
    pub(crate) fn new(is_switched_on: bool, are_kept: bool) -> Self {
        KeyDeadlines { expire: is_switched_on && !are_kept, fire_timers: !are_kept }
    }
}

/// All deadlines of a server, as a capability to find the next one.
#[derive(Debug)]
pub(crate) struct Schedule<'e> {
    pub(crate) clock: &'e mut EngineClock,
    pub(crate) keyspace: &'e mut Keyspace,
    /// The clients. The idle timer of a client that has been active since it was set is moved.
    pub(crate) sessions: &'e mut Sessions,
    /// `timeout`, in seconds. 0: no idle client is closed.
    pub(crate) timeout_s: u64,
    /// The kinds of key deadlines that fire without a request.
    pub(crate) keys: KeyDeadlines,
}

impl Schedule<'_> {
    /// Returns the first deadline on either clock, exactly if it is no more than `within_ms` ahead.
    fn first(&mut self, within_ms: i64) -> Option<FirstDue> {
        let now = self.clock.now();
        let until_ms = now.monotonic_ms().saturating_add(within_ms);
        let mut of_clients = ClientTimers {
            now,
            sessions: &mut *self.sessions,
            timers: self.clock.timers_mut(),
            keyspace: &mut *self.keyspace,
            timeout_s: self.timeout_s,
        };
        let timer = of_clients.first(until_ms);
        Agenda { timer, ..self.of_keys() }.first(now)
    }

    fn of_keys(&mut self) -> Agenda {
        let mut agenda = Agenda::default();
        if self.keys.expire {
            agenda.key = self.keyspace.next_expiry();
            agenda.fields = self.keyspace.next_field_expiry();
        }
        if self.keys.fire_timers {
            agenda.key_timer = self.keyspace.next_key_timer();
        }
        agenda
    }

    /// Returns the kind of the first deadline, if it is due at the present instant.
    pub(crate) fn due_now(&mut self, rule: ExpiryRule) -> Option<Due> {
        let until_ms = rule.until_ms(0);
        self.first(until_ms).filter(|first| first.in_ms <= until_ms).map(|first| first.due)
    }

    /// Returns the first deadline, if the clocks can reach it, and the microseconds until it expires by this rule.
    pub(crate) fn first_reachable(&mut self, rule: ExpiryRule) -> Option<(FirstDue, u64)> {
        let first = self.first(i64::MAX)?;
        let in_us = self.clock.reachable_in_us(first.deadlines, rule)?;
        Some((first, in_us))
    }

    /// Returns the milliseconds until the next deadline on either clock, if the clocks can be advanced that far.
    pub(crate) fn next_in_ms(&mut self) -> Option<i64> {
        let (first, _) = self.first_reachable(ExpiryRule::Reached)?;
        Some(first.in_ms.max(0))
    }

    pub(crate) fn pending(&self) -> usize {
        self.keyspace.timers() + self.clock.timers().on_monotonic()
    }

    /// Returns the system's monotonic instant, in microseconds, at which the next deadline fires; `None` if none is
    /// pending on running clocks. `is_joined`: an advance may belong to another server. O(1) amortised.
    pub(crate) fn next_us(&mut self, is_joined: bool) -> Option<u64> {
        let real_us = self.clock.next_real_us();
        if self.clock.amid().is_some() {
            // The stopped advance fires the due deadlines itself. Another server's is watched.
            let look_us = is_joined.then(|| self.clock.look_at_us());
            return real_us.into_iter().chain(look_us).min();
        }
        let Agenda { key, fields, key_timer, .. } = self.of_keys();
        let of_key_timer = key_timer.map(|(at_ms, _)| at_ms);
        // A request has set the timer for the instant of the frozen clocks, so no advance will fire it.
        let is_at_once = of_key_timer.is_some_and(|at_ms| at_ms <= self.clock.now().wall_ms());
        if (is_at_once || self.clock.is_behind()) && self.clock.mode() == Mode::Manual {
            return Some(self.clock.system().monotonic_us);
        }
        let of_keys = key.into_iter().chain(fields).map(|(at_ms, _)| at_ms);
        let virtual_us = self.clock.next_virtual_us(of_keys.chain(of_key_timer).min());
        virtual_us.into_iter().chain(real_us).min()
    }

    /// Expires the due keys that a request names or its client watches.
    pub(crate) fn expire_named(&mut self, slot: Slot, argv: &[&[u8]]) {
        let (session, now) = (self.sessions.get(slot), self.clock.now());
        for key in argv.iter().skip(1) {
            self.keyspace.expire_if_due(session.db, key, now);
        }
        for (db, key) in &session.watched {
            self.keyspace.expire_if_due(*db, key, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::TimerKind;
    use lockwheel_store::keyspace::{KeyTimer, Order};
    use lockwheel_store::time::{Clock, Now};

    fn at(ms: u64) -> Now {
        Now { wall_us: ms as i64 * 1000, monotonic_us: ms * 1000 }
    }

    /// The parts of a server on clocks of this mode at 100 ms.
    struct Parts(EngineClock, Keyspace, Sessions);

    impl Parts {
        fn new(mode: Mode) -> Self {
            let clock = EngineClock::new(Clock::new(mode, at(100)), at(100));
            Parts(clock, Keyspace::new(1, 7), Sessions::default())
        }

        fn schedule(&mut self, are_kept: bool) -> Schedule<'_> {
            let keys = KeyDeadlines::new(true, are_kept);
            Schedule { clock: &mut self.0, keyspace: &mut self.1, sessions: &mut self.2, timeout_s: 0, keys }
        }

        fn set_key_timer(&mut self, at_ms: i64) {
            let timer = Some((at_ms, Order::default()));
            self.1.tx(0, self.0.now()).set_key_timer(b"k", KeyTimer::Retry, timer);
        }
    }

    #[test]
    fn the_earlier_of_a_timer_of_a_key_and_of_the_engine_is_next() {
        let mut parts = Parts::new(Mode::Real);
        assert_eq!((parts.schedule(false).next_in_ms(), parts.schedule(false).pending()), (None, 0));
        parts.0.set_timer(&mut parts.1, (TimerKind::Pause, 0), 50);
        parts.set_key_timer(120);
        assert_eq!((parts.schedule(false).next_in_ms(), parts.schedule(false).pending()), (Some(20), 2));
        assert_eq!(parts.schedule(false).next_us(false), Some(121_000), "its millisecond is to pass");
        assert_eq!(
            parts.schedule(true).next_in_ms(),
            Some(50),
            "timers of keys wait while clients are paused"
        );
    }

    #[test]
    fn a_timer_of_a_key_at_the_present_instant_is_due_on_frozen_clocks() {
        let mut parts = Parts::new(Mode::Manual);
        parts.set_key_timer(110);
        let mut schedule = parts.schedule(false);
        assert_eq!((schedule.due_now(ExpiryRule::Reached), schedule.next_us(false)), (None, None));
        parts.set_key_timer(100);
        let mut schedule = parts.schedule(false);
        assert_eq!(schedule.due_now(ExpiryRule::Reached), Some(Due::KeyTimer));
        assert_eq!(schedule.next_us(false), Some(100_000));
    }

    #[test]
    fn within_an_instant_only_a_joined_server_checks_the_advance() {
        let mut parts = Parts::new(Mode::Real);
        parts.set_key_timer(100);
        parts.0.stop_advance(Some(ExpiryRule::Reached));
        assert_eq!(parts.schedule(false).next_us(false), None);
        assert_eq!(parts.schedule(false).next_us(true), Some(200_000));
    }

    #[test]
    fn keys_that_are_kept_neither_expire_nor_fire() {
        assert_eq!(KeyDeadlines::new(true, false), KeyDeadlines { expire: true, fire_timers: true });
        assert_eq!(KeyDeadlines::new(false, false), KeyDeadlines { expire: false, fire_timers: true });
        assert_eq!(KeyDeadlines::new(true, true), KeyDeadlines { expire: false, fire_timers: false });
    }
}
