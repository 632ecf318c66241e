//! The requests that are refused while there are more bytes than `maxmemory` and no key may go.

use crate::clients::Session;
use crate::scripts::Scripts;
use crate::spec::{Args, Command, CommandTable, Flags};

/// Whether a session's request may take memory. In a transaction all do that are queued; EXEC does what these do.
/// While a script runs, what may come does not.
#[cold]
#[inline(never)]
pub(crate) fn takes_memory(
    (table, scripts): (&CommandTable, &Scripts),
    session: &Session,
    command: &Command,
    args: Args<'_>,
) -> bool {
    if scripts.is_running() {
        return false;
    }
    // A subcommand of this name is another.
    let name = if command.name.contains('|') { "" } else { command.spec.name };
    match (&session.multi, name) {
        (None, _) => command_takes_memory(scripts, command, args),
        (Some(multi), "exec") => multi.queue().iter().any(|(command, request)| {
            command_takes_memory(scripts, table.get(*command), Args::new(&request.argv()))
        }),
        (Some(_), name) => !matches!(name, "discard" | "reset" | "quit"),
    }
}

/// Whether a command may take memory: for a script that declares its flags, they say.
fn command_takes_memory(scripts: &Scripts, command: &Command, args: Args<'_>) -> bool {
    let declared = scripts.declared_flags(command.spec.name, args);
    declared.map_or(command.has(Flags::DENYOOM), |flags| !flags.allow_oom && !flags.no_writes)
}
