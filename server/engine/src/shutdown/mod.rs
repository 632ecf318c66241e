//! The end of a server (SHUTDOWN, SIGTERM, SIGINT): its replicas may get what they lack first. Until then, or until
//! `shutdown-timeout` is over, nothing is written.

mod control;

pub(crate) use control::{ShutdownControl, ShutdownEffect};

use crate::clock::{Timer, TimerKey, TimerKind, Timers};
use crate::spec::CommandError;
use lockwheel_store::keyspace::Order;

/// The reply when the server goes on, since something could not be saved or a client has said so.
pub(crate) const NOT_ENDED: CommandError = CommandError::text("ERR Errors trying to SHUTDOWN. Check logs.");

/// The reply to an ABORT of a server that does not wait for replicas.
pub(crate) const NONE_IN_PROGRESS: CommandError = CommandError::text("ERR No shutdown in progress.");

/// The manner in which a server ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ending {
    /// Its keys are saved.
    pub(crate) saves: bool,
    /// The server ends also when its keys could not be saved.
    pub(crate) is_forced: bool,
    /// No replica is waited for.
    pub(crate) now: bool,
}

impl Ending {
    /// Returns what the words of `shutdown-on-sigterm` say.
    pub(crate) fn of(words: &[String]) -> Self {
        let has = |name: &str| words.iter().any(|word| word == name);
        Ending { saves: has("save"), is_forced: has("force"), now: has("now") }
    }
}

/// A signal that ends the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndSignal {
    /// SIGTERM.
    Terminate,
    /// SIGINT.
    Interrupt,
}

/// A request of SHUTDOWN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShutdownRequest {
    /// The end. `without_saving`: the words say that nothing is saved, which may end a slow script too.
    End { ending: Ending, without_saving: bool },
    /// The server goes on, if it waits for its replicas.
    Abort,
}

/// A server that has been told to end, and lets its replicas get what they lack.
#[derive(Debug)]
struct Waiting {
    ending: Ending,
    /// The timer that ends the wait; `None`: the wait is over, and the server ends.
    timeout: Option<TimerKey>,
    /// The instant at which it is due, in real monotonic milliseconds.
    until_ms: i64,
}

/// The end of the server, as far as it has come. While it waits, writes are paused.
#[derive(Debug, Default)]
pub(crate) struct Shutdown(Option<Waiting>);

impl Shutdown {
    /// Whether the server has been told to end and has not been told otherwise.
    pub(crate) fn has_begun(&self) -> bool {
        self.0.is_some()
    }

    /// Begins to wait for replicas until an instant of the real monotonic clock, in milliseconds.
    fn wait(&mut self, ending: Ending, until_ms: i64, timers: &mut Timers, order: Order) {
        let timer = Timer { kind: TimerKind::Shutdown, client: 0, order };
        let timeout = Some(timers.insert(timer, until_ms));
        self.0 = Some(Waiting { ending, timeout, until_ms });
    }

    /// Whether replicas are being waited for.
    pub(crate) fn awaits_replicas(&self) -> bool {
        self.0.as_ref().is_some_and(|waiting| waiting.timeout.is_some())
    }

    /// Returns in how many milliseconds the server ends at the latest, if it waits for replicas, at this instant of the
    /// real monotonic clock.
    pub(crate) fn ends_in_ms(&self, now_ms: i64) -> Option<i64> {
        self.0.as_ref().map(|waiting| (waiting.until_ms - now_ms).max(0))
    }

    /// Records that the time for replicas is over: the timer has fired.
    fn expire(&mut self) {
        if let Some(waiting) = &mut self.0 {
            waiting.timeout = None;
        }
    }

    /// Ends the wait for replicas; returns how the server ends now, if it was told to.
    fn finish(&mut self, timers: &mut Timers) -> Option<Ending> {
        let waiting = self.0.as_mut()?;
        waiting.timeout.take().into_iter().for_each(|timeout| timers.cancel(timeout));
        Some(waiting.ending)
    }

    /// Forgets that the server is to end; returns whether it was.
    fn forget(&mut self, timers: &mut Timers) -> bool {
        let waiting = self.0.take();
        let timeout = waiting.as_ref().and_then(|waiting| waiting.timeout);
        timeout.into_iter().for_each(|timeout| timers.cancel(timeout));
        waiting.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_ends_once_and_its_timer_with_it() {
        let (mut shutdown, mut timers) = (Shutdown::default(), Timers::default());
        let ending = Ending::of(&["save".to_owned(), "now".to_owned()]);
        assert_eq!(ending, Ending { saves: true, is_forced: false, now: true });
        assert!(!shutdown.has_begun() && !shutdown.forget(&mut timers));
        shutdown.wait(ending, 500, &mut timers, Order::default());
        assert_eq!((shutdown.ends_in_ms(200), shutdown.ends_in_ms(600)), (Some(300), Some(0)));
        assert_eq!((shutdown.awaits_replicas(), timers.next_deadline(true)), (true, Some(500)));
        assert_eq!(shutdown.finish(&mut timers), Some(ending));
        assert_eq!((shutdown.awaits_replicas(), timers.next_deadline(true)), (false, None));
        assert!(shutdown.has_begun() && shutdown.forget(&mut timers) && !shutdown.has_begun());
    }
}
