//! A selector: rights to commands, keys and channels.

use crate::spec::{Category, Command, CommandId, CommandSet, CommandTable};
use lockwheel_store::keyspace::glob;
use lockwheel_store::memory::{block, vec_heap_bytes};

bitflags::bitflags! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) struct KeyRights: u8 {
        /// The right to read the content of the keys.
        const READ = 1;
        /// The right to change the content of the keys.
        const WRITE = 1 << 1;
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyPattern {
    pub(super) rights: KeyRights,
    pub(super) pattern: Box<[u8]>,
}

/// The reach of rights: all names, or the names that some patterns match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reach<Pattern> {
    /// All names.
    All,
    /// The names that one of these patterns matches.
    Some(Vec<Pattern>),
}

impl<Pattern> Reach<Pattern> {
    pub(super) const NOTHING: Self = Reach::Some(Vec::new());

    /// The patterns. Empty if all names are within reach.
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
    /// Whether all commands are allowed and none was denied since.
    pub(super) all_commands: bool,
    pub(super) commands: CommandSet,
    /// Commands that are allowed only with these first arguments.
    first_arguments: Vec<(CommandId, Vec<Box<[u8]>>)>,
    pub(super) keys: Reach<KeyPattern>,
    pub(super) channels: Reach<Box<[u8]>>,
}

impl Selector {
    /// A selector without rights. It has the right to all channels if the configuration says so.
    pub(crate) fn new(all_channels: bool) -> Self {
        Selector {
            all_commands: false,
            commands: CommandSet::none(),
            first_arguments: Vec::new(),
            keys: Reach::NOTHING,
            channels: if all_channels { Reach::All } else { Reach::NOTHING },
        }
    }

    /// A selector with all rights.
    pub(crate) fn unrestricted() -> Self {
        let mut selector = Self::new(true);
        selector.keys = Reach::All;
        selector.allow_all();
        selector
    }

    /// Bytes of heap that the selector takes. O(patterns).
    pub(super) fn memory(&self) -> usize {
        let first = self.first_arguments.iter().map(|(_, arguments)| of_texts(arguments));
        let keys = self.keys.patterns();
        let names = keys.iter().map(|key| block(key.pattern.len()));
        self.commands.heap_bytes()
            + vec_heap_bytes(&self.first_arguments)
            + first.sum::<usize>()
            + size_of_val(keys)
            + names.sum::<usize>()
            + of_texts(self.channels.patterns())
    }

    /// Whether the selector allows everything.
    pub(crate) fn is_unrestricted(&self) -> bool {
        self.all_commands && self.keys.is_all() && self.channels.is_all()
    }

    /// Whether commands that may be added later are allowed.
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

    /// Allows a command only with this first argument, in addition to those allowed before.
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

    /// The first arguments with which a command is allowed, if it is not allowed as a whole.
    pub(super) fn first_arguments(&self, command: CommandId) -> &[Box<[u8]>] {
        let found = self.first_arguments.iter().find(|(other, _)| *other == command);
        found.map_or(&[], |(_, arguments)| arguments)
    }

    /// Whether the selector has these rights to a key. O(patterns × length).
    pub(super) fn reaches_key(&self, key: &[u8], rights: KeyRights) -> bool {
        let allows =
            |known: &KeyPattern| known.rights.contains(rights) && glob::matches(&known.pattern, key, false);
        self.keys.is_all() || self.keys.patterns().iter().any(allows)
    }

    /// Whether the selector allows a channel; a pattern must be one of its own. O(patterns × length).
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
