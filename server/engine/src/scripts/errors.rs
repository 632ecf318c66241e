//! The errors about the running script.

use crate::spec::CommandError;
use lockwheel_scripting::{EntryKind, KillError};

/// Returns the error of a request that is refused while a script or a function runs.
pub const fn busy_error(kind: EntryKind) -> CommandError {
    CommandError::text(match kind {
        EntryKind::Function => {
            "BUSY Redis is busy running a script. You can only call FUNCTION KILL or SHUTDOWN NOSAVE."
        }
        _ => "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
    })
}

pub(crate) fn kill_error(error: KillError) -> CommandError {
    match error {
        KillError::NotBusy => CommandError::text("NOTBUSY No scripts in execution right now."),
        KillError::OtherKind(kind) => busy_error(kind),
        KillError::Unkillable => CommandError::text(
            "UNKILLABLE Sorry the script already executed write commands against the dataset. You can either wait the \
             script termination or kill the server in a hard way using the SHUTDOWN NOSAVE command.",
        ),
    }
}
