//! The kinds of pause, and the requests that each of them pauses.

use crate::clients::Multi;
use crate::scripts::Scripts;
use crate::spec::{Args, Command, CommandTable, Flags};

/// A kind of pause. The later kind is stricter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PauseKind {
    /// Pauses requests that may write, or send something to replicas.
    Write,
    All,
}

/// Whether the effect of a request may have to be sent to replicas. EXEC has the effects of its queued commands.
pub(crate) fn may_replicate(
    (table, scripts): (&CommandTable, &Scripts),
    multi: Option<&Multi>,
    (command, args): (&Command, Args<'_>),
) -> bool {
    let replicates = |command: &Command, args: Args<'_>| {
        command.spec.flags.intersects(Flags::WRITE.union(Flags::MAY_REPLICATE))
            && !runs_without_writes(scripts, command, args)
    };
    if command.name != "exec" {
        return replicates(command, args);
    }
    let queue = multi.map_or(&[][..], Multi::queue);
    queue.iter().any(|(id, request)| replicates(table.get(*id), Args::new(&request.argv())))
}

fn runs_without_writes(scripts: &Scripts, command: &Command, args: Args<'_>) -> bool {
    scripts.declared_flags(&command.name, args).is_some_and(|flags| flags.no_writes)
}
