//! The timers of clients. They close clients that are idle for too long or leave their output unread, and renew leases.
//!
//! While `timeout` is set, each client that is neither blocked nor subscribed nor a monitor has one idle timer.
//! Requests do not move the timer. If it fires and the client has been active since, it is set again.

use super::session::{Closing, Session};
use super::sessions::Sessions;
use super::slot::Slot;
use crate::clock::{Timer, TimerKey, TimerKind, Timers};
use lockwheel_store::keyspace::{Keyspace, Order};
use lockwheel_store::time::Now;

/// The timers of clients, as a capability.
#[derive(Debug)]
pub(crate) struct ClientTimers<'a> {
    pub(crate) sessions: &'a mut Sessions,
    pub(crate) timers: &'a mut Timers,
    /// The source of the order among deadlines.
    pub(crate) keyspace: &'a mut Keyspace,
    /// `timeout`, in seconds. 0: no idle client is closed.
    pub(crate) timeout_s: u64,
    pub(crate) now: Now,
}

/// The fate of a client whose idle timer has fired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IdleEnd {
    /// The client stays: it was not idle, or is already gone.
    Stays,
    /// The client is closed when its output is written.
    ClosesAfterOutput(Slot),
    /// The client is disconnected at once.
    IsCutOff(Slot),
}

impl ClientTimers<'_> {
    /// Sets the idle timer of a client if the client may be closed for idleness; else cancels it.
    pub(crate) fn watch_idle(&mut self, slot: Slot) {
        let session = self.sessions.get(slot);
        let is_watched = self.timeout_s > 0
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
            self.set_idle(slot, self.idle_deadline(slot));
        } else {
            self.cancel_idle(slot);
        }
    }

    /// Returns the instant from which a client counts as idle for too long, in milliseconds of the monotonic clock.
    fn idle_deadline(&self, slot: Slot) -> i64 {
        let last_ms = self.sessions.get(slot).last_active.monotonic_ms();
        last_ms.saturating_add_unsigned(self.timeout_s.saturating_mul(1000))
    }

    fn set_idle(&mut self, slot: Slot, deadline_ms: i64) {
        let timer = self.insert(TimerKind::Idle, self.sessions.get(slot).id, deadline_ms);
        self.sessions.get_mut(slot).idle_timer = Some(timer);
    }

    fn insert(&mut self, kind: TimerKind, client: u64, deadline_ms: i64) -> TimerKey {
        let order = self.keyspace.next_order();
        self.timers.insert(Timer { kind, client, order }, deadline_ms)
    }

    pub(crate) fn cancel_idle(&mut self, slot: Slot) {
        self.cancel(slot, |session| &mut session.idle_timer);
    }

    fn cancel(&mut self, slot: Slot, of: impl Fn(&mut Session) -> &mut Option<TimerKey>) {
        if let Some(timer) = of(self.sessions.get_mut(slot)).take() {
            self.timers.cancel(timer);
        }
    }

    /// Sets all idle timers again after a change of `timeout`.
    pub(crate) fn timeout_changed(&mut self) {
        for slot in self.sessions.slots().collect::<Vec<_>>() {
            self.cancel_idle(slot);
            self.watch_idle(slot);
        }
    }

    /// Returns the first timer's deadline, in milliseconds, and its order, exactly if no later than `until_ms`. Idle
    /// timers of clients that were active since are moved first.
    pub(crate) fn first(&mut self, until_ms: i64) -> Option<(i64, Order)> {
        loop {
            match self.timers.first() {
                Some((at_ms, timer)) if at_ms <= until_ms && self.put_off_idle(at_ms, timer) => {}
                first => return first.map(|(at_ms, timer)| (at_ms, timer.order)),
            }
        }
    }

    /// Moves the first timer if it is the idle timer of a client that was active since. Returns whether it was.
    fn put_off_idle(&mut self, at_ms: i64, timer: Timer) -> bool {
        if timer.kind != TimerKind::Idle {
            return false;
        }
        let Some(slot) = self.sessions.find(timer.client) else { return false };
        let deadline_ms = self.idle_deadline(slot);
        if deadline_ms <= at_ms {
            return false;
        }
        self.cancel_idle(slot);
        self.set_idle(slot, deadline_ms);
        true
    }

    /// Returns the fate of a client whose idle timer has fired. One that kept reading a long reply or sending a long
    /// request was not idle. Output that its connection has not begun to write is written first.
    pub(crate) fn end_idle(&mut self, client: u64) -> IdleEnd {
        let Some(slot) = self.sessions.find(client) else { return IdleEnd::Stays };
        let session = self.sessions.get_mut(slot);
        session.idle_timer = None;
        let unread = session.delivery.buffers().unwritten();
        let partial_reads = session.delivery.buffers().partial_reads();
        let is_sending = partial_reads != session.partial_reads_when_idle;
        if is_sending || (unread > 0 && unread != session.unread_when_idle) {
            session.unread_when_idle = unread;
            session.partial_reads_when_idle = partial_reads;
            session.last_active = self.now;
            self.watch_idle(slot);
            IdleEnd::Stays
        } else if unread == 0 && !session.delivery.out().is_empty() {
            IdleEnd::ClosesAfterOutput(slot)
        } else {
            IdleEnd::IsCutOff(slot)
        }
    }

    /// Checks a client's output at `deadline_ms`, of real time, and closes the client if it was over its soft limit
    /// until then. One timer at a time is enough: the output is checked again when it fires.
    pub(crate) fn watch_output(&mut self, slot: Slot, deadline_ms: i64) {
        let session = self.sessions.get(slot);
        if session.output_timer.is_none() {
            let timer = self.insert(TimerKind::Output, session.id, deadline_ms);
            self.sessions.get_mut(slot).output_timer = Some(timer);
        }
    }

    /// Returns the client whose output to check after its timer, unless it is gone or below its soft limit.
    pub(crate) fn end_output(&mut self, client: u64) -> Option<Slot> {
        let slot = self.sessions.find(client)?;
        let session = self.sessions.get_mut(slot);
        session.output_timer = None;
        session.over_soft_since.map(|_| slot)
    }

    /// Cancels all output timers after a change of the limits. Returns all clients, whose output must be checked again.
    pub(crate) fn output_limits_changed(&mut self) -> Vec<Slot> {
        let slots: Vec<Slot> = self.sessions.slots().collect();
        slots.iter().for_each(|&slot| self.cancel(slot, |session| &mut session.output_timer));
        slots
    }

    /// Sets when the first lease of a client is renewed, in milliseconds of the monotonic clock; `None`: never.
    pub(crate) fn set_lease(&mut self, slot: Slot, due_ms: Option<i64>) {
        self.cancel(slot, |session| &mut session.lease_timer);
        let client = self.sessions.get(slot).id;
        let timer = due_ms.map(|due_ms| self.insert(TimerKind::Lease, client, due_ms));
        self.sessions.get_mut(slot).lease_timer = timer;
    }

    pub(crate) fn cancel_all(&mut self, slot: Slot) {
        self.cancel_idle(slot);
        self.cancel(slot, |session| &mut session.output_timer);
        self.cancel(slot, |session| &mut session.lease_timer);
    }
}
