//! Crash commands of DEBUG: ends the process abruptly, or restarts the program.

use lockwheel_engine::core::Crash;
use std::path::PathBuf;
use std::process;

#[derive(Debug)]
pub(super) struct Beginning {
    /// The directory in which the process was started.
    pub(super) started_in: Option<PathBuf>,
    /// The port that the system picked at the first start. A restart keeps it.
    pub(super) picked_port: Option<u16>,
}

/// Ends the process as the crash demands, like Redis, or restarts the program.
pub(super) fn end_process(crash: Crash, beginning: &Beginning) {
    match crash {
        Crash::Segfault => {
            tracing::error!("Lockwheel crashed by signal: 11, as requested by DEBUG");
            raise_segfault();
            process::abort();
        }
        Crash::Abort => process::abort(),
        Crash::Exit => process::exit(1),
        Crash::Restart(delay_ms) => {
            tracing::warn!("The process restarts in {delay_ms} milliseconds, as requested by DEBUG");
            std::thread::sleep(std::time::Duration::from_millis(delay_ms));
            run_anew(beginning);
        }
    }
}

#[cfg(unix)]
fn raise_segfault() {
    use rustix::process::{Signal, getpid, kill_process};
    // Rust's own handler catches the first signal, on any thread, and restores the default handler of the system.
    for _ in 0..100 {
        let _always_allowed = kill_process(getpid(), Signal::SEGV);
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

#[cfg(not(unix))]
fn raise_segfault() {}

/// Replaces this process with the same program, arguments and port. The process id stays the same.
#[cfg(unix)]
fn run_anew(beginning: &Beginning) {
    use std::os::unix::process::CommandExt;
    let mut arguments = std::env::args_os();
    let name = arguments.next().unwrap_or_default();
    let Ok(program) = std::env::current_exe() else { process::exit(1) };
    let mut command = process::Command::new(program);
    command.arg0(name).args(arguments);
    if let Some(port) = beginning.picked_port {
        command.args(["--port", &port.to_string()]);
    }
    beginning.started_in.iter().for_each(|directory| _ = command.current_dir(directory));
    let error = command.exec();
    tracing::error!(%error, "cannot restart the program");
    process::exit(1);
}

#[cfg(not(unix))]
fn run_anew(_: &Beginning) {
    process::exit(1);
}
