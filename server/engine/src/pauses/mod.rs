//! Pauses of clients: which requests may not run now, and the clients whose requests are parked. A pause comes from
//! CLIENT PAUSE, from a master's part that is handed over, or from a server that is about to end.

mod kind;

pub(crate) use kind::{PauseKind, may_replicate};

use crate::clock::{Timer, TimerKey, TimerKind, Timers};
use lockwheel_store::keyspace::Order;
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug)]
struct ClientPause {
    kind: PauseKind,
    /// The end, on the monotonic clock in milliseconds.
    until_ms: i64,
}

/// The pauses in force, and the clients that they hold. A change is followed by [`Pauses::take_change`], which says
/// that the rest of the engine has to follow it.
#[derive(Debug, Default)]
pub(crate) struct Pauses {
    by_client: Option<ClientPause>,
    timer: Option<TimerKey>,
    /// Writes are paused until the master's part is handed over, or is not.
    by_failover: bool,
    /// Writes are paused until replicas have everything, or are waited for no longer, and then for good.
    by_shutdown: bool,
    /// The clients whose requests are parked, by arrival.
    parked: BTreeMap<u64, u64>,
    /// A pause is over: parked requests go on when the next batch begins.
    has_ended: bool,
    /// A pause has begun or ended since the engine has followed.
    has_changed: bool,
    /// The pause of CLIENT PAUSE has, and needs another timer.
    is_retimed: bool,
}

impl Pauses {
    /// Returns which requests are paused, if any are.
    pub(crate) fn kind(&self) -> Option<PauseKind> {
        let pauses_writes = self.by_failover || self.by_shutdown;
        self.by_client.map(|pause| pause.kind).max(pauses_writes.then_some(PauseKind::Write))
    }

    /// Pauses clients until an instant of the monotonic clock, in milliseconds. A present pause of this sort lasts
    /// until the later of both ends, and is as strict as the stricter of both.
    pub(crate) fn pause(&mut self, kind: PauseKind, until_ms: i64) {
        let pause = self.by_client.map_or(ClientPause { kind, until_ms }, |old| ClientPause {
            kind: kind.max(old.kind),
            until_ms: until_ms.max(old.until_ms),
        });
        self.by_client = Some(pause);
        (self.has_changed, self.is_retimed) = (true, true);
    }

    /// Ends the pause that a client has asked for, if there is one.
    pub(crate) fn unpause(&mut self) {
        if self.by_client.take().is_some() {
            self.is_retimed = true;
            self.end();
        }
    }

    /// Ends the pause that a client has asked for: its timer has fired.
    pub(crate) fn expire(&mut self) {
        self.timer = None;
        self.unpause();
    }

    /// Pauses writes while the master's part is handed over, or no longer.
    pub(crate) fn set_failover(&mut self, pauses: bool) {
        if std::mem::replace(&mut self.by_failover, pauses) != pauses {
            self.change(pauses);
        }
    }

    /// Pauses writes while the server is about to end, or no longer.
    pub(crate) fn set_shutdown(&mut self, pauses: bool) {
        if std::mem::replace(&mut self.by_shutdown, pauses) != pauses {
            self.change(pauses);
        }
    }

    fn change(&mut self, begins: bool) {
        if begins {
            self.has_changed = true;
        } else {
            self.end();
        }
    }

    fn end(&mut self) {
        self.has_changed = true;
        self.has_ended = true;
    }

    /// Returns whether a pause has begun or ended since the last call. The timer of CLIENT PAUSE is then set for its
    /// present end, in this order among all deadlines.
    pub(crate) fn take_change(&mut self, timers: &mut Timers, order: impl FnOnce() -> Order) -> bool {
        if !std::mem::take(&mut self.has_changed) {
            return false;
        }
        if std::mem::take(&mut self.is_retimed) {
            self.timer.take().into_iter().for_each(|timer| timers.cancel(timer));
            self.timer = self.by_client.map(|ClientPause { until_ms, .. }| {
                timers.insert(Timer { kind: TimerKind::Pause, client: 0, order: order() }, until_ms)
            });
        }
        true
    }

    /// Records that the request of a client is parked, which came as this arrival.
    pub(crate) fn park(&mut self, arrival: u64, client: u64) {
        self.parked.insert(arrival, client);
    }

    /// Forgets a parked request: it goes on, or its client is gone.
    pub(crate) fn forget(&mut self, arrival: u64) {
        self.parked.remove(&arrival);
    }

    #[inline]
    pub(crate) fn has_parked(&self) -> bool {
        !self.parked.is_empty()
    }

    /// Whether a pause is over, so that parked requests are to be tried again.
    #[inline]
    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Returns the clients to be tried again after a pause, the longest parked first. They stay parked until forgotten.
    pub(crate) fn take_resumed(&mut self) -> Vec<u64> {
        match std::mem::take(&mut self.has_ended) {
            true => self.parked.values().copied().collect(),
            false => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lets the engine follow; returns whether it had to, and the end of the pause of CLIENT PAUSE.
    fn follow(pauses: &mut Pauses, timers: &mut Timers) -> (bool, Option<i64>) {
        (pauses.take_change(timers, Order::default), timers.next_deadline(false))
    }

    #[test]
    fn two_pauses_combine_to_the_stricter_kind_and_the_later_end() {
        let (mut pauses, mut timers) = (Pauses::default(), Timers::default());
        pauses.pause(PauseKind::All, 100);
        assert_eq!(follow(&mut pauses, &mut timers), (true, Some(100)));
        pauses.pause(PauseKind::Write, 300);
        assert_eq!(
            (follow(&mut pauses, &mut timers), pauses.kind()),
            ((true, Some(300)), Some(PauseKind::All))
        );
        assert_eq!(follow(&mut pauses, &mut timers), (false, Some(300)));
        pauses.unpause();
        assert_eq!((follow(&mut pauses, &mut timers), pauses.kind()), ((true, None), None));
    }

    #[test]
    fn writes_stay_paused_until_every_reason_is_gone() {
        let (mut pauses, mut timers) = (Pauses::default(), Timers::default());
        pauses.set_failover(true);
        pauses.set_shutdown(true);
        pauses.pause(PauseKind::Write, 50);
        follow(&mut pauses, &mut timers);
        pauses.unpause();
        pauses.set_failover(false);
        assert_eq!(pauses.kind(), Some(PauseKind::Write));
        pauses.set_shutdown(false);
        assert_eq!((follow(&mut pauses, &mut timers), pauses.kind()), ((true, None), None));
        pauses.set_shutdown(false);
        assert!(!follow(&mut pauses, &mut timers).0);
    }

    #[test]
    fn parked_clients_resume_once_in_order_of_arrival() {
        let mut pauses = Pauses::default();
        pauses.set_failover(true);
        [(3, 30), (1, 10), (2, 20)].into_iter().for_each(|(arrival, client)| pauses.park(arrival, client));
        assert!(pauses.take_resumed().is_empty());
        pauses.set_failover(false);
        pauses.forget(2);
        assert!(pauses.has_ended() && pauses.has_parked());
        assert_eq!(pauses.take_resumed(), [10, 30]);
        assert!(pauses.take_resumed().is_empty() && pauses.has_parked());
    }
}
