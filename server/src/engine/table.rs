//! The table of all commands, put together from the rows of every family.

use super::names::Names;
use super::{Call, Engine, Session};
use crate::keyspace::Tx;
use crate::table::{Args, DataHandler, KeySpec, Outcome, Row};
use lockwheel_resp::Reply;
use std::sync::Arc;

/// The handler of a command that also sees its session.
pub(crate) type SessionHandler = fn(&mut Tx<'_>, &mut Session, Args<'_>, &mut dyn Reply) -> Outcome;
/// The handler of a command that sees the engine.
pub(crate) type EngineHandler = fn(&mut Engine, Call, Args<'_>, &mut dyn Reply) -> Outcome;

/// What runs a command.
#[derive(Clone, Copy, Debug)]
pub enum Handler {
    /// It sees keys.
    Data(DataHandler),
    /// It sees keys and its session.
    Session(SessionHandler),
    /// It sees the engine.
    Engine(EngineHandler),
}

/// A command or subcommand, by its number: as good as the [`Command`] to whoever has the table, and cheap to keep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CommandId(u16);

impl CommandId {
    /// # Panics
    /// When there would be more than 65,536 commands.
    pub(super) fn new(index: usize) -> Self {
        CommandId(u16::try_from(index).expect("there are some hundred commands"))
    }

    /// The number: from 0, without gaps.
    pub fn index(self) -> usize {
        self.0.into()
    }
}

/// What a command takes by its complexity, in requests that take the least: one that may take any time counts as one
/// that has taken long.
fn work(complexity: &str) -> usize {
    match complexity {
        "O(1)" => 1,
        _ if complexity.starts_with("O(log") => 4,
        _ => super::MUCH_WORK,
    }
}

/// A command of the table: its row, whatever kind of handler it has.
#[derive(Debug)]
pub struct Command {
    /// Its full name in lower case: `get`, `client|list`.
    pub name: String,
    /// Its number among all commands and subcommands.
    pub id: CommandId,
    /// The row, but for its handler and subcommands.
    pub row: Row<()>,
    /// An estimate of what it takes, in requests that take the least.
    pub(super) work: usize,
    /// The argument that is its first key, if there is one in every request.
    pub(super) first_key: Option<u8>,
    /// What runs it; none for a container.
    pub handler: Option<Handler>,
    /// The subcommands of a container, as their rows are ordered.
    pub subcommands: Vec<Arc<Command>>,
}

impl Command {
    /// Goes on the list behind those before it, and its subcommands behind it.
    fn add<H: Copy>(
        row: &'static Row<H>,
        parent: Option<&str>,
        wrap: fn(H) -> Handler,
        all: &mut Vec<Option<Arc<Self>>>,
    ) -> Arc<Self> {
        let id = CommandId::new(all.len());
        all.push(None);
        let name = match parent {
            Some(parent) => format!("{parent}|{}", row.name),
            None => row.name.to_owned(),
        };
        let subcommands = row.subcommands.iter().map(|sub| Self::add(sub, Some(&name), wrap, all)).collect();
        let bare = Row {
            name: row.name,
            arity: row.arity,
            flags: row.flags,
            categories: row.categories,
            keys: row.keys,
            group: row.group,
            since: row.since,
            complexity: row.complexity,
            summary: row.summary,
            syntax: row.syntax,
            tips: row.tips,
            errors: row.errors,
            subcommands: &[],
            handler: None,
        };
        let first_key = bare.keys.first().and_then(KeySpec::first).and_then(|at| u8::try_from(at).ok());
        let work = work(bare.complexity);
        let command =
            Command { name, id, row: bare, work, first_key, handler: row.handler.map(wrap), subcommands };
        let command = Arc::new(command);
        all[id.index()] = Some(command.clone());
        command
    }

    /// The subcommand of this name, in any case.
    #[inline(never)]
    fn subcommand(&self, name: &[u8]) -> Option<&Arc<Self>> {
        self.subcommands.iter().find(|sub| name.eq_ignore_ascii_case(sub.row.name.as_bytes()))
    }

    /// Whether it has all of these flags.
    #[inline]
    pub fn has(&self, flags: u32) -> bool {
        self.row.has(flags)
    }

    /// The positions of the keys in a request of this command, in order of the specs.
    pub fn key_positions(&self, args: Args<'_>) -> Vec<usize> {
        self.row.keys.iter().flat_map(|spec: &KeySpec| spec.positions(args)).collect()
    }
}

/// Every command by name.
#[derive(Debug)]
pub struct CommandTable {
    /// By number: each container before its subcommands.
    all: Vec<Arc<Command>>,
    /// Those that are no subcommands.
    commands: Vec<Arc<Command>>,
    names: Names,
}

impl CommandTable {
    /// The rows of all families. A name that stands twice is a mistake that the first test finds.
    ///
    /// `renames` are the configuration's, in their order: the name of a command and its new one; empty: it is gone.
    ///
    /// # Errors
    /// Why one of them cannot be, in Redis' words.
    pub(super) fn new(renames: &[(String, String)]) -> Result<Self, &'static str> {
        let (mut all, mut commands) = (Vec::new(), Vec::new());
        for row in crate::commands::ROWS.iter().chain(crate::locks::ROWS).chain(crate::control::ROWS) {
            commands.extend(row.iter().map(|row| Command::add(row, None, Handler::Data, &mut all)));
        }
        for row in super::ROWS.iter() {
            commands.extend(row.iter().map(|row| Command::add(row, None, |handler| handler, &mut all)));
        }
        let mut names: Vec<_> =
            commands.iter().map(|command| (command.row.name.to_owned(), command.id)).collect();
        for (old, new) in renames {
            rename(&mut names, &old.to_ascii_lowercase(), new.to_ascii_lowercase())?;
        }
        commands.retain(|command| names.iter().any(|(_, id)| *id == command.id));
        let all = all.into_iter().flatten().collect();
        Ok(CommandTable { all, commands, names: Names::new(&names) })
    }

    /// The command with this number.
    #[inline]
    pub(super) fn get(&self, id: CommandId) -> &Arc<Command> {
        &self.all[id.index()]
    }

    /// The command of this name, in any case. O(1).
    #[inline]
    pub fn find(&self, name: &[u8]) -> Option<&Arc<Command>> {
        self.names.find(name).map(|id| self.get(id))
    }

    /// The command or subcommand that a request names; a container by itself when its subcommand is unknown.
    #[inline]
    pub fn resolve(&self, args: Args<'_>) -> Option<&Arc<Command>> {
        let command = self.find(&args[0])?;
        if command.subcommands.is_empty() || args.len() == 1 {
            return Some(command);
        }
        Some(command.subcommand(&args[1]).unwrap_or(command))
    }

    /// The command or subcommand of this full name, `get` or `client|list`, in any case.
    pub fn find_full(&self, name: &[u8]) -> Option<&Arc<Command>> {
        let Some(bar) = name.iter().position(|&byte| byte == b'|') else { return self.find(name) };
        let word = &name[bar + 1..];
        self.find(&name[..bar])?.subcommand(word)
    }

    /// All commands, in the order of their families.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Arc<Command>> {
        self.commands.iter()
    }

    /// All commands and subcommands, each container before its own.
    pub fn iter_all(&self) -> impl ExactSizeIterator<Item = &Arc<Command>> {
        self.all.iter()
    }
}

/// Gives a command another name, or none.
fn rename(names: &mut Vec<(String, CommandId)>, old: &str, new: String) -> Result<(), &'static str> {
    let found = names.iter().position(|(name, _)| name == old).ok_or("No such command in rename-command")?;
    let (_, id) = names.swap_remove(found);
    if names.iter().any(|(name, _)| *name == new) {
        return Err("Target command name already exists");
    }
    if !new.is_empty() {
        names.push((new, id));
    }
    Ok(())
}
