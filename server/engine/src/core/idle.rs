//! Clients that are closed as time passes: those that are idle, and those that leave their output unread.
//!
//! A client that is neither blocked nor subscribed nor a monitor has one timer while `timeout` is set. Requests do not
//! move it: when it fires and the client has been active since, it is set again.

use super::engine::Engine;
use crate::clients::{Closing, Slot};
use crate::clock::{Timer, TimerKind};

impl Engine {
    /// Gives a client a timer exactly while it can be closed for being idle. Called when it starts or stops being
    /// blocked, subscribed or a monitor.
    #[inline]
    pub(crate) fn watch_idle(&mut self, slot: Slot) {
        if self.config.timeout > 0 {
            self.arm_idle(slot);
        }
    }

    #[inline(never)]
    fn arm_idle(&mut self, slot: Slot) {
        let session = self.sessions.get(slot);
        let is_watched = self.config.timeout > 0
            && !session.blocked
            && !session.is_subscribed()
            && !session.is_monitor
            && !session.is_replica
            && !session.is_master
            && session.closing != Some(Closing::Now);
        if is_watched == session.idle_timer.is_some() {
            return;
        }
        if is_watched {
            self.set_idle_timer(slot, self.idle_deadline(slot));
        } else {
            self.cancel_idle(slot);
        }
    }

    /// When a client has been idle for too long, on the monotonic clock in milliseconds.
    fn idle_deadline(&self, slot: Slot) -> i64 {
        let last_ms = self.sessions.get(slot).last_active.monotonic_ms();
        last_ms.saturating_add_unsigned(self.config.timeout.saturating_mul(1000))
    }

    fn set_idle_timer(&mut self, slot: Slot, deadline_ms: i64) {
        let order = self.keyspace.next_order();
        let session = self.sessions.get_mut(slot);
        let timer = Timer { kind: TimerKind::Idle, client: session.id, order };
        session.idle_timer = Some(self.clock.timers_mut().insert(timer, deadline_ms));
    }

    fn cancel_idle(&mut self, slot: Slot) {
        if let Some(timer) = self.sessions.get_mut(slot).idle_timer.take() {
            self.clock.timers_mut().cancel(timer);
        }
    }

    /// `timeout` has another value.
    pub(crate) fn idle_timeout_changed(&mut self) {
        for slot in self.sessions.slots().collect::<Vec<_>>() {
            self.cancel_idle(slot);
            self.arm_idle(slot);
        }
    }

    /// Does something during which a client counts as active, however far the clock is advanced.
    pub(crate) fn keep_active<T>(&mut self, slot: Slot, act: impl FnOnce(&mut Self) -> T) -> T {
        self.cancel_idle(slot);
        let result = act(self);
        self.sessions.get_mut(slot).last_active = self.clock.now();
        self.watch_idle(slot);
        result
    }

    /// Sets the first timer again, if it is that of a client which has been active since it was set. Whether it was.
    pub(super) fn put_off_idle(&mut self, at_ms: i64, timer: Timer) -> bool {
        if timer.kind != TimerKind::Idle {
            return false;
        }
        let Some(slot) = self.sessions.find(timer.client) else { return false };
        let deadline_ms = self.idle_deadline(slot);
        if deadline_ms <= at_ms {
            return false;
        }
        self.cancel_idle(slot);
        self.set_idle_timer(slot, deadline_ms);
        true
    }

    /// Closes a client that has been idle for too long; its timer has fired. One that kept reading a long reply or
    /// sending a long request was not idle, and output that its connection has not begun to write, the answer after a
    /// wait, is written first.
    pub(super) fn close_idle(&mut self, client: u64) {
        let Some(slot) = self.sessions.find(client) else { return };
        let now = self.clock.now();
        let session = self.sessions.get_mut(slot);
        session.idle_timer = None;
        let unread = session.delivery.buffers().unwritten();
        let partial_reads = session.delivery.buffers().partial_reads();
        let is_sending = partial_reads != session.partial_reads_when_idle;
        if is_sending || (unread > 0 && unread != session.unread_when_idle) {
            session.unread_when_idle = unread;
            session.partial_reads_when_idle = partial_reads;
            session.last_active = now;
            self.arm_idle(slot);
        } else if unread == 0 && !session.delivery.out().is_empty() {
            session.close(Closing::AfterOutput);
            self.wake(slot);
        } else {
            self.cut_off(slot);
        }
    }

    /// A client has left so much unread that it is closed when that has not changed at this instant of real time, in
    /// milliseconds. One timer at a time is enough: the output is checked again when it fires.
    pub(super) fn watch_output(&mut self, slot: Slot, deadline_ms: i64) {
        if self.sessions.get(slot).output_timer.is_some() {
            return;
        }
        let order = self.keyspace.next_order();
        let session = self.sessions.get_mut(slot);
        let timer = Timer { kind: TimerKind::Output, client: session.id, order };
        session.output_timer = Some(self.clock.timers_mut().insert(timer, deadline_ms));
    }

    /// The timer of a client's output has fired.
    pub(super) fn output_due(&mut self, client: u64) {
        let Some(slot) = self.sessions.find(client) else { return };
        let session = self.sessions.get_mut(slot);
        session.output_timer = None;
        if session.over_soft_since.is_some() {
            self.check_output_now(slot);
        }
    }

    /// The limits of clients' output have changed.
    pub(crate) fn output_limits_changed(&mut self) {
        for slot in self.sessions.slots().collect::<Vec<_>>() {
            if let Some(timer) = self.sessions.get_mut(slot).output_timer.take() {
                self.clock.timers_mut().cancel(timer);
            }
            self.check_output_now(slot);
        }
    }

    fn check_output_now(&mut self, slot: Slot) {
        self.check_output_limit(slot);
        if self.sessions.get(slot).closing.is_some() {
            self.wake(slot);
        }
    }

    /// Cancels the timers of a client that disconnects.
    pub(super) fn cancel_timers(&mut self, slot: Slot) {
        self.cancel_idle(slot);
        let session = self.sessions.get_mut(slot);
        for timer in [session.output_timer.take(), session.lease_timer.take()].into_iter().flatten() {
            self.clock.timers_mut().cancel(timer);
        }
    }
}

#[cfg(test)]
mod tests;
