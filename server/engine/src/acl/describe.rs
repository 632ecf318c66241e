//! A user's rules as words, from which the same user can be made again.

use super::selector::{KeyPattern, KeyRights, Reach, Selector};
use super::user::User;
use crate::spec::{Category, CommandTable};

impl User {
    /// The rules of the user in one line: the flags of its login, the hashes of its passwords, and its rights.
    pub(crate) fn describe(&self, table: &CommandTable) -> Vec<u8> {
        let mut words: Vec<Vec<u8>> = self.flags().map(|flag| flag.as_bytes().to_vec()).collect();
        words.extend(self.passwords.iter().map(|hash| [b"#", hash.digits()].concat()));
        words.push(self.root.describe(table));
        words.extend(self.others.iter().map(|other| [b"(", &*other.describe(table), b")"].concat()));
        words.join(&b' ')
    }
}

impl Selector {
    fn describe(&self, table: &CommandTable) -> Vec<u8> {
        let mut words = Vec::new();
        let keys = self.describe_keys();
        if !keys.is_empty() {
            words.push(keys);
        }
        if !self.channels.is_all() {
            words.push(b"resetchannels".to_vec());
        }
        let channels = self.describe_channels();
        if !channels.is_empty() {
            words.push(channels);
        }
        words.push(self.describe_commands(table));
        words.join(&b' ')
    }

    pub(crate) fn describe_keys(&self) -> Vec<u8> {
        let Reach::Some(patterns) = &self.keys else { return b"~*".to_vec() };
        let word = |pattern: &KeyPattern| {
            let rights: &[u8] =
                match (pattern.rights.contains(KeyRights::READ), pattern.rights.contains(KeyRights::WRITE)) {
                    (true, false) => b"%R~",
                    (false, true) => b"%W~",
                    _ => b"~",
                };
            [rights, &pattern.pattern].concat()
        };
        patterns.iter().map(word).collect::<Vec<_>>().join(&b' ')
    }

    pub(crate) fn describe_channels(&self) -> Vec<u8> {
        let Reach::Some(patterns) = &self.channels else { return b"&*".to_vec() };
        patterns.iter().map(|pattern| [b"&", &**pattern].concat()).collect::<Vec<_>>().join(&b' ')
    }

    /// The rules for commands. They begin with all commands or none, then come the categories that fit best, then
    /// single commands for the rest. O(categories² × commands).
    pub(crate) fn describe_commands(&self, table: &CommandTable) -> Vec<u8> {
        let adds = !self.allows_future_commands();
        let mut made = Selector::new(true);
        if !adds {
            made.allow_all();
        }
        let mut words = vec![if adds { b"-@all".to_vec() } else { b"+@all".to_vec() }];
        let mut left = self.clone();
        let mut applied = Vec::new();
        while let Some(category) = left.best_category(&applied, adds, table) {
            applied.push(category);
            words.push(format!("{}@{}", if adds { '+' } else { '-' }, category.name()).into_bytes());
            made.put_category(category, adds, table);
            left.put_category(category, !adds, table);
        }
        self.describe_differences(&made, table, &mut words);
        words.join(&b' ')
    }

    /// The category with the most commands that are still to be described, and the fewest that are not.
    fn best_category(&self, applied: &[Category], adds: bool, table: &CommandTable) -> Option<Category> {
        let mut best: Option<(usize, usize, Category)> = None;
        for category in Category::all().filter(|category| !applied.contains(category)) {
            let its = table.iter_all().filter(|command| command.categories.contains(category));
            let (same, differing): (Vec<_>, Vec<_>) =
                its.partition(|command| self.commands.contains(command.id) == adds);
            let (same, differing) = (same.len(), differing.len());
            let is_better =
                best.is_none_or(|(least, most, _)| differing < least || (differing == least && same > most));
            if same > differing && is_better {
                best = Some((differing, same, category));
            }
        }
        best.map(|(_, _, category)| category)
    }

    /// Describes the commands and first arguments by which this selector differs from `made`, one of categories.
    fn describe_differences(&self, made: &Selector, table: &CommandTable, words: &mut Vec<Vec<u8>>) {
        let mut made = made.clone();
        for command in table.iter_all() {
            let is_in = self.commands.contains(command.id);
            if is_in != made.commands.contains(command.id) {
                words.push(format!("{}{}", if is_in { '+' } else { '-' }, command.name).into_bytes());
                made.put(command, is_in);
            }
            if !is_in {
                let first = self.first_arguments(command.id).iter();
                words.extend(
                    first.map(|argument| [b"+", command.name.as_bytes(), b"|", &**argument].concat()),
                );
            }
        }
    }
}
