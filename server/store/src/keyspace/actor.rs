//! The cause of a change of keys: a client, a transaction, a script, or the engine itself.

use std::cell::Cell;
use std::num::NonZeroU64;

/// The caller of a command.
#[derive(Clone, Copy, Debug)]
pub enum CalledBy<'a> {
    /// A client that has sent the command.
    Client,
    /// EXEC, while the transaction watched these keys and none of them had changed.
    Transaction(&'a Watched),
    /// A script, called with these keys and arguments.
    Script(&'a ScriptInputs<'a>),
    /// No caller: a deadline has passed, or the engine reads a key for itself.
    Engine,
}

/// The keys that a transaction watches, each with its database.
#[derive(Clone, Debug, Default)]
pub struct Watched(pub Vec<(usize, Box<[u8]>)>);

impl Watched {
    /// Whether one of the watched keys has this name. O(n).
    pub fn has(&self, name: &[u8]) -> bool {
        self.0.iter().any(|(_, key)| **key == *name)
    }
}

/// The keys and arguments of a script's call.
#[derive(Clone, Debug)]
pub struct ScriptInputs<'a> {
    /// `KEYS`.
    pub keys: &'a [&'a [u8]],
    /// `ARGV`.
    pub arguments: &'a [&'a [u8]],
    /// Whether the script has asked for the existence of a key that was absent.
    pub found_none: Cell<bool>,
}

impl<'a> ScriptInputs<'a> {
    /// The inputs of a script that begins.
    #[must_use]
    pub fn new(keys: &'a [&'a [u8]], arguments: &'a [&'a [u8]]) -> Self {
        ScriptInputs { keys, arguments, found_none: Cell::new(false) }
    }
}

/// A session, its command, and the caller of the command.
#[derive(Clone, Copy, Debug)]
pub struct Actor<'a> {
    /// The number of the session. `None` if a deadline or the engine itself acts.
    pub session: Option<NonZeroU64>,
    /// The caller of the command.
    pub called_by: CalledBy<'a>,
    /// The command with its arguments, its name first. Empty if a deadline or the engine itself acts.
    pub command: &'a [&'a [u8]],
}

impl Actor<'_> {
    /// Whether the actor is a script with this thread name among its arguments. Searches from the end.
    #[inline(always)]
    pub(super) fn names_thread(&self, thread: &[u8]) -> bool {
        /// The length of the shortest thread name, whose number has one digit.
        const SHORTEST: usize = 38;
        let CalledBy::Script(script) = self.called_by else { return false };
        thread.len() >= SHORTEST && script.arguments.iter().rev().any(|word| is_same(word, thread))
    }
}

/// Whether two words are equal. Names of threads are compared in two steps, without a call.
#[inline(always)]
fn is_same(one: &[u8], other: &[u8]) -> bool {
    if one.len() != other.len() {
        return false;
    }
    let heads = (one.first_chunk::<32>(), other.first_chunk::<32>());
    let tails = (one.last_chunk::<16>(), other.last_chunk::<16>());
    match (heads, tails) {
        ((Some(head), Some(other_head)), (Some(tail), Some(other_tail))) if one.len() <= 48 => {
            head == other_head && tail == other_tail
        }
        _ => one == other,
    }
}

impl Actor<'static> {
    /// The actor of deadlines and of the engine's own work.
    pub const ENGINE: Self = Actor { session: None, called_by: CalledBy::Engine, command: &[] };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_the_same_byte_by_byte() {
        for len in [0, 1, 31, 32, 38, 47, 48, 49, 80] {
            let word = vec![b'x'; len];
            assert!(is_same(&word, &word) && !is_same(&word, &vec![b'x'; len + 1]), "{len}");
            for at in 0..len {
                let mut other = word.clone();
                other[at] = b'y';
                assert!(!is_same(&word, &other), "{at} of {len}");
            }
        }
    }
}
