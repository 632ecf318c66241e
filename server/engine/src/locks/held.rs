//! One owner's hold of a lock, as a release finds it.

use super::redisson::WRITE_SUFFIX;

/// An owner's hold, and the field that stores it.
pub(super) struct Held<'a> {
    pub(super) field: &'a [u8],
    /// The hold count.
    pub(super) holds: i64,
    /// Whether the lock has a mode: Redisson's read-write lock is in it, alone or beside a plain hold.
    pub(super) has_mode: bool,
    /// Whether the lock is a string, its owner's name.
    pub(super) is_text: bool,
}

impl Held<'_> {
    /// Whether it is a reader's, perhaps a plain one beside a read-write lock.
    pub(super) fn is_read(&self) -> bool {
        self.has_mode && !self.field.ends_with(WRITE_SUFFIX)
    }
}
