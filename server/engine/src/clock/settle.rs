//! The waits of an advance for the reactions of clients.

use std::time::Duration;

/// The waits for silence after each instant at which a client was sent something, in microseconds of real time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settle {
    quiet_us: u64,
    limit_us: u64,
}

impl Settle {
    /// The default limit on the duration of an advance.
    pub const DEFAULT_LIMIT: Duration = Duration::from_secs(5);

    /// Waits after each such instant until no request has come for `quiet`, or the advance has lasted for `limit`.
    pub fn new(quiet: Duration, limit: Duration) -> Self {
        let [quiet_us, limit_us] =
            [quiet, limit].map(|time| u64::try_from(time.as_micros()).unwrap_or(u64::MAX));
        Settle { quiet_us, limit_us }
    }
}

/// The waits for silence of one advance. All instants are those of the system's monotonic clock, in microseconds.
#[derive(Debug)]
pub(super) struct Settling {
    settle: Option<Settle>,
    /// The instant at which the limit ends.
    limit_at_us: Option<u64>,
    /// The last instant at which clients were sent something that they may still react to.
    sent_at_us: Option<u64>,
    /// Whether clients were sent something since their last chance to react.
    has_sent: bool,
    is_settled: bool,
}

impl Settling {
    /// Returns the waits that `settle` prescribes; none if it is `None`.
    pub(super) fn new(settle: Option<Settle>) -> Self {
        Settling { settle, limit_at_us: None, sent_at_us: None, has_sent: false, is_settled: true }
    }

    /// Records the beginning of the advance, once.
    pub(super) fn begin(&mut self, now_us: u64) {
        if let Some(settle) = self.settle {
            self.limit_at_us.get_or_insert(now_us.saturating_add(settle.limit_us));
        }
    }

    /// Records whether clients were sent something at the present instant of the advance.
    pub(super) fn note_sent(&mut self, has_sent: bool) {
        self.has_sent |= has_sent && self.settle.is_some();
    }

    /// Whether clients were sent something since the last call.
    pub(super) fn take_sent(&mut self) -> bool {
        std::mem::take(&mut self.has_sent)
    }

    /// Begins a wait for the reactions of clients.
    pub(super) fn await_silence(&mut self, now_us: u64) {
        self.sent_at_us = Some(now_us);
    }

    /// Returns the wait from `now_us` on, in microseconds, if the last request ended at `quiet_since_us`. `None` if the
    /// advance continues. After the limit there are no more waits.
    pub(super) fn wait_us(&mut self, now_us: u64, quiet_since_us: u64) -> Option<u64> {
        let quiet_at_us = self.sent_at_us?.max(quiet_since_us).saturating_add(self.settle?.quiet_us);
        if quiet_at_us <= now_us {
            self.sent_at_us = None;
            return None;
        }
        let limit_at_us = self.limit_at_us.unwrap_or(u64::MAX);
        if limit_at_us <= now_us {
            self.cut();
            return None;
        }
        Some(quiet_at_us.min(limit_at_us) - now_us)
    }

    /// Ends all waits for clients, for good.
    pub(super) fn cut(&mut self) {
        self.settle = None;
        self.sent_at_us = None;
        self.is_settled = false;
    }

    /// Whether the clients always fell silent before the limit.
    pub(super) fn is_settled(&self) -> bool {
        self.is_settled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settling(quiet_ms: u64, limit_ms: u64) -> Settling {
        let [quiet, limit] = [quiet_ms, limit_ms].map(Duration::from_millis);
        Settling::new(Some(Settle::new(quiet, limit)))
    }

    #[test]
    fn each_request_makes_the_wait_longer_until_the_limit() {
        let mut settling = settling(5, 12);
        settling.begin(1000);
        settling.note_sent(true);
        assert!(settling.take_sent() && !settling.take_sent());
        settling.await_silence(1000);
        assert_eq!(settling.wait_us(1000, 0), Some(5000));
        assert_eq!(settling.wait_us(6000, 5000), Some(4000));
        assert_eq!(settling.wait_us(9000, 8500), Some(4000), "the limit comes first");
        assert!(settling.is_settled());
        assert_eq!(settling.wait_us(13_000, 12_000), None);
        assert!(!settling.is_settled());
    }

    #[test]
    fn an_advance_continues_after_silence_and_waits_only_with_settle() {
        let mut quiet = settling(5, 100);
        quiet.begin(0);
        quiet.await_silence(0);
        assert_eq!((quiet.wait_us(5000, 0), quiet.wait_us(5000, 4999)), (None, None));
        assert!(quiet.is_settled());
        let mut never = Settling::new(None);
        never.note_sent(true);
        assert!(!never.take_sent());
    }
}
