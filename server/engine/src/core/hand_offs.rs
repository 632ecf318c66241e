//! Locks that are not handed to those who wait natively at the instant at which they become free, because clients of
//! Redisson's wait for them too: these need a round trip to ask for them.

use super::engine::Engine;
use crate::clock::{Timer, TimerKind};
use crate::keyspace::{ReadyKey, Signal};
use crate::locks::{LOCK_LINE, channel_waiters};

impl Engine {
    /// Whether those who wait for a lock that is free are held back at this instant, as `lock-handoff-delay` wants it.
    pub(super) fn holds_back(&mut self, ready: &ReadyKey) -> bool {
        let (db, key) = (ready.db, &*ready.key);
        let until_ms = self.keyspace.waiters.held_back.until_ms(db, key);
        if until_ms.is_none() && self.config.lock_waits.handoff_delay == 0 {
            return false;
        }
        let is_free = !self.keyspace.has_key(db, key);
        match until_ms {
            Some(until_ms) if is_free && until_ms > self.clock.now().monotonic_ms() => true,
            Some(_) => {
                self.keyspace.waiters.held_back.let_go(db, key);
                false
            }
            None if is_free && self.is_contended(db, key) => {
                self.hold_back(db, key);
                true
            }
            None => false,
        }
    }

    /// Whether a lock is waited for natively and by clients of Redisson's.
    fn is_contended(&mut self, db: usize, key: &[u8]) -> bool {
        let is_lock = self.keyspace.tx(db, self.clock.now()).first_in_line(key, LOCK_LINE).is_some();
        is_lock && !channel_waiters(&self.pubsub, key).is_empty()
    }

    fn hold_back(&mut self, db: usize, key: &[u8]) {
        let delay_ms = self.config.lock_waits.handoff_delay;
        // Saturates on overflow.
        let until_ms = self.clock.now().monotonic_ms().saturating_add_unsigned(delay_ms);
        self.keyspace.waiters.held_back.hold(db, key, until_ms);
        let timer = Timer { kind: TimerKind::HandOff, client: 0, order: self.keyspace.next_order() };
        self.clock.timers_mut().insert(timer, until_ms);
    }

    /// Those who have been held back for long enough are served.
    pub(super) fn hand_off_due(&mut self) {
        let now_ms = self.clock.now().monotonic_ms();
        for (db, key) in self.keyspace.waiters.held_back.due(now_ms) {
            if self.keyspace.tx(db, self.clock.now()).waiting(&key).next().is_some() {
                self.keyspace.waiters.signal(db, &key, Signal::Changed);
            } else {
                self.keyspace.waiters.held_back.let_go(db, &key);
            }
        }
    }
}
