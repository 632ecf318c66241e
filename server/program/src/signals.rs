//! The signals that are passed on to a command.

pub(crate) use system::{Signal, Signals, pass_on};

#[cfg(unix)]
mod system {
    use rustix::process::{Pid, getpgrp, kill_process};
    use std::fs::File;
    use std::io;
    use tokio::process::Child;
    use tokio::signal::unix::{SignalKind, signal};

    pub(crate) use rustix::process::Signal;

    /// The signals SIGTERM, SIGINT and SIGHUP. While this value exists they do not end this process.
    pub(crate) struct Signals {
        terminate: tokio::signal::unix::Signal,
        interrupt: tokio::signal::unix::Signal,
        hangup: tokio::signal::unix::Signal,
    }

    impl Signals {
        pub(crate) fn new() -> io::Result<Self> {
            Ok(Signals {
                terminate: signal(SignalKind::terminate())?,
                interrupt: signal(SignalKind::interrupt())?,
                hangup: signal(SignalKind::hangup())?,
            })
        }

        pub(crate) async fn next(&mut self) -> Signal {
            tokio::select! {
                _ = self.terminate.recv() => Signal::TERM,
                _ = self.interrupt.recv() => Signal::INT,
                _ = self.hangup.recv() => Signal::HUP,
            }
        }
    }

    /// Sends the signal to a child process that has not been waited for.
    pub(crate) fn pass_on(signal: Signal, child: &Child) {
        // A second interrupt would cut short the command's reaction to the first.
        if signal == Signal::INT && is_in_foreground() {
            return;
        }
        let number = child.id().and_then(|id| id.try_into().ok()).and_then(Pid::from_raw);
        if let Some(number) = number {
            let _ended_already = kill_process(number, signal);
        }
    }

    /// Whether the keys of a terminal send signals to this process, and therefore to the command, too.
    fn is_in_foreground() -> bool {
        let terminal = File::open("/dev/tty");
        terminal.is_ok_and(|terminal| rustix::termios::tcgetpgrp(terminal) == Ok(getpgrp()))
    }
}

#[cfg(not(unix))]
mod system {
    use std::io;
    use tokio::process::Child;

    #[derive(Clone, Copy)]
    pub(crate) struct Signal;

    impl Signal {
        pub(crate) const TERM: Signal = Signal;
    }

    pub(crate) struct Signals;

    impl Signals {
        pub(crate) fn new() -> io::Result<Self> {
            Ok(Signals)
        }

        pub(crate) async fn next(&mut self) -> Signal {
            let _no_console = tokio::signal::ctrl_c().await;
            Signal
        }
    }

    /// Does nothing: the console has sent the interrupt to the command, too.
    pub(crate) fn pass_on(_: Signal, _: &Child) {}
}
