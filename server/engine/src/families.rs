//! The assembly of all command families.

use crate::acl::UserLine;
use crate::config::{CommandNames, Config};
use crate::core::{Engine, Handler};
use crate::spec::{CommandTable, Registration, Version};
use crate::{commands, locks, server_commands};
use lockwheel_store::time::Now;

/// Returns the rows of all families, in their order.
fn all(version: Version) -> Registration<Handler> {
    let mut all = Registration::of(version);
    for family in [commands::ROWS, locks::ROWS] {
        all.add(family, Handler::Data);
    }
    all.add(commands::READING_ANY_KEY_ROWS, Handler::ReadingAnyKey);
    for family in [commands::BLOCKING_ROWS, locks::BLOCKING_ROWS] {
        all.add(family, Handler::BlockingData);
    }
    all.add(locks::LISTENING_ROWS, Handler::Listening);
    all.add(locks::HISTORY_ROWS, Handler::OfHistory);
    all.add(server_commands::ROWS, |handler| handler);
    all
}

/// Returns the commands of a sentinel: its own, and the few that it shares with other servers.
fn of_sentinel(version: Version) -> Registration<Handler> {
    let mut rows = Registration::of(version);
    rows.add_only(server_commands::ROWS, server_commands::is_of_sentinel, |handler| handler);
    rows.add(&[server_commands::SENTINEL_ROWS], |handler| handler);
    for (name, handler) in server_commands::SENTINEL_HANDLERS {
        rows.set_handler(name, *handler);
    }
    rows
}

/// Returns the table of all commands, under their own names.
pub fn command_table() -> CommandTable {
    all(Version::Newest).finish(&[]).expect("without new names there are no wrong ones").0
}

/// The checks of a configuration that need the names of commands.
pub const COMMAND_NAMES: CommandNames = CommandNames {
    check_renames: |renames| all(Version::Newest).finish(renames).map(drop),
    read_user: |words, config| UserLine::read(words, &config.users, config.rule_setting(&command_table())),
};

impl Engine {
    /// Returns an engine with this configuration at an instant of the system. `seed` decides every random choice.
    pub fn new(config: Config, seed: u64, system: Now) -> Self {
        let commands = if config.is_sentinel() { of_sentinel } else { all };
        let mut commands = commands(config.compat);
        let newer = commands.take_newer();
        let mut engine = Engine::with_commands(commands, config, seed, system);
        engine.refuse_newer(newer);
        engine
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{Command, Flags};

    #[test]
    fn every_command_has_a_handler_or_subcommands() {
        let (table, handlers) = all(Version::Newest).finish(&[]).expect("no new names");
        for command in table.iter_all() {
            let is_run = handlers[command.id].is_some();
            assert_ne!(is_run, is_help(command) || is_only_container(command), "{}", command.name);
        }
    }

    fn is_help(command: &Command) -> bool {
        // A server that is not a node of a cluster answers CLUSTER HELP with an error, too.
        command.spec.name.rsplit('.').next() == Some("help") && command.name != "cluster|help"
    }

    /// Whether a command only has subcommands. COMMAND also runs by itself.
    fn is_only_container(command: &Command) -> bool {
        !command.subcommands.is_empty() && command.name != "command"
    }

    #[test]
    fn control_commands_have_their_flag_and_category() {
        for command in command_table().iter_all() {
            let is_listed = command.spec.categories.contains(&"control");
            assert_eq!(command.has(Flags::CONTROL), is_listed, "{}", command.name);
        }
    }

    #[test]
    fn help_lists_each_command_under_its_name() {
        let table = command_table();
        for help in table.iter_all().filter(|command| is_help(command)) {
            let mates: Vec<_> = match help.name.split_once('|') {
                Some((container, _)) => {
                    table.find(container.as_bytes()).expect("it is one").subcommands.to_vec()
                }
                None => {
                    let family = help.name.strip_suffix("help").expect("it is called so");
                    table.iter_all().filter(|command| command.name.starts_with(family)).cloned().collect()
                }
            };
            assert!(mates.len() > 1, "{}", help.name);
            for mate in mates.iter().filter(|mate| mate.id != help.id) {
                let word =
                    mate.spec.help.first().and_then(|form| form.split(' ').next()).unwrap_or("nothing");
                assert!(word.eq_ignore_ascii_case(mate.spec.name), "HELP tells {word} of {}", mate.name);
                let is_mate = |name| mates.iter().any(|other| other.spec.name == name);
                assert!(mate.spec.help_after.is_none_or(is_mate), "{}", mate.name);
            }
        }
    }
}
