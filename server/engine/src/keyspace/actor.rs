//! Who changes keys: what the end of a hold is put down to.

use super::holds::EndCause;
use super::owners::WRITE_SUFFIX;

/// A command, and the script that calls it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Actor<'a> {
    /// The command with its arguments, its name first.
    pub command: &'a [&'a [u8]],
    /// The keys and arguments of the script that calls it, if one does.
    pub script: Option<&'a [&'a [u8]]>,
}

impl Actor<'_> {
    /// How a hold of `owner` ends that this takes away: given back by its owner, if he is named.
    pub(super) fn end_of(self, owner: &[u8]) -> EndCause {
        let is_owner = |word: &[u8]| {
            word == owner
                || (word.len() + WRITE_SUFFIX.len() == owner.len() && is_name_of_writer(word, owner))
        };
        // Where an owner is named, it is mostly the last word.
        let named = |words: &[&[u8]]| words.iter().rev().any(|word| is_owner(word));
        match self.script {
            Some(words) if named(words) => EndCause::Released,
            _ if named(self.command.get(1..).unwrap_or_default()) => EndCause::Released,
            Some(_) => EndCause::Forced,
            None => EndCause::Deleted,
        }
    }
}

/// Whether an owner is that name in its write lock.
fn is_name_of_writer(name: &[u8], owner: &[u8]) -> bool {
    owner.strip_suffix(WRITE_SUFFIX) == Some(name)
}
