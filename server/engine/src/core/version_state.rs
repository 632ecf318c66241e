//! What an older version refuses, by command.

use crate::spec::{Args, CommandError, CommandId, Newer, PerCommand};

/// The commands of which a version takes less than the newest; `H` is a handler.
#[derive(Debug)]
pub(super) struct Versions<H>(Vec<Limited<H>>);

/// A command, what is refused of its requests, and its handler for all others.
#[derive(Debug)]
struct Limited<H> {
    command: CommandId,
    newer: Newer,
    handler: H,
}

impl<H> Default for Versions<H> {
    fn default() -> Self {
        Versions(Vec::new())
    }
}

impl<H: Copy> Versions<H> {
    /// Puts the `check` of each handler of these commands before it.
    pub(super) fn new(
        newer: Vec<(CommandId, Newer)>,
        handlers: &mut PerCommand<Option<H>>,
        check: impl Fn(&H) -> H,
    ) -> Self {
        let limited = newer.into_iter().filter_map(|(command, newer)| {
            let handler = handlers[command]?;
            handlers[command] = Some(check(&handler));
            Some(Limited { command, newer, handler })
        });
        Versions(limited.collect())
    }

    /// The handler of a command that is limited, or why a request of it is refused. O(commands that are limited).
    pub(super) fn check(&self, command: CommandId, args: Args<'_>) -> Option<Result<H, CommandError>> {
        let limited = self.0.iter().find(|limited| limited.command == command)?;
        Some(limited.newer.refusal(args).map_or(Ok(limited.handler), Err))
    }
}
