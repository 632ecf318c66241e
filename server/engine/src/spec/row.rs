//! The row of a command.

use super::args::Args;
use super::channels::ChannelSpec;
use super::flags::Flags;
use super::grammar::CommandGrammar;
use super::keys::{KeyFinder, KeySpec};
use super::since::{Before, Refusing};
use super::version::Version;

/// The positions of secret arguments, in a request with the right number of arguments.
pub type Secrets = fn(Args<'_>) -> Vec<usize>;

/// The definition of a command, without its handler.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    /// Its name, in lower case; a subcommand's own word only.
    pub name: &'static str,
    /// The number of arguments with the name (for a subcommand: both names); negative: at least so many.
    pub arity: i32,
    /// Its properties and permissions.
    pub flags: Flags,
    /// ACL categories beyond those the flags imply, without `@`.
    pub categories: &'static [&'static str],
    /// Where its keys are.
    pub keys: &'static [KeySpec],
    /// Finds its keys where the specs cannot.
    pub key_finder: Option<KeyFinder>,
    /// Finds those whose slot decides to which node of a cluster a request belongs, where the specs find others.
    pub slot_finder: Option<KeyFinder>,
    /// Finds keys that it touches and that Redis does not list: its caller needs rights to them, too.
    pub(crate) unlisted_keys: Option<KeyFinder>,
    /// The word without which a request does not read the keys whose specs say so with
    /// [`KeyFlags::VARIABLE_FLAGS`].
    pub(crate) reading_word: Option<&'static str>,
    /// Where the channels are that it needs rights to.
    pub channels: Option<ChannelSpec>,
    /// The group that the documentation lists it in.
    pub group: &'static str,
    /// The first Redis version that had it.
    pub since: &'static str,
    /// Time complexity; empty where Redis tells none.
    pub complexity: &'static str,
    /// One sentence.
    pub summary: &'static str,
    /// What changed since: the version and the change, in the words of COMMAND DOCS.
    pub history: &'static [(&'static str, &'static str)],
    /// The version that deprecated it, and what replaces it, in the words of COMMAND DOCS.
    pub deprecated: Option<(&'static str, &'static str)>,
    /// Whether it is not for users: servers or their tests send it.
    pub is_internal: bool,
    /// Its arguments, as a synopsis: lower case an argument, upper case a token, `[ ]` optional, `|` alternatives,
    /// `( )` a group, `...` repetition of what stands before it; and the notes that [`syntax`](super::syntax) lists.
    pub syntax: &'static str,
    /// Finds the secret arguments of a request: passwords; without this there are none.
    pub secrets: Option<Secrets>,
    /// Hints for clients, as COMMAND INFO lists them.
    pub tips: &'static [&'static str],
    /// The handler's own errors, besides arity and wrong type.
    pub errors: &'static [&'static str],
    /// Its lines of HELP: its form, and an explanation.
    pub help: &'static [&'static str],
    /// The row whose HELP lines come before its own, where that is not the row before.
    pub help_after: Option<&'static str>,
}

/// The groups of commands that Redis has not: they are there in every version.
const OWN_GROUPS: [&str; 2] = ["lock", "control"];

impl Spec {
    /// Whether a server of this version has it.
    pub fn is_in(&self, version: Version) -> bool {
        version.has(self.since) || OWN_GROUPS.contains(&self.group)
    }

    /// Whether it has all of these flags.
    pub const fn has(&self, flags: Flags) -> bool {
        self.flags.contains(flags)
    }

    /// Whether a request of `len` arguments, its name included, has the right number.
    pub const fn accepts(&self, len: usize) -> bool {
        let least = self.arity.unsigned_abs() as usize;
        len == least || (len > least && self.arity < 0)
    }
}

/// A command: its definition, and its handler of type `H`.
///
/// Made by [`Row::new`], [`Row::container`] or [`Row::help_command`] and the methods named like the fields of
/// [`Spec`], all usable in a `const`.
#[derive(Clone, Copy, Debug)]
pub struct Row<H: 'static> {
    /// The definition.
    pub spec: Spec,
    /// The subcommands of a container.
    pub subcommands: &'static [Row<H>],
    /// The handler; none for a container, and for a HELP, which the rows answer.
    pub handler: Option<H>,
    /// What it was before this release, the earliest first.
    pub older: &'static [(&'static str, Row<H>)],
    /// What it took before a release.
    pub before: Option<Before>,
}

impl<H: Copy + 'static> Row<H> {
    /// A command run by `handler`.
    pub const fn new(name: &'static str, arity: i32, handler: H) -> Self {
        let mut row = Self::container(name, arity, &[]);
        row.handler = Some(handler);
        row
    }

    /// A command that only holds subcommands.
    pub const fn container(name: &'static str, arity: i32, subcommands: &'static [Row<H>]) -> Self {
        let spec = Spec {
            name,
            arity,
            flags: Flags::empty(),
            categories: &[],
            keys: &[],
            key_finder: None,
            slot_finder: None,
            unlisted_keys: None,
            reading_word: None,
            channels: None,
            group: "generic",
            since: "1.0.0",
            complexity: "O(1)",
            summary: "",
            history: &[],
            deprecated: None,
            is_internal: false,
            syntax: "",
            secrets: None,
            tips: &[],
            errors: &[],
            help: &[],
            help_after: None,
        };
        Row { spec, subcommands, handler: None, older: &[], before: None }
    }

    /// The HELP of a container (`help`), or of a family whose names have a dot (`lock.help`): the lines in
    /// [`Spec::help`] of the other rows.
    pub const fn help_command(name: &'static str, arity: i32) -> Self {
        Self::container(name, arity, &[])
    }

    /// Sets the flags.
    pub const fn flags(mut self, flags: &[Flags]) -> Self {
        self.spec.flags = Flags::of(flags);
        self
    }

    /// Sets the ACL categories that its flags do not imply.
    pub const fn categories(mut self, categories: &'static [&'static str]) -> Self {
        self.spec.categories = categories;
        self
    }

    /// Sets where its keys are.
    pub const fn keys(mut self, keys: &'static [KeySpec]) -> Self {
        self.spec.keys = keys;
        self
    }

    /// Sets the function that finds its keys where the specs cannot, or cannot tell what is done to them.
    pub const fn key_finder(mut self, find: KeyFinder) -> Self {
        self.spec.key_finder = Some(find);
        self
    }

    /// Sets the function that finds the keys whose slot decides where a request belongs, where the specs find others.
    pub const fn slot_finder(mut self, find: KeyFinder) -> Self {
        self.spec.slot_finder = Some(find);
        self
    }

    /// Sets the word without which a request does not read its keys.
    pub(crate) const fn reads_keys_with(mut self, word: &'static str) -> Self {
        self.spec.reading_word = Some(word);
        self
    }

    /// Sets the function that finds the keys that it touches and Redis does not list.
    pub(crate) const fn unlisted_keys(mut self, find: KeyFinder) -> Self {
        self.spec.unlisted_keys = Some(find);
        self
    }

    /// Sets where the channels are that it needs rights to.
    pub const fn channels(mut self, channels: ChannelSpec) -> Self {
        self.spec.channels = Some(channels);
        self
    }

    /// Sets its group, first version and complexity.
    pub const fn about(mut self, group: &'static str, since: &'static str, complexity: &'static str) -> Self {
        self.spec.group = group;
        self.spec.since = since;
        self.spec.complexity = complexity;
        self
    }

    /// Sets its summary.
    pub const fn summary(mut self, summary: &'static str) -> Self {
        self.spec.summary = summary;
        self
    }

    /// Sets what changed since its first version.
    pub const fn history(mut self, history: &'static [(&'static str, &'static str)]) -> Self {
        self.spec.history = history;
        self
    }

    /// Sets the version that deprecated it, and what replaces it.
    pub const fn deprecated(mut self, since: &'static str, replaced_by: &'static str) -> Self {
        self.spec.deprecated = Some((since, replaced_by));
        self
    }

    /// Sets that it is not for users.
    pub const fn internal(mut self) -> Self {
        self.spec.is_internal = true;
        self
    }

    /// Sets its synopsis.
    pub const fn syntax(mut self, syntax: &'static str) -> Self {
        self.spec.syntax = syntax;
        self
    }

    /// Sets its synopsis: that of the grammar which reads its arguments.
    pub(crate) const fn grammar(mut self, grammar: &'static CommandGrammar) -> Self {
        self.spec.syntax = grammar.synopsis();
        self
    }

    /// Sets the function that finds its secret arguments.
    pub const fn secrets(mut self, secrets: Secrets) -> Self {
        self.spec.secrets = Some(secrets);
        self
    }

    /// Sets its hints for clients.
    pub const fn tips(mut self, tips: &'static [&'static str]) -> Self {
        self.spec.tips = tips;
        self
    }

    /// Sets the handler's own errors.
    pub const fn errors(mut self, errors: &'static [&'static str]) -> Self {
        self.spec.errors = errors;
        self
    }

    /// Sets what it was before some releases, the earliest first: rows of their own.
    pub const fn older(mut self, rows: &'static [(&'static str, Row<H>)]) -> Self {
        self.older = rows;
        self
    }

    /// Sets the synopsis of what it took before a release, where the notes of its own do not say it.
    pub const fn before(mut self, since: &'static str, syntax: &'static str) -> Self {
        self.before = Some(Before { since, syntax: Some(syntax), refusing: None });
        self
    }

    /// Sets what it refused before a release, where no synopsis shows it.
    pub const fn refusing_before(mut self, since: &'static str, refusing: Refusing) -> Self {
        self.before = Some(Before { since, syntax: None, refusing: Some(refusing) });
        self
    }

    /// What it is in this version.
    pub(super) fn in_version(&self, version: Version) -> &Self {
        let older = self.older.iter().find(|(since, _)| !version.has(since));
        older.map_or(self, |(_, row)| row)
    }

    /// Sets its arity.
    pub const fn arity(mut self, arity: i32) -> Self {
        self.spec.arity = arity;
        self
    }

    /// Sets its lines of HELP.
    pub const fn help(mut self, lines: &'static [&'static str]) -> Self {
        self.spec.help = lines;
        self
    }

    /// Sets the row, by name, whose HELP lines come before its own.
    pub const fn help_after(mut self, name: &'static str) -> Self {
        self.spec.help_after = Some(name);
        self
    }
}
