//! The exit codes of the program.

use super::output::say_error;
use std::process::ExitCode;

/// The code for wrong arguments or an impossible request.
pub(crate) const FAILURE: u8 = 1;
/// The code of `run` and `entrypoint` if the command cannot be executed.
pub(crate) const NOT_EXECUTABLE: u8 = 126;
/// The code of `run` and `entrypoint` if the command does not exist.
pub(crate) const NOT_FOUND: u8 = 127;
/// The number that `run` adds to the signal that ended the command.
pub(crate) const SIGNAL: u8 = 128;

/// All exit codes for the help and the man page: the code and its meaning.
pub(crate) const CODES: &[(&str, &str)] = &[
    ("0", "ended as asked: SIGTERM, SIGINT, SHUTDOWN, idle-exit, exit-with-parent; healthcheck: it answers"),
    ("1", "wrong arguments, a port in use, a second signal while it ends; healthcheck: no answer"),
    ("101", "a panic: a defect of the program"),
    ("126", "run, entrypoint: the command cannot be executed"),
    ("127", "run, entrypoint: there is no such command"),
    ("128+n", "run: signal n ended the command; when it ended by itself, the code is its own"),
];

/// Returns the code of a success. Otherwise prints the reason on standard error and returns code 1.
pub(crate) fn code(done: Result<ExitCode, String>) -> ExitCode {
    done.unwrap_or_else(|reason| {
        say_error(&reason);
        ExitCode::from(FAILURE)
    })
}
