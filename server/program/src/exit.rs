//! The codes that the program ends with.

use super::output::say_error;
use std::process::ExitCode;

/// Wrong arguments, or what was asked for is not possible.
pub(crate) const FAILURE: u8 = 1;
/// `run`, `entrypoint`: the command cannot be executed.
pub(crate) const NOT_EXECUTABLE: u8 = 126;
/// `run`, `entrypoint`: there is no such command.
pub(crate) const NOT_FOUND: u8 = 127;
/// `run`: what is added to the number of the signal that ended the command.
pub(crate) const SIGNAL: u8 = 128;

/// All of them as the help and the man page list them: the code, when.
pub(crate) const CODES: &[(&str, &str)] = &[
    ("0", "ended as asked: SIGTERM, SIGINT, SHUTDOWN, idle-exit, exit-with-parent; healthcheck: it answers"),
    ("1", "wrong arguments, a port in use, a second signal while it ends; healthcheck: no answer"),
    ("101", "a panic: a defect of the program"),
    ("126", "run, entrypoint: the command cannot be executed"),
    ("127", "run, entrypoint: there is no such command"),
    ("128+n", "run: signal n ended the command; when it ended by itself, the code is its own"),
];

/// The code of what worked, or the reason on standard error and code 1.
pub(crate) fn code(done: Result<ExitCode, String>) -> ExitCode {
    done.unwrap_or_else(|reason| {
        say_error(&reason);
        ExitCode::from(FAILURE)
    })
}
