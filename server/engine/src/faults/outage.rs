//! An outage: the server is down and lets no client in.

use super::step::{FaultEffect, FaultStep};
use crate::clock::{TimerKey, TimerKind};

/// The end of an outage that lasts until it is ended explicitly, in milliseconds of the monotonic clock.
const FOR_GOOD_MS: i64 = i64::MAX;

/// The outage of the server, if there is one.
#[derive(Debug, Default)]
pub(crate) struct Outage {
    /// The end of the outage, on the monotonic clock in milliseconds.
    until_ms: Option<i64>,
    /// The timer that ends the outage of a server that runs alone; the driver of several ends theirs itself.
    timer: Option<TimerKey>,
    /// Whether the data after the outage belong to the replication history that the server knows.
    has_kept_history: bool,
    /// Whether connection attempts are refused.
    are_doors_closed: bool,
    /// Whether the server is killed as soon as its script ends.
    is_dying: bool,
    /// The client that has killed its own server. It is closed once it has its reply.
    killer: Option<u64>,
}

impl Outage {
    /// Whether the server was killed and has not come back.
    pub(crate) fn was_killed(&self) -> bool {
        self.until_ms.is_some()
    }

    /// Whether the server is down at this point in time of the monotonic clock, in milliseconds.
    #[inline]
    pub(crate) fn is_down(&self, now_ms: i64) -> bool {
        self.until_ms.is_some_and(|until_ms| now_ms < until_ms)
    }

    /// Whether a killed server may come back at this point in time of the monotonic clock, in milliseconds.
    pub(crate) fn may_come_up(&self, now_ms: i64) -> bool {
        self.was_killed() && !self.is_down(now_ms)
    }

    /// Returns when the server comes back, in milliseconds of the monotonic clock; `None`: no set end.
    pub(crate) fn comes_up_at(&self) -> Option<i64> {
        self.until_ms.filter(|until_ms| *until_ms != FOR_GOOD_MS)
    }

    /// Whether the data after the outage belong to the replication history that the server knows.
    pub(crate) fn has_kept_history(&self) -> bool {
        self.has_kept_history
    }

    /// Records that the data no longer belong to the replication history that the server knows.
    pub(crate) fn lose_history(&mut self) {
        self.has_kept_history = false;
    }

    /// Begins an outage of this number of milliseconds. If the server is alone, a timer ends the outage.
    pub(crate) fn begin(
        &mut self,
        ms: u64,
        has_kept_history: bool,
        is_alone: bool,
        step: &mut FaultStep<'_>,
    ) {
        step.cancel(self.timer.take());
        self.until_ms = Some(step.instant_in(ms));
        self.has_kept_history = has_kept_history;
        self.timer = is_alone.then(|| step.set_timer(TimerKind::Restart, 0, ms));
        self.follow_doors(step);
    }

    /// Whether the server is killed when its script ends. Replicas receive no more writes then.
    pub(crate) fn is_dying(&self) -> bool {
        self.is_dying
    }

    /// Announces that the server is killed as soon as its script ends.
    pub(crate) fn announce_kill(&mut self) {
        self.is_dying = true;
    }

    /// Kills the server until an instant of the monotonic clock, in ms. `killer`: its own client that asks for it.
    pub(crate) fn kill(
        &mut self,
        until_ms: i64,
        killer: Option<u64>,
        has_kept_history: bool,
        step: &mut FaultStep<'_>,
    ) {
        (self.until_ms, self.is_dying) = (Some(until_ms), false);
        (self.killer, self.has_kept_history) = (killer, has_kept_history);
        self.follow_doors(step);
    }

    /// Whether this client has killed the server and must be closed. Forgets the client.
    pub(crate) fn take_killer(&mut self, client: u64) -> bool {
        self.killer.take_if(|killer| *killer == client).is_some()
    }

    /// Ends the outage, if there is one, and lets clients in again.
    pub(crate) fn end(&mut self, step: &mut FaultStep<'_>) {
        self.until_ms = None;
        step.cancel(self.timer.take());
        self.follow_doors(step);
    }

    /// Ends an outage whose timer has fired.
    pub(crate) fn expire(&mut self, step: &mut FaultStep<'_>) {
        self.timer = None;
        self.end(step);
    }

    pub(super) fn reset(&mut self, step: &mut FaultStep<'_>) {
        self.end(step);
        *self = Outage::default();
    }

    /// Refuses connections while the server is down, and accepts them otherwise.
    fn follow_doors(&mut self, step: &mut FaultStep<'_>) {
        let are_closed = self.was_killed();
        if are_closed != std::mem::replace(&mut self.are_doors_closed, are_closed) {
            step.add(FaultEffect::Doors { are_open: !are_closed });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{MonotonicTimers, Timers};
    use lockwheel_store::keyspace::Keyspace;

    const CLOSED: [FaultEffect; 1] = [FaultEffect::Doors { are_open: false }];
    const OPEN: [FaultEffect; 1] = [FaultEffect::Doors { are_open: true }];

    /// Changes an outage at the time 100; returns the effects.
    fn change(timers: &mut Timers, change: impl FnOnce(&mut FaultStep<'_>)) -> Vec<FaultEffect> {
        let mut keyspace = Keyspace::new(1, 7);
        let mut step = FaultStep::new(MonotonicTimers::new(100, timers, &mut keyspace));
        change(&mut step);
        step.end()
    }

    #[test]
    fn the_outage_of_a_single_server_ends_with_its_timer() {
        let (mut outage, mut timers) = (Outage::default(), Timers::default());
        assert_eq!(change(&mut timers, |step| outage.begin(50, true, true, step)), CLOSED);
        assert_eq!((timers.next_deadline(false), outage.comes_up_at()), (Some(150), Some(150)));
        assert!(outage.is_down(149) && !outage.may_come_up(149));
        assert!(!outage.is_down(150) && outage.may_come_up(150) && outage.has_kept_history());
        timers.pop_due(false, 150).expect("it is due");
        assert_eq!(change(&mut timers, |step| outage.expire(step)), OPEN);
        assert!(!outage.was_killed());
    }

    #[test]
    fn an_outage_that_ends_early_cancels_its_timer() {
        let (mut outage, mut timers) = (Outage::default(), Timers::default());
        change(&mut timers, |step| outage.begin(50, false, true, step));
        assert_eq!(change(&mut timers, |step| outage.begin(80, false, true, step)), []);
        assert_eq!(timers.count(TimerKind::Restart), 1);
        assert_eq!(change(&mut timers, |step| outage.end(step)), OPEN);
        assert_eq!(
            (timers.count(TimerKind::Restart), change(&mut timers, |step| outage.end(step))),
            (0, vec![])
        );
    }

    #[test]
    fn a_permanently_killed_server_does_not_come_up_by_itself() {
        let (mut outage, mut timers) = (Outage::default(), Timers::default());
        outage.announce_kill();
        assert!(outage.is_dying() && !outage.was_killed());
        assert_eq!(change(&mut timers, |step| outage.kill(FOR_GOOD_MS, Some(7), false, step)), CLOSED);
        assert_eq!((outage.is_dying(), outage.comes_up_at()), (false, None));
        assert!(!outage.take_killer(8) && outage.take_killer(7) && !outage.take_killer(7));
    }
}
