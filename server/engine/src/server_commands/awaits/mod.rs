//! `AWAIT.*`: a test waits for a state of the server or of a key, instead of sleeping.

mod counted;
mod event;
mod faults;
mod idle;
mod key;
mod options;
#[cfg(test)]
mod tests;

use crate::core::{Handler, PartHandler};
use crate::spec::{Flags, Row};
use crate::waits::StateHandler;

const FLAGS: Flags = Flags::of(&[Flags::CONTROL, Flags::NOSCRIPT, Flags::NO_MULTI, Flags::BLOCKING]);
const ERRORS: &[&str] = &[
    "ERR syntax error: *",
    "ERR value is out of range, must be positive: *",
    "ERR value is not an integer or out of range: *",
];

const NAMED_ERRORS: &[&str] = &[
    "ERR syntax error: *",
    "ERR value is out of range, must be positive: *",
    "ERR value is not an integer or out of range: *",
    "ERR the pattern is longer than 4096 bytes",
];

const fn row(name: &'static str, arity: i32, handler: StateHandler) -> Row<Handler> {
    Row::new(name, arity, Handler::Part(PartHandler::State(handler)))
        .flags(&[FLAGS])
        .categories(&["control"])
        .errors(ERRORS)
}

/// The rows of all `AWAIT` commands, a slice per file.
pub(super) const COUNTED: &[Row<Handler>] = counted::ROWS;
pub(super) const FAULTS: &[Row<Handler>] = faults::ROWS;
pub(super) const KEY: &[Row<Handler>] = key::ROWS;
pub(super) const EVENT: &[Row<Handler>] = event::ROWS;
pub(super) const IDLE: &[Row<Handler>] = idle::ROWS;

/// The row of `AWAIT.HELP`.
pub(super) const HELP: &[Row<Handler>] = &[Row::help_command("await.help", 1)
    .flags(&[FLAGS])
    .categories(&["control"])
    .about("control", "7.2.0", "O(1)")
    .summary("Explains the AWAIT commands.")];
