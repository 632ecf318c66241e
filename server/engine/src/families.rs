//! All families of commands, put together.

use crate::config::Config;
use crate::core::{Engine, Handler};
use crate::spec::{CommandTable, Registration};
use crate::time::Now;
use crate::{commands, locks, server_commands};

/// The rows of all families, in their order.
fn all() -> Registration<Handler> {
    let mut all = Registration::default();
    for family in [commands::ROWS, locks::ROWS] {
        all.add(family, Handler::Data);
    }
    for family in [commands::BLOCKING_ROWS, locks::BLOCKING_ROWS] {
        all.add(family, Handler::BlockingData);
    }
    all.add(server_commands::ROWS, |handler| handler);
    all
}

/// Every command by its own name.
pub fn command_table() -> CommandTable {
    all().finish(&[]).expect("without new names there are no wrong ones").0
}

/// Whether commands can have these new names: see [`Registration::finish`].
///
/// # Errors
/// Why not, in Redis' words.
pub fn check_renames(renames: &[(String, String)]) -> Result<(), &'static str> {
    all().finish(renames).map(drop)
}

impl Engine {
    /// An engine with these parameters at this instant of the system's clocks. `seed` decides every random choice.
    pub fn new(config: Config, seed: u64, system: Now) -> Self {
        Engine::with_commands(all(), config, seed, system)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_has_a_handler_or_subcommands() {
        let (table, handlers) = all().finish(&[]).expect("no new names");
        for command in table.iter_all() {
            let is_run = handlers[command.id.index()].is_some();
            assert!(is_run || !command.subcommands.is_empty(), "{}", command.name);
        }
    }
}
