//! The parent of this process, and its end.

use std::io;
use std::thread;

/// The process id of the parent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parent(u32);

impl Parent {
    /// Returns the present parent; call this first, since an adopter cannot be told apart. `None`: another namespace,
    /// or the system's first process, which outlives all.
    pub(crate) fn now() -> Option<Self> {
        Some(parent_id()).filter(|number| *number > 1).map(Parent)
    }

    /// Calls `gone` on a new thread when the parent process, with all its threads, has ended. Fails without a thread.
    pub(crate) fn on_end(self, gone: impl FnOnce() + Send + 'static) -> io::Result<()> {
        let wait = move || {
            self.wait();
            gone();
        };
        thread::Builder::new().name("lockwheel-parent".to_owned()).spawn(wait).map(drop)
    }

    /// Whether the parent has ended. Another process has then adopted this one.
    fn has_ended(self) -> bool {
        parent_id() != self.0
    }

    #[cfg(target_os = "linux")]
    fn wait(self) {
        use rustix::event::{PollFd, PollFlags, poll};
        use rustix::process::{Pid, PidfdFlags, pidfd_open};
        // The signal of `PR_SET_PDEATHSIG` arrives when the parent's thread ends, perhaps long before it.
        let number = self.0.try_into().ok().and_then(Pid::from_raw);
        let process = number.map(|number| pidfd_open(number, PidfdFlags::empty()));
        let Some(Ok(process)) = process else { return self.ask_again_and_again() };
        // The parent may have ended before, and another process may have its id by now.
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

    /// Polls the parent's id, for systems that do not report the end of a process.
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

/// Returns 0: the system does not report the parent.
#[cfg(not(unix))]
fn parent_id() -> u32 {
    0
}
