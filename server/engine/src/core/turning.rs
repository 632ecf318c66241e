//! The clock that a test turns: what is due on the way fires at its own instant.

use super::clock_change::ClockChange;
use super::clock_turn::{ClockTurn, Left, RedissonWaiters, TurnProgress};
use super::deadlines::Due;
use super::engine::{Engine, Retry};
use super::planned_turns::PlannedTurn;
use super::shared_clock::ClockRequest;
use super::turning_together::turn_together;
use crate::clients::{Closing, Slot};
use crate::keyspace::{KeyTimer, Order};
use crate::spec::CommandError;
use crate::time::{ClockError, Deadlines, Mode, Now, Over};
use crate::timers::{Timer, TimerKind};
use lockwheel_resp::Reply;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The answer to a request that was in range until another one has changed the clock.
const MOVED: &[u8] = b"ERR time is out of range: another client has moved the clock meanwhile";

#[cfg(test)]
mod tests;

impl Engine {
    /// A turn of both clocks by `ms`, which has not begun.
    ///
    /// # Errors
    /// When a clock would leave its range.
    pub fn turn_by(&self, ms: u64) -> Result<ClockTurn, ClockError> {
        let target = self.time.clock.after(self.time.system, ms)?;
        Ok(ClockTurn::by_us(target.monotonic_us - self.time.now.monotonic_us))
    }

    /// A turn that changes the clock and fires all that is due then; it has not begun.
    ///
    /// # Errors
    /// When the clock would leave its range.
    pub fn turn_changing(&self, change: ClockChange) -> Result<ClockTurn, ClockError> {
        change.apply(&mut self.time.clock.clone(), self.time.system)?;
        Ok(ClockTurn::changing(change))
    }

    /// Turns both clocks, stopping at each deadline on the way, so that each fires at its own instant; as far as the
    /// turn goes before clients are to react.
    pub fn continue_turning(&mut self, turn: &mut ClockTurn) -> TurnProgress {
        turn_together(&mut [self], turn, &mut |_| ())
    }

    /// What recurs for ever goes on as if so many milliseconds had passed.
    pub(super) fn leap_over(&mut self, ms: u64) {
        self.renew_leases_for(ms);
        let ms = i64::try_from(ms).unwrap_or(i64::MAX);
        self.leap_over_sentinel_ticks(ms);
        self.leap_over_cluster_ticks(ms);
    }

    /// The waiters of a key are retried when a turn that goes so far has ended, and not on its way.
    #[cold]
    pub(super) fn retry_after(&mut self, left: Left, db: usize, key: &[u8]) {
        let Left::Us(us) = left else { return };
        let mut tx = self.keyspace.tx(db, self.time.now);
        let end_ms = tx.now().wall_ms().saturating_add_unsigned(us / 1000);
        if tx.retry_at_ms(key).is_some_and(|at_ms| at_ms <= end_ms) {
            let after_ms = end_ms.saturating_add(1);
            tx.set_key_timer(key, KeyTimer::Retry, Some((after_ms, Order::default())));
        }
    }

    /// The timeout of a client's wait has come; whether that was a turn of the clock, which has been continued.
    pub(super) fn continue_turn(&mut self, slot: Slot) -> bool {
        if self.shares_clock() && self.waits_for_turn(slot) {
            self.ask_clock(ClockRequest::Turn(self.sessions.get(slot).id));
            return true;
        }
        let Some(mut turn) = self.take_turn(slot) else { return false };
        self.note_turn_goes_on(slot);
        // A panic on the way disconnects who turns the clock; he would wait for ever.
        let turned =
            catch_unwind(AssertUnwindSafe(|| self.turning(|engine| engine.continue_turning(&mut turn))));
        let Ok(progress) = turned else {
            self.cut_off(slot);
            return true;
        };
        self.go_on_waiting(slot, turn, progress);
        true
    }

    /// A turn that a client waits for has been continued: it waits on, or is answered.
    /// A client that the turn has disconnected waits while it only lets others be answered, not while it settles.
    pub(super) fn go_on_waiting(&mut self, slot: Slot, mut turn: Box<ClockTurn>, progress: TurnProgress) {
        // The turn may have disconnected the client itself.
        let id = self.sessions.get(slot).id;
        let order = self.keyspace.next_order();
        let Some(blocked) = self.parked.get_mut(id) else {
            return self.end_left_turn(turn, progress);
        };
        if matches!(blocked.retry, Retry::Turning { killed: true }) {
            turn.note_killed();
        }
        if let TurnProgress::WaitUs(us) = progress {
            let (is_unblocked, is_cut) = (turn.is_unblocked(), turn.has_killed() && us > 0);
            blocked.retry = Retry::Turn(turn);
            if is_cut {
                return self.cut_off(slot);
            }
            if is_unblocked {
                return self.end_wait(slot);
            }
            let timer = Timer { kind: TimerKind::RealWait, client: id, order };
            let wait_ms = us.div_ceil(1000);
            let at_ms = self.time.system.monotonic_ms().saturating_add_unsigned(wait_ms);
            let earlier = blocked.timeout.replace(self.time.timers.insert(timer, at_ms));
            earlier.into_iter().for_each(|timer| self.time.timers.cancel(timer));
        } else if self.unblock(slot).is_some() {
            let now = self.time.now;
            self.answer(slot, |reply| {
                if turn.write(now, reply).is_err() {
                    reply.error(MOVED);
                }
            });
            if turn.has_killed() {
                self.sessions.get_mut(slot).close(Closing::AfterOutput);
            }
        }
    }

    /// Whether a client is killed by what its own turn of the clock has brought about, as by a sentinel that promotes
    /// its server: it is told of the turn before it is disconnected.
    pub(crate) fn killed_while_turning(&mut self, slot: Slot) -> bool {
        let id = self.sessions.get(slot).id;
        match self.parked.get_mut(id).map(|blocked| &mut blocked.retry) {
            Some(Retry::Turning { killed }) => {
                *killed = true;
                true
            }
            _ => false,
        }
    }

    /// Ends a client's wait for its turn of the clock, which goes on as if its limit were over: the client is answered
    /// at its end, if it comes at once, or with a null. Whether the client waits for one.
    pub(super) fn finish_turn(&mut self, slot: Slot) -> bool {
        let id = self.sessions.get(slot).id;
        let Some(blocked) = self.parked.get_mut(id) else { return false };
        let Retry::Turn(turn) = &mut blocked.retry else { return false };
        turn.unblock();
        if let Some(timer) = blocked.timeout.take() {
            self.time.timers.cancel(timer);
        }
        self.continue_turn(slot)
    }

    /// The client of a turn has gone, or no longer waits for it: the turn goes on without it, in so many microseconds
    /// of real time.
    pub(super) fn leave_turn(&mut self, turn: Box<ClockTurn>, us: u64) {
        let number = self.time.left_turns.add(turn);
        let timer = Timer { kind: TimerKind::Turn, client: number, order: self.keyspace.next_order() };
        let at_ms = self.time.system.monotonic_ms().saturating_add_unsigned(us.div_ceil(1000));
        self.time.timers.insert(timer, at_ms);
    }

    /// The time has come for the turn of this number, whose client has gone.
    pub(super) fn continue_left_turn(&mut self, number: u64) {
        if self.shares_clock() {
            return self.ask_clock(ClockRequest::LeftTurn(number));
        }
        let Some(mut turn) = self.take_left_turn(number) else { return };
        // Nobody is left whom a panic could cost anything.
        if let Ok(progress) = catch_unwind(AssertUnwindSafe(|| self.continue_turning(&mut turn))) {
            self.end_left_turn(turn, progress);
        }
    }

    /// A turn has stopped, amid an instant, where deadlines are over by this rule, or not. What is still due there is
    /// hidden until the turn goes on.
    pub(super) fn leave_instant(&mut self, amid: Option<Over>) {
        self.time.stop_turn(amid);
        let over = amid.or_else(|| (!self.expires_actively()).then(|| self.time.over()));
        self.set_expiry_backlog(over.map(|over| over.until_ms(self.time.now.wall_ms())));
    }

    /// The turn of another server has stopped amid this instant, and that server hangs or is gone: fires here what is
    /// still due.
    pub(crate) fn fire_rest_of_instant(&mut self) {
        self.leave_turn(Box::new(ClockTurn::rest_of_instant(self.time.over()).in_pieces()), 0);
    }

    fn waits_for_turn(&self, slot: Slot) -> bool {
        let blocked = self.parked.get(self.sessions.get(slot).id);
        blocked.is_some_and(|blocked| matches!(blocked.retry, Retry::Turn(_)))
    }

    /// The turn of the clock that a client waits for, which continues without it meanwhile.
    pub(super) fn take_turn(&mut self, slot: Slot) -> Option<Box<ClockTurn>> {
        let id = self.sessions.get(slot).id;
        let retry = &mut self.parked.get_mut(id)?.retry;
        match std::mem::replace(retry, Retry::Turning { killed: false }) {
            Retry::Turn(turn) => Some(turn),
            other => {
                *retry = other;
                None
            }
        }
    }

    /// Turns both clocks by `ms` without letting clients react on the way. How many deadlines fired.
    ///
    /// # Errors
    /// When a clock would leave its range; then nothing has moved.
    pub fn advance(&mut self, ms: u64, waiters: RedissonWaiters) -> Result<u64, ClockError> {
        let mut turn = self.turn_by(ms)?.waking(waiters);
        self.continue_turning(&mut turn);
        Ok(turn.fired())
    }

    /// Turns the clock later: see [`Engine::turn_as_planned`].
    ///
    /// # Errors
    /// When a clock would leave its range, after the turns that are planned already, and when these are too many.
    pub(crate) fn plan_turn(&mut self, turn: PlannedTurn) -> Result<(), CommandError> {
        self.time.planned.plan(turn, &self.time.clock, self.time.system)
    }

    /// A client's script or transaction has ended: turns the clock as it has asked for, once what it did has had its
    /// effects at its own instant.
    #[inline]
    pub(crate) fn turn_as_planned(&mut self, slot: Slot) {
        if !self.time.planned.is_empty() {
            self.turn_all_planned(slot);
        }
    }

    #[cold]
    fn turn_all_planned(&mut self, slot: Slot) {
        self.commit();
        for planned in self.time.planned.take() {
            if self.shares_clock() {
                self.ask_clock(ClockRequest::Planned(planned));
            } else if let Some(mut turn) = self.planned_turn(planned) {
                self.keep_active(slot, |engine| engine.turning(|engine| engine.continue_turning(&mut turn)));
            }
        }
    }

    /// Returns the first deadline, and the microseconds until it is over by this rule. `None` if a clock cannot be
    /// turned so far.
    pub(super) fn earliest_in_us(&mut self, over: Over) -> Option<(Due, u64)> {
        let (due, _) = self.earliest(i64::MAX)?;
        let deadlines = match due {
            Due::Key => Deadlines { wall_ms: self.keyspace.next_deadline(), monotonic_ms: None },
            Due::Fields => {
                let wall_ms = self.keyspace.next_field_expiry().map(|(at, _)| at);
                Deadlines { wall_ms, monotonic_ms: None }
            }
            Due::KeyTimer => {
                let wall_ms = self.keyspace.next_key_timer().map(|(at, _)| at);
                Deadlines { wall_ms, monotonic_ms: None }
            }
            Due::Timer => Deadlines { wall_ms: None, monotonic_ms: self.time.timers.next_deadline(false) },
        };
        let in_us = self.time.now.us_until(deadlines, over)?;
        self.time.clock.reaches_us(self.time.system, in_us).then_some((due, in_us))
    }

    pub(super) fn turn(&mut self, us: u64) {
        // The target was within the range, and so is everything on the way to it.
        let before = self.time.now;
        if us > 0 && self.time.clock.advance_us(self.time.system, us).is_ok() {
            self.time.now = self.time.clock.read(self.time.system);
            self.keyspace.go_on_at(self.time.now, Over::Reached);
            self.note_turn(before);
            self.keyspace.note_turn();
        }
    }

    /// Changes the clock. Deadlines that this passes are due, and fire afterwards.
    ///
    /// # Errors
    /// When the clock would leave its range; then it is as before.
    pub(super) fn change_clock(&mut self, change: &ClockChange) -> Result<(), ClockError> {
        let before = self.time.now;
        change.apply(&mut self.time.clock, self.time.system)?;
        self.time.stop_turn(None);
        self.time.now = self.time.clock.read(self.time.system);
        self.keyspace.go_on_at(self.time.now, change.over());
        self.note_turn(before);
        if self.time.now.wall_us > before.wall_us {
            self.keyspace.note_turn();
        }
        Ok(())
    }

    /// The present instant, as the clocks show it.
    pub fn now(&self) -> Now {
        self.time.now
    }

    /// In how many milliseconds the next deadline on either clock is, if the clocks can be turned so far.
    pub(crate) fn next_in_ms(&mut self) -> Option<i64> {
        self.earliest_in_us(Over::Reached)?;
        self.earliest(i64::MAX).map(|(_, in_ms)| in_ms.max(0))
    }

    /// How many deadlines are pending on either clock.
    pub(crate) fn pending_timers(&self) -> usize {
        self.keyspace.timers() + self.time.timers.on_monotonic()
    }

    /// Tells where both hands stand, when something is due next, and how much is pending.
    pub(crate) fn tell_clock(&self, next_ms: Option<i64>, pending: usize, reply: &mut dyn Reply) {
        let info = self.time.clock.info(self.time.system);
        reply.map(6);
        reply.bulk(b"mode");
        reply.bulk(match info.mode {
            Mode::Real => b"real",
            Mode::Manual => b"manual",
        });
        reply.bulk(b"wall");
        reply.integer(info.now.wall_ms());
        reply.bulk(b"monotonic");
        reply.integer(info.now.monotonic_ms());
        reply.bulk(b"offset");
        reply.integer(info.offset_ms);
        reply.bulk(b"next");
        match next_ms {
            Some(ms) => reply.integer(ms),
            None => reply.null(),
        }
        reply.bulk(b"timers");
        reply.integer(pending as i64);
    }
}
