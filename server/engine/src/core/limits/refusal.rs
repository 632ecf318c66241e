//! What is refused while there are more bytes than `maxmemory` and no key may go.

use super::super::engine::Engine;
use crate::clients::Session;
use crate::spec::{Args, Command, Flags};

impl Engine {
    /// Whether there are more bytes than `maxmemory` and no key may go.
    #[inline]
    pub(crate) fn is_short_of_memory(&self) -> bool {
        self.limits.out_of_memory
    }

    /// Whether a session's request may take memory. In a transaction all do that are queued; EXEC does what these do.
    /// While a script runs, what may come does not.
    #[cold]
    #[inline(never)]
    pub(in super::super) fn takes_memory(
        &self,
        session: &Session,
        command: &Command,
        args: Args<'_>,
    ) -> bool {
        if self.scripts.is_running() {
            return false;
        }
        // A subcommand of this name is another.
        let name = if command.name.contains('|') { "" } else { command.spec.name };
        match (&session.multi, name) {
            (None, _) => self.command_takes_memory(command, args),
            (Some(multi), "exec") => multi.queue().iter().any(|(command, request)| {
                self.command_takes_memory(self.commands.get(*command), Args::new(&request.argv()))
            }),
            (Some(_), name) => !matches!(name, "discard" | "reset" | "quit"),
        }
    }

    /// Whether a command may take memory: for a script that declares its flags, they say.
    fn command_takes_memory(&self, command: &Command, args: Args<'_>) -> bool {
        let declared = self.scripts.declared_flags(command.spec.name, args);
        declared.map_or(command.has(Flags::DENYOOM), |flags| !flags.allow_oom && !flags.no_writes)
    }
}
