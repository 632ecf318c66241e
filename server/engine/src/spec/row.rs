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

/// Arguments and options of a command as its synopsis names them (`PX milliseconds`), each with its meaning.
pub type OptionTexts = &'static [(&'static str, &'static str)];

/// The definition of a command, without its handler.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    /// The name, in lower case. For a subcommand: its own word only.
    pub name: &'static str,
    /// The number of arguments with the name (for a subcommand: both names). A negative number `-n` means at least `n`.
    pub arity: i32,
    /// The properties and permissions.
    pub flags: Flags,
    /// ACL categories beyond those the flags imply, without `@`.
    pub categories: &'static [&'static str],
    /// The positions of the keys.
    pub keys: &'static [KeySpec],
    /// Finds the keys if the specs cannot.
    pub key_finder: Option<KeyFinder>,
    /// Finds the keys whose slot decides to which node of a cluster a request belongs, if the specs find other keys.
    pub slot_finder: Option<KeyFinder>,
    /// Finds keys that the command touches and that Redis does not list. The caller needs rights to these keys, too.
    pub(crate) unlisted_keys: Option<KeyFinder>,
    /// The word that makes a request read the keys of specs with [`KeyFlags::VARIABLE_FLAGS`].
    pub(crate) reading_word: Option<&'static str>,
    /// The positions of the channels that the caller needs rights to.
    pub channels: Option<ChannelSpec>,
    /// The group of the command in the documentation.
    pub group: &'static str,
    /// The first Redis version that had the command.
    pub since: &'static str,
    /// The time complexity. Empty if Redis states none.
    pub complexity: &'static str,
    /// The summary: one sentence.
    pub summary: &'static str,
    /// The changes since the first version: a version and the change, in the words of COMMAND DOCS.
    pub history: &'static [(&'static str, &'static str)],
    /// The version that deprecated the command, and its replacement, in the words of COMMAND DOCS.
    pub deprecated: Option<(&'static str, &'static str)>,
    /// Whether the command is not for users: only servers or their tests send it.
    pub is_internal: bool,
    /// The arguments, as a synopsis. Lower case is an argument, upper case a token. `[ ]` is optional, `|` parts
    /// alternatives, `( )` is a group, and `...` repeats the item before it. [`syntax`](super::syntax) lists the notes.
    pub syntax: &'static str,
    /// Finds the secret arguments of a request, such as passwords. `None`: the command has no secret arguments.
    pub secrets: Option<Secrets>,
    /// Hints for clients, as COMMAND INFO lists them.
    pub tips: &'static [&'static str],
    /// The handler's own errors, besides arity and wrong type.
    pub errors: &'static [&'static str],
    /// The reply of a command of our own: its type and meaning. A map is an array of names and values in RESP2.
    pub reply: &'static str,
    /// The meaning of the arguments and options of a command of our own, in groups that commands may share.
    pub options: &'static [OptionTexts],
    /// Requests that show a command of our own, as typed in redis-cli. They begin with an empty server whose clock
    /// stands still. The pages of the reference show them with their replies.
    pub example: &'static [&'static str],
    /// The lines of HELP: the form of the command, and an explanation.
    pub help: &'static [&'static str],
    /// The row whose HELP lines come before those of this row, if that is not the previous row.
    pub help_after: Option<&'static str>,
}

/// The groups of commands that Redis does not have. These commands exist in every version.
const OWN_GROUPS: [&str; 2] = ["lock", "control"];

impl Spec {
    /// Whether a server of this version has the command.
    pub fn is_in(&self, version: Version) -> bool {
        version.has(self.since) || self.is_own()
    }

    /// Whether a change by the command is propagated as a request. Otherwise the values of the changed keys are.
    pub(super) fn is_deterministic(&self) -> bool {
        // A script is propagated as the commands that it has called.
        let is_message = self.has(Flags::MAY_REPLICATE) && !self.has(Flags::NOSCRIPT);
        (self.has(Flags::WRITE) || is_message) && !self.is_own() && Version::V7_0.has(self.since)
    }

    /// Whether Redis does not have the command.
    pub fn is_own(&self) -> bool {
        OWN_GROUPS.contains(&self.group)
    }

    /// Whether the command has all of these flags.
    pub const fn has(&self, flags: Flags) -> bool {
        self.flags.contains(flags)
    }

    /// Whether `len` arguments, with the name, are the right number.
    pub const fn accepts(&self, len: usize) -> bool {
        let least = self.arity.unsigned_abs() as usize;
        len == least || (len > least && self.arity < 0)
    }
}

/// A command: its definition, and its handler of type `H`. [`Row::new`], [`Row::container`] and [`Row::help_command`]
/// make a row; methods named like the fields of [`Spec`] complete it. All are usable in a `const`.
#[derive(Clone, Copy, Debug)]
pub struct Row<H: 'static> {
    /// The definition.
    pub spec: Spec,
    /// The subcommands of a container.
    pub subcommands: &'static [Row<H>],
    /// The handler. `None` for a container, and for HELP, whose answer is made of the rows.
    pub handler: Option<H>,
    /// The earlier forms of the command, the earliest first: the release that ended the form, and its row.
    pub older: &'static [(&'static str, Row<H>)],
    /// The requests that the command took before a release.
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
            reply: "",
            options: &[],
            example: &[],
            help: &[],
            help_after: None,
        };
        Row { spec, subcommands, handler: None, older: &[], before: None }
    }

    /// The HELP of a container (`help`), or of a family with dotted names (`lock.help`), from the rows' [`Spec::help`].
    pub const fn help_command(name: &'static str, arity: i32) -> Self {
        Self::container(name, arity, &[]).reply("An array of lines.")
    }

    /// Sets the flags.
    pub const fn flags(mut self, flags: &[Flags]) -> Self {
        self.spec.flags = Flags::of(flags);
        self
    }

    /// Sets the ACL categories that the flags do not imply.
    pub const fn categories(mut self, categories: &'static [&'static str]) -> Self {
        self.spec.categories = categories;
        self
    }

    /// Sets the positions of the keys.
    pub const fn keys(mut self, keys: &'static [KeySpec]) -> Self {
        self.spec.keys = keys;
        self
    }

    /// Sets the function that finds the keys and their flags, if the specs cannot.
    pub const fn key_finder(mut self, find: KeyFinder) -> Self {
        self.spec.key_finder = Some(find);
        self
    }

    /// Sets the function that finds the keys that decide to which node a request belongs, if not those of the specs.
    pub const fn slot_finder(mut self, find: KeyFinder) -> Self {
        self.spec.slot_finder = Some(find);
        self
    }

    pub(crate) const fn reads_keys_with(mut self, word: &'static str) -> Self {
        self.spec.reading_word = Some(word);
        self
    }

    /// Sets the function that finds the keys that the command touches and Redis does not list.
    pub(crate) const fn unlisted_keys(mut self, find: KeyFinder) -> Self {
        self.spec.unlisted_keys = Some(find);
        self
    }

    /// Sets the positions of the channels that the caller needs rights to.
    pub const fn channels(mut self, channels: ChannelSpec) -> Self {
        self.spec.channels = Some(channels);
        self
    }

    /// Sets the group, the first version and the complexity.
    pub const fn about(mut self, group: &'static str, since: &'static str, complexity: &'static str) -> Self {
        self.spec.group = group;
        self.spec.since = since;
        self.spec.complexity = complexity;
        self
    }

    /// Sets the summary.
    pub const fn summary(mut self, summary: &'static str) -> Self {
        self.spec.summary = summary;
        self
    }

    /// Sets the changes since the first version.
    pub const fn history(mut self, history: &'static [(&'static str, &'static str)]) -> Self {
        self.spec.history = history;
        self
    }

    /// Sets the version that deprecated the command, and the replacement.
    pub const fn deprecated(mut self, since: &'static str, replaced_by: &'static str) -> Self {
        self.spec.deprecated = Some((since, replaced_by));
        self
    }

    /// Marks the command as not for users.
    pub const fn internal(mut self) -> Self {
        self.spec.is_internal = true;
        self
    }

    /// Sets the synopsis.
    pub const fn syntax(mut self, syntax: &'static str) -> Self {
        self.spec.syntax = syntax;
        self
    }

    /// Sets the synopsis to that of the grammar which reads the arguments.
    pub(crate) const fn grammar(mut self, grammar: &'static CommandGrammar) -> Self {
        self.spec.syntax = grammar.synopsis();
        self
    }

    /// Sets the function that finds the secret arguments.
    pub const fn secrets(mut self, secrets: Secrets) -> Self {
        self.spec.secrets = Some(secrets);
        self
    }

    /// Sets the hints for clients.
    pub const fn tips(mut self, tips: &'static [&'static str]) -> Self {
        self.spec.tips = tips;
        self
    }

    /// Sets the handler's own errors.
    pub const fn errors(mut self, errors: &'static [&'static str]) -> Self {
        self.spec.errors = errors;
        self
    }

    pub(crate) const fn reply(mut self, reply: &'static str) -> Self {
        self.spec.reply = reply;
        self
    }

    pub(crate) const fn options(mut self, options: &'static [OptionTexts]) -> Self {
        self.spec.options = options;
        self
    }

    pub(crate) const fn example(mut self, requests: &'static [&'static str]) -> Self {
        self.spec.example = requests;
        self
    }

    /// Sets the rows of the command before some releases, the earliest first.
    pub const fn older(mut self, rows: &'static [(&'static str, Row<H>)]) -> Self {
        self.older = rows;
        self
    }

    /// Sets the synopsis before a release, if the notes of the present synopsis do not show the difference.
    pub const fn before(mut self, since: &'static str, syntax: &'static str) -> Self {
        self.before = Some(Before { since, syntax: Some(syntax), refusing: None });
        self
    }

    /// Sets the check for requests that the command refused before a release, if no synopsis shows the difference.
    pub const fn refusing_before(mut self, since: &'static str, refusing: Refusing) -> Self {
        self.before = Some(Before { since, syntax: None, refusing: Some(refusing) });
        self
    }

    pub(super) fn in_version(&self, version: Version) -> &Self {
        let older = self.older.iter().find(|(since, _)| !version.has(since));
        older.map_or(self, |(_, row)| row)
    }

    /// Sets the arity.
    pub const fn arity(mut self, arity: i32) -> Self {
        self.spec.arity = arity;
        self
    }

    /// Sets the lines of HELP.
    pub const fn help(mut self, lines: &'static [&'static str]) -> Self {
        self.spec.help = lines;
        self
    }

    /// Sets the row, by name, whose HELP lines come before those of this row.
    pub const fn help_after(mut self, name: &'static str) -> Self {
        self.spec.help_after = Some(name);
        self
    }
}
