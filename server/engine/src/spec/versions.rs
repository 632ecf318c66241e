//! The requests that an older version refuses, by command.

use super::args::Args;
use super::error::CommandError;
use super::id::{CommandId, PerCommand};
use super::since::Newer;

/// The commands for which a version accepts fewer requests than the newest version. `H` is the type of a handler.
#[derive(Debug)]
pub(crate) struct Versions<H>(Vec<Limited<H>>);

/// A command, its refused requests, and its handler for all other requests.
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
    /// Replaces the handler of each of these commands by `check`, and keeps the old handler.
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

    /// Returns the handler of a limited command, or the error if the version refuses the request. O(limited commands).
    pub(crate) fn check(&self, command: CommandId, args: Args<'_>) -> Option<Result<H, CommandError>> {
        let limited = self.0.iter().find(|limited| limited.command == command)?;
        Some(limited.newer.refusal(args).map_or(Ok(limited.handler), Err))
    }
}
