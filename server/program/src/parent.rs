//! The process that started this one, and its end.

use std::io;
use std::thread;

/// The process that started this one, by its number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parent(u32);

impl Parent {
    /// The parent now: to be asked for before anything that takes time. `None` when it is in another namespace, or is
    /// the first process of all: no process outlives that one.
    ///
    /// A parent that ended even before this process began to run cannot be told from the one that adopted us.
    pub(crate) fn now() -> Option<Self> {
        // 0: one in another namespace.
        Some(parent_id()).filter(|number| *number > 1).map(Parent)
    }

    /// Calls `gone` on a thread of its own when the parent process has ended, whichever of its threads started this
    /// one.
    ///
    /// # Errors
    /// The system's, when it refuses a thread.
    pub(crate) fn on_end(self, gone: impl FnOnce() + Send + 'static) -> io::Result<()> {
        let wait = move || {
            self.wait();
            gone();
        };
        thread::Builder::new().name("lockwheel-parent".to_owned()).spawn(wait).map(drop)
    }

    /// Whether it has ended: then another process has adopted this one.
    fn has_ended(self) -> bool {
        parent_id() != self.0
    }

    #[cfg(target_os = "linux")]
    fn wait(self) {
        use rustix::event::{PollFd, PollFlags, poll};
        use rustix::process::{Pid, PidfdFlags, pidfd_open};
        // The signal of `PR_SET_PDEATHSIG` comes when the parent's thread ends, which may be long before the process.
        let number = self.0.try_into().ok().and_then(Pid::from_raw);
        let process = number.map(|number| pidfd_open(number, PidfdFlags::empty()));
        let Some(Ok(process)) = process else { return self.ask_again_and_again() };
        // It may have ended before, and its number may be another process' by now.
        while !self.has_ended() {
            let mut ends = [PollFd::new(&process, PollFlags::IN)];
            if poll(&mut ends, None).is_ok_and(|ended| ended > 0) {
                return;
            }
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn wait(self) {
        self.ask_again_and_again();
    }

    /// Where the system does not tell.
    fn ask_again_and_again(self) {
        const INTERVAL: std::time::Duration = std::time::Duration::from_millis(50);
        while !self.has_ended() {
            thread::sleep(INTERVAL);
        }
    }
}

#[cfg(unix)]
fn parent_id() -> u32 {
    std::os::unix::process::parent_id()
}

/// The system does not tell.
#[cfg(not(unix))]
fn parent_id() -> u32 {
    0
}
