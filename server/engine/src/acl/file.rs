//! Users as text: files of users, and the `user` lines of a configuration.

use super::rules::{RuleError, Setting, has_spaces, merge_words};
use super::user::User;
use super::users::Users;
use std::collections::BTreeSet;

/// Reads a file of users. The default user has all rights and no password if absent. Returns all errors. O(length).
pub(crate) fn read_users(text: &[u8], path: &str, setting: Setting<'_>) -> Result<Users, Vec<u8>> {
    let mut reader = Reader { path, setting, users: Vec::new(), names: BTreeSet::new(), errors: Vec::new() };
    for (at, line) in text.split(|&byte| byte == b'\n').enumerate() {
        let line = line.split(|&byte| byte == 0).next().unwrap_or_default();
        reader.line(at + 1, trimmed(line, b" \t\r\n"));
    }
    if reader.errors.is_empty() {
        return Ok(with_default(reader.users, User::everybody()));
    }
    const NO_CHANGE: &[u8] =
        b"WARNING: ACL errors detected, no change to the previously active ACL rules was performed";
    Err([&*reader.errors, NO_CHANGE].concat())
}

/// Removes these bytes from both ends of a text.
fn trimmed<'a>(text: &'a [u8], ends: &[u8]) -> &'a [u8] {
    let is_kept = |byte: &u8| !ends.contains(byte);
    let (start, last) = (text.iter().position(is_kept), text.iter().rposition(is_kept));
    start.zip(last).map_or(&[], |(start, last)| &text[start..=last])
}

/// Returns all users, with this default user unless `users` has it.
fn with_default(mut users: Vec<User>, default: User) -> Users {
    let own = users.iter().position(|user| *user.name == *User::DEFAULT);
    let default = own.map_or(default, |at| users.remove(at));
    Users::new(default, users)
}

pub(crate) fn describe_all(users: &Users, setting: Setting<'_>) -> Vec<Vec<u8>> {
    users.iter().map(|user| [b"user ", &*user.name, b" ", &*user.describe(setting.table)].concat()).collect()
}

struct Reader<'a> {
    path: &'a str,
    setting: Setting<'a>,
    users: Vec<User>,
    names: BTreeSet<Vec<u8>>,
    errors: Vec<u8>,
}

impl Reader<'_> {
    fn complain(&mut self, number: usize, parts: &[&[u8]]) {
        self.errors.extend(format!("{}:{number}", self.path).bytes());
        parts.iter().for_each(|part| self.errors.extend_from_slice(part));
    }

    fn line(&mut self, number: usize, line: &[u8]) {
        if line.is_empty() {
            return;
        }
        // The file has no quotes: each space parts words.
        let words: Vec<&[u8]> = line.split(|&byte| byte == b' ').collect();
        let (name, rules) = match &*words {
            [b"user", name, rules @ ..] => (*name, rules),
            _ => {
                return self
                    .complain(number, &[b" should start with user keyword followed by the username. "]);
            }
        };
        if has_spaces(name) {
            // The first quotation mark is not closed, in Redis too.
            self.errors.push(b'\'');
            return self.complain(number, &[b": username '", name, b"' contains invalid characters. "]);
        }
        if !self.names.insert(name.to_vec()) {
            self.errors.extend(b"WARNING: Duplicate user '");
            self.errors.extend_from_slice(name);
            return self.errors.extend(format!("' found on line {number}. ").bytes());
        }
        let Ok(rules) = merge_words(rules) else {
            return self.complain(number, &[b": Unmatched parenthesis in selector definition."]);
        };
        self.user(number, name, &rules);
    }

    /// Reads the user of a line. Every unknown command is reported, and the first of the other errors.
    fn user(&mut self, number: usize, name: &[u8], rules: &[Vec<u8>]) {
        let mut user = User::new(name, self.setting.all_channels);
        let mut is_wrong = false;
        for rule in rules {
            let rule = trimmed(rule, b"\t\r\n");
            match user.follow(rule, self.setting) {
                Ok(()) => {}
                Err(error @ RuleError::UnknownCommand) => {
                    let text = error.text().as_bytes();
                    self.complain(number, &[b": Error in applying operation '", rule, b"': ", text, b". "]);
                }
                Err(error) if !is_wrong => {
                    is_wrong = true;
                    self.complain(number, &[b": ", error.text().as_bytes(), b". "]);
                }
                Err(_) => {}
            }
        }
        self.users.push(user);
    }
}

/// A `user` line of a configuration: the user's name and its rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserLine {
    pub(super) name: Vec<u8>,
    pub(super) rules: Vec<Vec<u8>>,
}

impl UserLine {
    /// Reads the words behind `user`. Returns the first wrong word and the reason, in Redis' words.
    pub(crate) fn read(words: &[&[u8]], others: &[UserLine], setting: Setting<'_>) -> Result<Self, String> {
        let wrong = |word: &[u8], error: RuleError| {
            format!("Error in user declaration '{}': {}", String::from_utf8_lossy(word), error.text())
        };
        let (name, rules) = words.split_first().ok_or_else(|| wrong(b"", RuleError::Syntax))?;
        if others.iter().any(|other| other.name == *name) {
            return Err(wrong(name, RuleError::DuplicateUser));
        }
        if has_spaces(name) {
            return Err("Spaces not allowed in ACL usernames".to_owned());
        }
        let rules = merge_words(rules).map_err(|at| wrong(rules[at], RuleError::Syntax))?;
        let mut user = User::new(name, setting.all_channels);
        for rule in &rules {
            user.follow(rule, setting).map_err(|error| wrong(rule, error))?;
        }
        Ok(UserLine { name: name.to_vec(), rules })
    }
}

/// Returns the users of a configuration. The default user has this password if no line has that user.
pub(crate) fn configured_users(lines: &[UserLine], password: &[u8], setting: Setting<'_>) -> Users {
    let made = lines.iter().map(|line| {
        let mut user = User::new(&line.name, setting.all_channels);
        line.rules.iter().for_each(|rule| {
            let followed = user.follow(rule, setting);
            debug_assert!(followed.is_ok(), "rules are checked when they are read");
        });
        user
    });
    let mut default = User::everybody();
    default.set_password(password);
    with_default(made.collect(), default)
}
