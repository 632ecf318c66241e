//! The registry of all commands: every row by number and by name.

use super::args::Args;
use super::categories::Categories;
use super::flags::Flags;
use super::id::{CommandId, PerCommand};
use super::keys::KeySpec;
use super::names::Names;
use super::row::{Row, Spec};
use super::since::Newer;
use super::version::Version;
use lockwheel_store::memory::{block, vec_heap_bytes};
use std::sync::Arc;

/// A command of the registry.
#[derive(Debug)]
pub struct Command {
    /// The full name in lower case: `get`, `client|list`.
    pub name: String,
    /// The number among all commands and subcommands.
    pub id: CommandId,
    /// The definition in the row.
    pub spec: &'static Spec,
    /// The ACL categories.
    pub categories: Categories,
    /// The index of the argument that is the first key, if it is the same in every request.
    pub(crate) first_key: Option<u8>,
    /// Whether a request has the same effect everywhere and at any time, or the handler reports one that has: see
    /// [`Tx::propagate`](lockwheel_store::keyspace::Tx::propagate). A server as old as Redis 7.0 knows the command.
    pub(crate) is_deterministic: bool,
    /// The subcommands of a container, in the order of their rows.
    pub subcommands: Vec<Arc<Command>>,
}

impl Command {
    #[inline(never)]
    fn subcommand(&self, name: &[u8]) -> Option<&Arc<Self>> {
        self.subcommands.iter().find(|sub| name.eq_ignore_ascii_case(sub.spec.name.as_bytes()))
    }

    /// Whether the command has all of these flags.
    #[inline]
    pub fn has(&self, flags: Flags) -> bool {
        self.spec.has(flags)
    }

    /// The positions of the keys in a request of this command.
    pub fn key_positions(&self, args: Args<'_>) -> Vec<usize> {
        self.spec.find_keys(args).into_iter().map(|(position, _)| position).collect()
    }

    /// Returns the keys in a request of this command.
    pub(crate) fn keys_of<'a>(&self, args: Args<'a>) -> impl Iterator<Item = &'a [u8]> {
        self.key_positions(args).into_iter().filter_map(move |position| args.get(position))
    }
}

/// Every command by name.
#[derive(Debug)]
pub struct CommandTable {
    /// All commands and subcommands by number, each container before its subcommands.
    all: Vec<Arc<Command>>,
    commands: Vec<Arc<Command>>,
    names: Names,
    version: Version,
}

impl CommandTable {
    /// The version whose commands the table has.
    pub fn version(&self) -> Version {
        self.version
    }

    /// The command with this number.
    #[inline]
    pub fn get(&self, id: CommandId) -> &Arc<Command> {
        &self.all[id.index()]
    }

    /// The command of this name, in any case. O(1). Inlined, because each request and each call of a script runs this.
    #[inline(always)]
    pub fn find(&self, name: &[u8]) -> Option<&Arc<Command>> {
        self.names.find(name).map(|id| self.get(id))
    }

    /// The command or subcommand that a request names. If the subcommand is unknown: its container.
    #[inline(always)]
    pub fn resolve(&self, args: Args<'_>) -> Option<&Arc<Command>> {
        let command = self.find(&args[0])?;
        if command.subcommands.is_empty() || args.len() == 1 {
            return Some(command);
        }
        Some(command.subcommand(&args[1]).unwrap_or(command))
    }

    /// The command or subcommand with this full name, `get` or `client|list`, in any case.
    pub fn find_full(&self, name: &[u8]) -> Option<&Arc<Command>> {
        let Some(bar) = name.iter().position(|&byte| byte == b'|') else { return self.find(name) };
        let word = &name[bar + 1..];
        self.find(&name[..bar])?.subcommand(word)
    }

    /// Bytes of heap that the registry takes. O(commands).
    pub(crate) fn heap_bytes(&self) -> usize {
        /// The two reference counts that stand before the value of an `Arc`.
        const COUNTS: usize = 2 * size_of::<usize>();
        let of_command = |command: &Arc<Command>| {
            block(COUNTS + size_of::<Command>())
                + block(command.name.capacity())
                + vec_heap_bytes(&command.subcommands)
        };
        let commands: usize = self.all.iter().map(of_command).sum();
        commands + vec_heap_bytes(&self.all) + vec_heap_bytes(&self.commands) + self.names.heap_bytes()
    }

    /// All commands without subcommands, in the order of their families.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Arc<Command>> {
        self.commands.iter()
    }

    /// All commands and subcommands, each container before its subcommands.
    pub fn iter_all(&self) -> impl ExactSizeIterator<Item = &Arc<Command>> {
        self.all.iter()
    }
}

/// The handler of each command, by the command's number. `None` for a row without a handler.
type Handlers<H> = PerCommand<Option<H>>;

/// A registry under construction. Commands are numbered as they are added. `H` is the type of a handler.
#[derive(Debug)]
pub struct Registration<H> {
    all: Vec<Option<Arc<Command>>>,
    commands: Vec<Arc<Command>>,
    handlers: Vec<Option<H>>,
    newer: Vec<(CommandId, Newer)>,
    version: Version,
}

impl<H> Default for Registration<H> {
    fn default() -> Self {
        Registration::of(Version::Newest)
    }
}

impl<H> Registration<H> {
    /// A registry for the commands that this version has.
    pub fn of(version: Version) -> Self {
        let (all, commands, handlers, newer) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Registration { all, commands, handlers, newer, version }
    }

    /// Adds the rows of some families, behind the rows added before.
    pub fn add<F: Copy>(&mut self, families: &'static [&'static [Row<F>]], wrap: fn(F) -> H) {
        self.add_only(families, |_| true, wrap);
    }

    /// Takes the requests that only later versions accept, by command. A second call returns nothing.
    pub(crate) fn take_newer(&mut self) -> Vec<(CommandId, Newer)> {
        std::mem::take(&mut self.newer)
    }

    pub(crate) fn set_handler(&mut self, name: &str, handler: H) {
        if let Some(command) = self.commands.iter().find(|command| command.spec.name == name) {
            self.handlers[command.id.index()] = Some(handler);
        }
    }

    /// Adds the rows of some families for which `wanted` is true, behind the rows added before.
    pub(crate) fn add_only<F: Copy>(
        &mut self,
        families: &'static [&'static [Row<F>]],
        wanted: fn(&Spec) -> bool,
        wrap: fn(F) -> H,
    ) {
        let version = self.version;
        let rows = families.iter().copied().flatten();
        let rows = rows.filter(|row| row.spec.is_in(version) && wanted(&row.spec));
        for row in rows {
            let command = self.add_row(row, None, wrap);
            self.commands.push(command);
        }
    }

    fn add_row<F: Copy>(
        &mut self,
        row: &'static Row<F>,
        parent: Option<&str>,
        wrap: fn(F) -> H,
    ) -> Arc<Command> {
        let version = self.version;
        let row = row.in_version(version);
        let id = CommandId::new(self.all.len());
        self.all.push(None);
        self.handlers.push(row.handler.map(wrap));
        let spec = &row.spec;
        let name = match parent {
            Some(parent) => format!("{parent}|{}", spec.name),
            None => spec.name.to_owned(),
        };
        let name_len = 1 + usize::from(parent.is_some());
        let newer = Newer::of(version, spec.syntax, row.before, name_len);
        self.newer.extend(newer.map(|newer| (id, newer)));
        let subcommands = row.subcommands.iter().filter(|sub| sub.spec.is_in(version));
        let subcommands = subcommands.map(|sub| self.add_row(sub, Some(&name), wrap));
        let subcommands = subcommands.collect();
        let categories = Categories::of(spec);
        let first_key = spec.keys.first().and_then(KeySpec::first).and_then(|at| u8::try_from(at).ok());
        let is_deterministic = spec.is_deterministic();
        let command =
            Arc::new(Command { name, id, spec, categories, first_key, is_deterministic, subcommands });
        self.all[id.index()] = Some(command.clone());
        command
    }

    /// Returns the registry, and each command's handler by its number; a container has none.
    ///
    /// `renames` are the configuration's, in order: a name and its new name. An empty new name removes the command.
    ///
    /// # Errors
    /// Returns the reason, in Redis' words, if a rename is impossible.
    ///
    /// # Panics
    /// Panics if a name occurs twice: a bug that the first test finds.
    pub(crate) fn finish(
        self,
        renames: &[(String, String)],
    ) -> Result<(CommandTable, Handlers<H>), &'static str>
    where
        H: Clone,
    {
        let Registration { all, mut commands, handlers, version, .. } = self;
        let named = commands.iter().map(|command| (command.spec.name.to_owned(), command.id));
        let mut names: Vec<_> = named.collect();
        for (old, new) in renames {
            rename(&mut names, &old.to_ascii_lowercase(), new.to_ascii_lowercase())?;
        }
        commands.retain(|command| names.iter().any(|(_, id)| *id == command.id));
        let all = all.into_iter().flatten().collect();
        Ok((
            CommandTable { all, commands, names: Names::new(&names), version },
            PerCommand::from_values(handlers, None),
        ))
    }
}

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
