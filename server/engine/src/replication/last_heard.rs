//! The time at which the peer of a replication link was last heard.

use crate::clock::EngineClock;

/// A point in time on the clocks that links use, in monotonic milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LinkClocks {
    /// Real time, for links between processes.
    pub(crate) real_ms: i64,
    /// The clock that servers of one process share, for links between them.
    pub(crate) shared_ms: i64,
}

impl LinkClocks {
    pub(crate) fn of(clock: &EngineClock) -> Self {
        LinkClocks { real_ms: clock.system().monotonic_ms(), shared_ms: clock.now().monotonic_ms() }
    }

    /// Returns the time that limits how long an unused backlog is kept. `is_joined`: another server shares its clock.
    pub(crate) fn alone_ms(self, is_joined: bool) -> i64 {
        if is_joined { self.shared_ms } else { self.real_ms }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LastHeard {
    /// The peer was heard at this instant of real time.
    At(i64),
    /// The peer is always heard: it is a server of this process, and the network between the two works.
    Always,
    /// The peer is a server of this process, heard until it was cut off at this instant of the shared clock.
    Until(i64),
}

impl LastHeard {
    /// Records the first contact with a peer.
    pub(crate) fn first(in_process: bool, now: LinkClocks) -> Self {
        if in_process { LastHeard::Always } else { LastHeard::At(now.real_ms) }
    }

    /// Whether the peer is a server of this process.
    pub(crate) fn is_in_process(self) -> bool {
        !matches!(self, LastHeard::At(_))
    }

    /// Returns the milliseconds of the clock that the link uses.
    pub(crate) fn clock_ms(self, now: LinkClocks) -> i64 {
        if self.is_in_process() { now.shared_ms } else { now.real_ms }
    }

    /// Records that bytes have arrived.
    pub(crate) fn hear(&mut self, now: LinkClocks) {
        if let LastHeard::At(at_ms) = self {
            *at_ms = now.real_ms;
        }
    }

    /// Records that a server of this process is cut off, or reachable again.
    pub(crate) fn set_cut(&mut self, is_cut: bool, now: LinkClocks) {
        match self {
            LastHeard::Always if is_cut => *self = LastHeard::Until(now.shared_ms),
            LastHeard::Until(_) if !is_cut => *self = LastHeard::Always,
            _ => {}
        }
    }

    /// Returns the milliseconds since the peer was last heard.
    pub(crate) fn silent_ms(self, now: LinkClocks) -> i64 {
        match self {
            LastHeard::At(at_ms) => (now.real_ms - at_ms).max(0),
            LastHeard::Always => 0,
            LastHeard::Until(at_ms) => (now.shared_ms - at_ms).max(0),
        }
    }

    /// Whether a link between processes was silent for too long. A test may delay a link within a process at will.
    pub(crate) fn is_timed_out(self, now: LinkClocks, timeout_ms: i64) -> bool {
        !self.is_in_process() && self.silent_ms(now) > timeout_ms
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(real_ms: i64, shared_ms: i64) -> LinkClocks {
        LinkClocks { real_ms, shared_ms }
    }

    #[test]
    fn links_between_processes_use_real_time() {
        let mut heard = LastHeard::first(false, at(5, 100));
        assert_eq!((heard.silent_ms(at(25, 9000)), heard.clock_ms(at(25, 9000))), (20, 25));
        assert!(heard.is_timed_out(at(25, 9000), 19) && !heard.is_timed_out(at(25, 9000), 20));
        heard.set_cut(true, at(25, 9000));
        heard.hear(at(30, 9000));
        assert_eq!(heard.silent_ms(at(31, 9000)), 1);
    }

    #[test]
    fn servers_of_one_process_stay_in_contact_until_a_partition() {
        let mut heard = LastHeard::first(true, at(5, 100));
        assert_eq!(heard.silent_ms(at(9000, 9000)), 0);
        heard.set_cut(true, at(9000, 200));
        heard.set_cut(true, at(9000, 300));
        heard.hear(at(9000, 400));
        assert_eq!((heard.silent_ms(at(99_000, 1200)), heard.clock_ms(at(99_000, 1200))), (1000, 1200));
        assert!(!heard.is_timed_out(at(99_000, 1200), 0));
        heard.set_cut(false, at(99_000, 1200));
        assert_eq!(heard.silent_ms(at(99_000, 1300)), 0);
    }
}
