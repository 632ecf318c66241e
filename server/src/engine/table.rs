//! The table of all commands, put together from the rows of every family.

use super::{Call, Engine, Session};
use crate::keyspace::Tx;
use crate::table::{Args, DataHandler, KeySpec, Outcome, Row};
use hashbrown::HashMap;
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

/// A command of the table: its row, whatever kind of handler it has.
#[derive(Debug)]
pub struct Command {
    /// Its full name in lower case: `get`, `client|list`.
    pub name: String,
    /// Its number among all commands and subcommands, from 0.
    pub index: usize,
    /// The row, but for its handler and subcommands.
    pub row: Row<()>,
    /// What runs it; none for a container.
    pub handler: Option<Handler>,
    /// The subcommands of a container, as their rows are ordered.
    pub subcommands: Vec<Arc<Command>>,
}

impl Command {
    /// `count` is the number of commands so far, and goes on with this one and its subcommands.
    fn new<H: Copy>(
        row: &'static Row<H>,
        parent: Option<&str>,
        wrap: fn(H) -> Handler,
        count: &mut usize,
    ) -> Self {
        let index = *count;
        *count += 1;
        let name = match parent {
            Some(parent) => format!("{parent}|{}", row.name),
            None => row.name.to_owned(),
        };
        let subcommands =
            row.subcommands.iter().map(|sub| Arc::new(Self::new(sub, Some(&name), wrap, count))).collect();
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
        Command { name, index, row: bare, handler: row.handler.map(wrap), subcommands }
    }

    /// Whether it has all of these flags.
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
    commands: Vec<Arc<Command>>,
    by_name: HashMap<Box<[u8]>, usize, foldhash::fast::FixedState>,
    /// Commands and subcommands.
    count: usize,
}

/// The longest name that is looked up.
const NAME_MAX: usize = 64;

impl CommandTable {
    /// The rows of all families. A name that stands twice is a mistake that the first test finds.
    pub(super) fn new() -> Self {
        let mut table = CommandTable { commands: Vec::new(), by_name: HashMap::default(), count: 0 };
        for row in crate::commands::ROWS.iter().chain(crate::locks::ROWS).chain(crate::control::ROWS) {
            row.iter().for_each(|row| table.add(row, Handler::Data));
        }
        for row in super::ROWS.iter() {
            row.iter().for_each(|row| table.add(row, |handler| handler));
        }
        table
    }

    fn add<H: Copy>(&mut self, row: &'static Row<H>, wrap: fn(H) -> Handler) {
        let command = Command::new(row, None, wrap, &mut self.count);
        let taken = self.by_name.insert(command.name.as_bytes().into(), self.commands.len());
        assert!(taken.is_none(), "the command '{}' has two rows", command.name);
        self.commands.push(Arc::new(command));
    }

    /// The command of this name, in any case. O(1).
    pub fn find(&self, name: &[u8]) -> Option<&Arc<Command>> {
        let mut lower = [0; NAME_MAX];
        let lower = lower.get_mut(..name.len())?;
        lower.copy_from_slice(name);
        lower.make_ascii_lowercase();
        self.by_name.get(&*lower).map(|&index| &self.commands[index])
    }

    /// The command or subcommand that a request names; a container by itself when its subcommand is unknown.
    pub fn resolve(&self, args: Args<'_>) -> Option<&Arc<Command>> {
        let command = self.find(&args[0])?;
        let Some(word) = args.get(1).filter(|_| !command.subcommands.is_empty()) else {
            return Some(command);
        };
        let sub = command.subcommands.iter().find(|sub| word.eq_ignore_ascii_case(sub.row.name.as_bytes()));
        Some(sub.unwrap_or(command))
    }

    /// The command or subcommand of this full name, `get` or `client|list`, in any case.
    pub fn find_full(&self, name: &[u8]) -> Option<&Arc<Command>> {
        let Some(bar) = name.iter().position(|&byte| byte == b'|') else { return self.find(name) };
        let word = &name[bar + 1..];
        let command = self.find(&name[..bar])?;
        command.subcommands.iter().find(|sub| word.eq_ignore_ascii_case(sub.row.name.as_bytes()))
    }

    /// All commands, in the order of their families.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Arc<Command>> {
        self.commands.iter()
    }

    /// All commands and subcommands, each container before its own.
    pub fn iter_all(&self) -> impl Iterator<Item = &Arc<Command>> {
        self.commands.iter().flat_map(|command| std::iter::once(command).chain(&command.subcommands))
    }

    /// The number of commands and subcommands: one more than the greatest [`Command::index`].
    pub fn count_all(&self) -> usize {
        self.count
    }
}
