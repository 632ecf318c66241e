//! Orders of clock commands: a handler sees only the clock, and the engine carries out its order.

use super::advance::ClockAdvance;
use super::engine_clock::EngineClock;
use crate::spec::{Args, CommandError};
use lockwheel_resp::Reply;
use lockwheel_store::time::{ClockError, Info, Mode};

/// The handler of a clock command. `from_script`: the command is called by a script, at whose end the clock moves.
pub(crate) type ClockHandler =
    fn(&mut EngineClock, from_script: bool, Args<'_>) -> Result<ClockOrder, CommandError>;

#[derive(Debug)]
pub(crate) enum ClockOrder {
    /// Write the clocks' instants and the next deadline.
    Inform,
    /// Write OK: an advance is planned for the end of the script.
    Planned,
    Advance(Box<ClockAdvance>),
}

/// The error of a command that would move a clock out of its range.
pub(crate) const OUT_OF_RANGE: CommandError = CommandError::text("ERR time is out of range");

impl From<ClockError> for CommandError {
    fn from(_: ClockError) -> Self {
        OUT_OF_RANGE
    }
}

/// Writes the clocks' instants, the milliseconds to the next deadline, and the number of pending deadlines.
pub(crate) fn write_info(info: Info, next_ms: Option<i64>, pending: usize, reply: &mut dyn Reply) {
    reply.map(6);
    reply.bulk(b"mode");
    reply.bulk(match info.mode {
        Mode::Real => b"real",
        Mode::Manual => b"manual",
    });
    reply.bulk(b"wall");
    reply.integer(info.now.wall_ms());
    reply.bulk(b"monotonic");
    reply.integer(info.now.monotonic_ms());
    reply.bulk(b"offset");
    reply.integer(info.offset_ms);
    reply.bulk(b"next");
    match next_ms {
        Some(ms) => reply.integer(ms),
        None => reply.null(),
    }
    reply.bulk(b"timers");
    reply.integer(pending as i64);
}
