//! The requests that an older version refuses, by command.

use super::args::Args;
use super::error::CommandError;
use super::id::{CommandId, PerCommand};
use super::since::Newer;

/// The commands of which a version takes less than the newest; `H` is a handler.
#[derive(Debug)]
pub(crate) struct Versions<H>(Vec<Limited<H>>);

/// A command, the requests of it that are refused, and its handler for all others.
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
    /// Has `check` run instead of the handler of each of these commands.
    pub(crate) fn new(
        newer: Vec<(CommandId, Newer)>,
        handlers: &mut PerCommand<Option<H>>,
        check: H,
    ) -> Self {
        let limited = newer.into_iter().filter_map(|(command, newer)| {
            let handler = handlers[command]?;
            handlers[command] = Some(check);
            Some(Limited { command, newer, handler })
        });
        Versions(limited.collect())
    }

    /// Returns the handler of a command that is limited, or the error if a request of it is refused. O(commands that
    /// are limited).
    pub(crate) fn check(&self, command: CommandId, args: Args<'_>) -> Option<Result<H, CommandError>> {
        let limited = self.0.iter().find(|limited| limited.command == command)?;
        Some(limited.newer.refusal(args).map_or(Ok(limited.handler), Err))
    }
}
