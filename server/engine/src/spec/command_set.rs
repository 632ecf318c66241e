//! A set of commands.

use super::id::CommandId;
use lockwheel_store::memory::block;

const WORD_BITS: usize = u64::BITS as usize;
const WORDS: usize = CommandId::MAX / WORD_BITS;

/// A set of commands, with one bit for each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandSet(Box<[u64; WORDS]>);

impl CommandSet {
    /// The empty set.
    pub fn none() -> Self {
        CommandSet(Box::new([0; WORDS]))
    }

    /// The set of all commands, those added later included.
    pub fn all() -> Self {
        CommandSet(Box::new([u64::MAX; WORDS]))
    }

    /// Bytes of heap that the set takes.
    pub fn heap_bytes(&self) -> usize {
        block(size_of_val(&*self.0))
    }

    /// Whether a command is in the set. O(1).
    pub fn contains(&self, command: CommandId) -> bool {
        let (word, bit) = place(command);
        self.0[word] & bit != 0
    }

    /// Adds a command to the set if `is_in` is true, else removes it. O(1).
    pub fn put(&mut self, command: CommandId, is_in: bool) {
        let (word, bit) = place(command);
        if is_in {
            self.0[word] |= bit;
        } else {
            self.0[word] &= !bit;
        }
    }
}

fn place(command: CommandId) -> (usize, u64) {
    (command.index() / WORD_BITS, 1 << (command.index() % WORD_BITS))
}
