//! The words of rules, and their effects on a user.

use super::password::PasswordHash;
use super::selector::{KeyPattern, KeyRights, Reach, Selector};
use super::user::{Sanitizing, User};
use crate::spec::{Category, Command, CommandTable};
use lockwheel_resp::split_words;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting<'a> {
    pub(crate) table: &'a CommandTable,
    /// Whether new selectors have all channels.
    pub(crate) all_channels: bool,
}

/// The reason why a rule is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RuleError {
    Syntax,
    /// The command or category does not exist.
    UnknownCommand,
    /// A pattern of keys follows the right to all keys.
    KeysAfterAll,
    /// A pattern of channels follows the right to all channels.
    ChannelsAfterAll,
    NoSuchPassword,
    /// The hash of a password is malformed.
    InvalidHash,
    ArgumentOfSubcommand,
    /// The user has been declared before.
    DuplicateUser,
}

impl RuleError {
    /// The text of the error, in Redis' words.
    pub(crate) fn text(self) -> &'static str {
        match self {
            RuleError::Syntax => "Syntax error",
            RuleError::UnknownCommand => "Unknown command or category name in ACL",
            RuleError::KeysAfterAll => {
                "Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid and does not have any \
                 effect. Try 'resetkeys' to start with an empty list of patterns"
            }
            RuleError::ChannelsAfterAll => {
                "Adding a pattern after the * pattern (or the 'allchannels' flag) is not valid and does not have any \
                 effect. Try 'resetchannels' to start with an empty list of channels"
            }
            RuleError::NoSuchPassword => "The password you are trying to remove from the user does not exist",
            RuleError::InvalidHash => {
                "The password hash must be exactly 64 characters and contain only lowercase hexadecimal characters"
            }
            RuleError::ArgumentOfSubcommand => "Allowing first-arg of a subcommand is not supported",
            RuleError::DuplicateUser => {
                "Duplicate user found. A user can only be defined once in config files"
            }
        }
    }
}

/// Whether a word has white space or a NUL in it, which are not allowed in names and patterns.
pub(crate) fn has_spaces(word: &[u8]) -> bool {
    word.iter().any(|&byte| byte == 0 || byte == 0x0b || byte.is_ascii_whitespace())
}

/// Joins the words of each selector, which stand in parentheses, or returns the place of one that is not closed. A
/// selector in which another one is opened is dropped, as in Redis.
pub(crate) fn merge_words(words: &[&[u8]]) -> Result<Vec<Vec<u8>>, usize> {
    let mut merged: Vec<Vec<u8>> = Vec::new();
    let mut open: Option<(usize, Vec<u8>)> = None;
    for (at, word) in words.iter().enumerate() {
        let closes = word.last() == Some(&b')');
        if word.first() == Some(&b'(') && !closes {
            open = Some((at, word.to_vec()));
        } else if let Some((place, selector)) = open.take() {
            let selector = [&*selector, word].join(&b' ');
            if closes {
                merged.push(selector);
            } else {
                open = Some((place, selector));
            }
        } else {
            merged.push(word.to_vec());
        }
    }
    open.map_or(Ok(merged), |(at, _)| Err(at))
}

impl User {
    /// Applies one rule, or returns, without a change, why it is refused.
    pub(crate) fn follow(&mut self, rule: &[u8], setting: Setting<'_>) -> Result<(), RuleError> {
        match &*rule.to_ascii_lowercase() {
            b"" => {}
            b"on" => self.enabled = true,
            b"off" => self.enabled = false,
            b"nopass" => (self.nopass, self.passwords) = (true, Vec::new()),
            b"resetpass" => (self.nopass, self.passwords) = (false, Vec::new()),
            b"skip-sanitize-payload" => self.sanitizing = Sanitizing::Skipped,
            b"sanitize-payload" => self.sanitizing = Sanitizing::Asked,
            b"clearselectors" => self.others.clear(),
            b"reset" => self.reset(setting),
            _ => match rule {
                [b'>', password @ ..] => self.add_password(PasswordHash::of(password)),
                [b'#', digits @ ..] => self.add_password(hash(digits)?),
                [b'<', password @ ..] => self.remove_password(&PasswordHash::of(password))?,
                [b'!', digits @ ..] => self.remove_password(&hash(digits)?)?,
                [b'(', words @ .., b')'] => self.others.push(Selector::from_words(words, setting)?),
                _ => self.root.follow(rule, setting)?,
            },
        }
        Ok(())
    }

    /// Resets the user to the state of a new user.
    fn reset(&mut self, setting: Setting<'_>) {
        let name = std::mem::take(&mut self.name);
        *self = User { sanitizing: Sanitizing::Asked, ..User::new(&name, setting.all_channels) };
    }

    fn add_password(&mut self, hash: PasswordHash) {
        if !self.passwords.contains(&hash) {
            self.passwords.push(hash);
        }
        self.nopass = false;
    }

    fn remove_password(&mut self, hash: &PasswordHash) -> Result<(), RuleError> {
        let at = self.passwords.iter().position(|known| known == hash).ok_or(RuleError::NoSuchPassword)?;
        self.passwords.remove(at);
        Ok(())
    }
}

fn hash(digits: &[u8]) -> Result<PasswordHash, RuleError> {
    PasswordHash::from_digits(digits).ok_or(RuleError::InvalidHash)
}

impl Selector {
    /// Makes a selector from the words between its parentheses.
    fn from_words(words: &[u8], setting: Setting<'_>) -> Result<Self, RuleError> {
        let mut selector = Selector::new(setting.all_channels);
        for word in split_words(words).unwrap_or_default() {
            selector.follow(&word, setting)?;
        }
        Ok(selector)
    }

    fn follow(&mut self, rule: &[u8], setting: Setting<'_>) -> Result<(), RuleError> {
        match &*rule.to_ascii_lowercase() {
            b"allkeys" | b"~*" => self.keys = Reach::All,
            b"resetkeys" => self.keys = Reach::NOTHING,
            b"allchannels" | b"&*" => self.channels = Reach::All,
            b"resetchannels" => self.channels = Reach::NOTHING,
            b"allcommands" | b"+@all" => self.allow_all(),
            b"nocommands" | b"-@all" => self.deny_all(),
            _ => match rule {
                [b'~', pattern @ ..] => self.add_keys(KeyRights::all(), pattern)?,
                // This error comes first, whatever follows the `%`.
                [b'%', ..] if self.keys.is_all() => return Err(RuleError::KeysAfterAll),
                [b'%', rest @ ..] => {
                    let (rights, pattern) = key_rights(rest)?;
                    self.add_keys(rights, pattern)?;
                }
                [b'&', pattern @ ..] => self.add_channels(pattern)?,
                [sign @ (b'+' | b'-'), b'@', category @ ..] => {
                    let category = Category::find(category).ok_or(RuleError::UnknownCommand)?;
                    self.put_category(category, *sign == b'+', setting.table);
                }
                [b'+', name @ ..] => self.allow(name, setting.table)?,
                [b'-', name @ ..] => self.put(command(name, setting.table)?, false),
                _ => return Err(RuleError::Syntax),
            },
        }
        Ok(())
    }

    fn add_keys(&mut self, rights: KeyRights, pattern: &[u8]) -> Result<(), RuleError> {
        let Reach::Some(patterns) = &mut self.keys else { return Err(RuleError::KeysAfterAll) };
        if has_spaces(pattern) {
            return Err(RuleError::Syntax);
        }
        match patterns.iter_mut().find(|known| *known.pattern == *pattern) {
            Some(known) => known.rights |= rights,
            None => patterns.push(KeyPattern { rights, pattern: pattern.into() }),
        }
        Ok(())
    }

    fn add_channels(&mut self, pattern: &[u8]) -> Result<(), RuleError> {
        let Reach::Some(patterns) = &mut self.channels else { return Err(RuleError::ChannelsAfterAll) };
        if has_spaces(pattern) {
            return Err(RuleError::Syntax);
        }
        if !patterns.iter().any(|known| **known == *pattern) {
            patterns.push(pattern.into());
        }
        Ok(())
    }

    /// Allows a command. With a `|`, it allows a subcommand or, if the command has none, only a first argument.
    fn allow(&mut self, name: &[u8], table: &CommandTable) -> Result<(), RuleError> {
        let Some(bar) = name.iter().rposition(|&byte| byte == b'|') else {
            self.put(command(name, table)?, true);
            return Ok(());
        };
        let container = command(&name[..bar], table)?;
        if container.name.contains('|') {
            return Err(RuleError::ArgumentOfSubcommand);
        }
        match &name[bar + 1..] {
            [] => return Err(RuleError::Syntax),
            argument if container.subcommands.is_empty() => {
                self.allow_first_argument(container.id, argument);
            }
            _ => self.put(command(name, table)?, true),
        }
        Ok(())
    }
}

/// Returns the rights between `%` and `~`, and the pattern behind.
fn key_rights(rest: &[u8]) -> Result<(KeyRights, &[u8]), RuleError> {
    let mut rights = KeyRights::empty();
    for (at, letter) in rest.iter().enumerate() {
        let right = match letter.to_ascii_uppercase() {
            b'R' => KeyRights::READ,
            b'W' => KeyRights::WRITE,
            b'~' if !rights.is_empty() => return Ok((rights, &rest[at + 1..])),
            _ => return Err(RuleError::Syntax),
        };
        if rights.contains(right) {
            return Err(RuleError::Syntax);
        }
        rights |= right;
    }
    // Redis, too, reads letters without a pattern as rights to the empty key.
    if rights.is_empty() { Err(RuleError::Syntax) } else { Ok((rights, b"")) }
}

fn command<'t>(name: &[u8], table: &'t CommandTable) -> Result<&'t Command, RuleError> {
    table.find_full(name).map(|command| &**command).ok_or(RuleError::UnknownCommand)
}
