//! The shutdown of a server (SHUTDOWN, SIGTERM, SIGINT). Replicas may first receive the data that they lack. Writes are
//! paused until then, or until `shutdown-timeout` has passed.

mod control;

pub(crate) use control::{ShutdownControl, ShutdownEffect};

use crate::clock::{Timer, TimerKey, TimerKind, Timers};
use crate::spec::CommandError;
use lockwheel_store::keyspace::Order;

/// The reply if the server goes on, because something could not be saved or a client has aborted the shutdown.
pub(crate) const NOT_ENDED: CommandError = CommandError::text("ERR Errors trying to SHUTDOWN. Check logs.");

/// The reply to SHUTDOWN ABORT if the server is not waiting for replicas.
pub(crate) const NONE_IN_PROGRESS: CommandError = CommandError::text("ERR No shutdown in progress.");

/// The manner in which a server ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ending {
    pub(crate) saves: bool,
    /// Whether the server ends even if the keys could not be saved.
    pub(crate) is_forced: bool,
    /// Whether the server does not wait for replicas.
    pub(crate) now: bool,
}

impl Ending {
    /// Returns the manner that the words of `shutdown-on-sigterm` or `shutdown-on-sigint` describe.
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShutdownRequest {
    /// The server ends. `without_saving`: the request says NOSAVE, which may end a slow script too.
    End { ending: Ending, without_saving: bool },
    /// The server goes on, if it is waiting for its replicas.
    Abort,
}

/// A shutdown that waits until the replicas have received the data that they lack.
#[derive(Debug)]
struct Waiting {
    ending: Ending,
    /// The timer that ends the wait. `None`: the wait is over, and the server ends.
    timeout: Option<TimerKey>,
    /// The deadline of the timer, in real monotonic milliseconds.
    until_ms: i64,
}

/// The state of the shutdown, if it has begun. While it waits, writes are paused.
#[derive(Debug, Default)]
pub(crate) struct Shutdown(Option<Waiting>);

impl Shutdown {
    pub(crate) fn has_begun(&self) -> bool {
        self.0.is_some()
    }

    /// Begins to wait for replicas until an instant of the real monotonic clock, in milliseconds.
    fn wait(&mut self, ending: Ending, until_ms: i64, timers: &mut Timers, order: Order) {
        let timer = Timer { kind: TimerKind::Shutdown, client: 0, order };
        let timeout = Some(timers.insert(timer, until_ms));
        self.0 = Some(Waiting { ending, timeout, until_ms });
    }

    pub(crate) fn awaits_replicas(&self) -> bool {
        self.0.as_ref().is_some_and(|waiting| waiting.timeout.is_some())
    }

    /// Returns the milliseconds from `now_ms`, on the real monotonic clock, until a shutdown ends the server.
    pub(crate) fn ends_in_ms(&self, now_ms: i64) -> Option<i64> {
        self.0.as_ref().map(|waiting| (waiting.until_ms - now_ms).max(0))
    }

    /// Records that the timer has fired, so the time for replicas is over.
    fn expire(&mut self) {
        if let Some(waiting) = &mut self.0 {
            waiting.timeout = None;
        }
    }

    /// Ends the wait for replicas. Returns the manner in which the server ends now, if a shutdown has begun.
    fn finish(&mut self, timers: &mut Timers) -> Option<Ending> {
        let waiting = self.0.as_mut()?;
        waiting.timeout.take().into_iter().for_each(|timeout| timers.cancel(timeout));
        Some(waiting.ending)
    }

    /// Aborts the shutdown. Returns whether one had begun.
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
    fn a_wait_for_replicas_ends_once_with_its_timer() {
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
