//! The timer that wakes the first loop at a deadline: a system timer, if any, since polls count whole milliseconds.

use std::cell::Cell;
use std::io;
use std::time::Duration;

/// A timer that ends the wait of a loop.
pub(super) struct Timer {
    alarm: alarm::Alarm,
    /// The instant to which the timer is set, in the caller's microseconds.
    at: Cell<Option<u64>>,
}

impl Timer {
    /// Creates a timer that expires as an event of `token`.
    pub(super) fn new(registry: &mio::Registry, token: mio::Token) -> io::Result<Self> {
        Ok(Timer { alarm: alarm::Alarm::new(registry, token)?, at: Cell::new(None) })
    }

    /// Records that the timer has ended a wait. It must be set again to end another.
    pub(super) fn on_fired(&self) {
        self.at.set(None);
    }

    /// Sets the timer to the instant `at`, which is `left()` from now. Returns the timeout that the wait needs, if any.
    pub(super) fn set(&self, at: u64, left: impl FnOnce() -> Duration) -> Option<Duration> {
        if self.at.get() == Some(at) && alarm::ENDS_WAITS {
            return None;
        }
        let left = left();
        if left.is_zero() {
            return Some(left);
        }
        self.at.set(Some(at));
        self.alarm.set(left)
    }
}

#[cfg(target_os = "linux")]
mod alarm {
    use mio::{Interest, Registry, Token, unix::SourceFd};
    use rustix::time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
        timerfd_settime,
    };
    use std::io;
    use std::os::fd::{AsRawFd, OwnedFd};
    use std::time::Duration;

    pub(super) const ENDS_WAITS: bool = true;

    pub(super) struct Alarm(OwnedFd);

    impl Alarm {
        pub(super) fn new(registry: &Registry, token: Token) -> io::Result<Self> {
            let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
            let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
            registry.register(&mut SourceFd(&timer.as_raw_fd()), token, Interest::READABLE)?;
            Ok(Alarm(timer))
        }

        /// Ends waits after `left`, which is above zero. The timer is never read; setting it again makes up for that.
        pub(super) fn set(&self, left: Duration) -> Option<Duration> {
            let never = Timespec { tv_sec: 0, tv_nsec: 0 };
            let it_value = Timespec::try_from(left).ok()?;
            let once = Itimerspec { it_interval: never, it_value };
            match timerfd_settime(&self.0, TimerfdTimerFlags::empty(), &once) {
                Ok(_) => None,
                Err(error) => {
                    tracing::warn!(%error, "cannot set a timer");
                    Some(left)
                }
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod alarm {
    use std::io;
    use std::time::Duration;

    pub(super) const ENDS_WAITS: bool = false;

    pub(super) struct Alarm;

    impl Alarm {
        pub(super) fn new(_: &mio::Registry, _: mio::Token) -> io::Result<Self> {
            Ok(Alarm)
        }

        pub(super) fn set(&self, left: Duration) -> Option<Duration> {
            Some(left)
        }
    }
}
