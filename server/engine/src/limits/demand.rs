//! The requests that are refused while memory exceeds `maxmemory` and no key can be evicted.

use crate::clients::Session;
use crate::scripts::Scripts;
use crate::spec::{Args, Command, CommandTable, Flags};

/// Whether a session's request may take memory. In a transaction, every request that is queued may; EXEC may if one of
/// the queued commands may. While a script runs, no request may.
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
    // A subcommand of this name is another command.
    let name = if command.name.contains('|') { "" } else { command.spec.name };
    match (&session.multi, name) {
        (None, _) => command_takes_memory(scripts, command, args),
        (Some(multi), "exec") => multi.queue().iter().any(|(command, request)| {
            command_takes_memory(scripts, table.get(*command), Args::new(&request.argv()))
        }),
        (Some(_), name) => !matches!(name, "discard" | "reset" | "quit"),
    }
}

/// Whether a command may take memory. The declared flags of a script decide for that script.
fn command_takes_memory(scripts: &Scripts, command: &Command, args: Args<'_>) -> bool {
    let declared = scripts.declared_flags(command.spec.name, args);
    declared.map_or(command.has(Flags::DENYOOM), |flags| !flags.allow_oom && !flags.no_writes)
}
