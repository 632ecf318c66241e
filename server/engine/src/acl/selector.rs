//! A selector: rights to commands, keys and channels.

use crate::spec::{Category, Command, CommandId, CommandSet, CommandTable};
use lockwheel_store::keyspace::glob;
use lockwheel_store::memory::{block, of_vec};

bitflags::bitflags! {
    /// What may be done to the keys that a pattern matches.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) struct KeyRights: u8 {
        /// What they hold may be read.
        const READ = 1;
        /// What they hold may be changed.
        const WRITE = 1 << 1;
    }
}

/// A pattern of keys, and what may be done to them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyPattern {
    pub(super) rights: KeyRights,
    pub(super) pattern: Box<[u8]>,
}

/// Rights to all, or to what some patterns match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reach<Pattern> {
    /// To all.
    All,
    /// To what one of these matches.
    Some(Vec<Pattern>),
}

impl<Pattern> Reach<Pattern> {
    pub(super) const NOTHING: Self = Reach::Some(Vec::new());

    /// The patterns; none where all is within reach.
    pub(super) fn patterns(&self) -> &[Pattern] {
        match self {
            Reach::All => &[],
            Reach::Some(patterns) => patterns,
        }
    }

    pub(super) fn is_all(&self) -> bool {
        matches!(self, Reach::All)
    }
}

/// Rights to commands, keys and channels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Selector {
    /// Whether no command was ever taken out of all.
    pub(super) all_commands: bool,
    pub(super) commands: CommandSet,
    /// Commands that are allowed with these first arguments alone.
    first_arguments: Vec<(CommandId, Vec<Box<[u8]>>)>,
    pub(super) keys: Reach<KeyPattern>,
    pub(super) channels: Reach<Box<[u8]>>,
}

impl Selector {
    /// Without rights, but for all channels when that is the default of the configuration.
    pub(crate) fn new(all_channels: bool) -> Self {
        Selector {
            all_commands: false,
            commands: CommandSet::none(),
            first_arguments: Vec::new(),
            keys: Reach::NOTHING,
            channels: if all_channels { Reach::All } else { Reach::NOTHING },
        }
    }

    /// With all rights.
    pub(crate) fn unrestricted() -> Self {
        let mut selector = Self::new(true);
        selector.keys = Reach::All;
        selector.allow_all();
        selector
    }

    /// Bytes of memory that it takes beside itself. O(patterns).
    pub(super) fn memory(&self) -> usize {
        let first = self.first_arguments.iter().map(|(_, arguments)| of_texts(arguments));
        let keys = self.keys.patterns();
        let names = keys.iter().map(|key| block(key.pattern.len()));
        self.commands.heap_bytes()
            + of_vec(&self.first_arguments)
            + first.sum::<usize>()
            + size_of_val(keys)
            + names.sum::<usize>()
            + of_texts(self.channels.patterns())
    }

    /// Whether it allows everything.
    pub(crate) fn is_unrestricted(&self) -> bool {
        self.all_commands && self.keys.is_all() && self.channels.is_all()
    }

    /// Whether commands that there are not yet would be allowed.
    pub(super) fn allows_future_commands(&self) -> bool {
        self.commands.contains(CommandId::FUTURE)
    }

    pub(super) fn allow_all(&mut self) {
        self.all_commands = true;
        self.commands = CommandSet::all();
        self.first_arguments.clear();
    }

    pub(super) fn deny_all(&mut self) {
        self.all_commands = false;
        self.commands = CommandSet::none();
        self.first_arguments.clear();
    }

    /// Allows or denies a command with its subcommands.
    pub(super) fn put(&mut self, command: &Command, allowed: bool) {
        self.all_commands &= allowed;
        self.commands.put(command.id, allowed);
        self.first_arguments.retain(|(other, _)| *other != command.id);
        command.subcommands.iter().for_each(|sub| self.commands.put(sub.id, allowed));
    }

    /// Allows or denies the commands of a category. O(commands).
    pub(super) fn put_category(&mut self, category: Category, allowed: bool, table: &CommandTable) {
        for command in table.iter_all() {
            if command.categories.contains(category) {
                self.put(command, allowed);
            }
        }
    }

    /// Allows a command with this first argument alone.
    pub(super) fn allow_first_argument(&mut self, command: CommandId, argument: &[u8]) {
        let found = self.first_arguments.iter().position(|(other, _)| *other == command);
        let at = found.unwrap_or_else(|| {
            self.first_arguments.push((command, Vec::new()));
            self.first_arguments.len() - 1
        });
        let arguments = &mut self.first_arguments[at].1;
        if !arguments.iter().any(|known| known.eq_ignore_ascii_case(argument)) {
            arguments.push(argument.into());
        }
    }

    /// The first arguments that a command is allowed with, where it is not allowed as a whole.
    pub(super) fn first_arguments(&self, command: CommandId) -> &[Box<[u8]>] {
        let found = self.first_arguments.iter().find(|(other, _)| *other == command);
        found.map_or(&[], |(_, arguments)| arguments)
    }

    /// Whether it allows this to be done to a key. O(patterns × length).
    pub(super) fn reaches_key(&self, key: &[u8], rights: KeyRights) -> bool {
        let allows =
            |known: &KeyPattern| known.rights.contains(rights) && glob::matches(&known.pattern, key, false);
        self.keys.is_all() || self.keys.patterns().iter().any(allows)
    }

    /// Whether it allows a channel; a pattern of channels only when it names the same pattern. O(patterns × length).
    pub(super) fn reaches_channel(&self, channel: &[u8], is_pattern: bool) -> bool {
        let allows = |known: &[u8]| {
            if is_pattern { known == channel } else { glob::matches(known, channel, false) }
        };
        self.channels.is_all() || self.channels.patterns().iter().any(|known| allows(known))
    }
}

fn of_texts(texts: &[Box<[u8]>]) -> usize {
    size_of_val(texts) + texts.iter().map(|text| block(text.len())).sum::<usize>()
}
