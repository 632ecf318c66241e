//! Running in the background.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::{env, iter};

const MARK: &str = "LOCKWHEEL_IN_BACKGROUND";

/// Whether this is the process in the background. If so, it leaves the session of its terminal.
pub(crate) fn arrive() -> bool {
    let is_there = env::var_os(MARK).is_some();
    #[cfg(unix)]
    if is_there {
        // Fails for a session leader, which has no session to leave.
        let _led_already = rustix::process::setsid();
    }
    is_there
}

/// Starts the program afresh in the background, without output, since a process with threads cannot fork safely.
pub(crate) fn send(directory: &Path, stdin: Option<&[u8]>) -> io::Result<()> {
    if cfg!(not(unix)) {
        return Err(io::Error::other("Running in the background is not supported"));
    }
    let mut arguments = env::args_os();
    let name = arguments.next().unwrap_or_else(|| OsString::from("lockwheel"));
    let mut command = Command::new(env::current_exe()?);
    named(&mut command, name);
    command.args(arguments).envs(iter::once((MARK, "1"))).current_dir(directory);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.stdin(if stdin.is_some() { Stdio::piped() } else { Stdio::null() });
    let mut child = command.spawn()?;
    if let (Some(text), Some(mut pipe)) = (stdin, child.stdin.take()) {
        pipe.write_all(text)?;
    }
    Ok(())
}

/// Gives the command the name of this process in process lists.
#[cfg(unix)]
fn named(command: &mut Command, name: OsString) {
    std::os::unix::process::CommandExt::arg0(command, name);
}

#[cfg(not(unix))]
fn named(_: &mut Command, _: OsString) {}
