//! One owner's hold of a lock, as a release finds it.

use super::redisson::WRITE_SUFFIX;

/// An owner's hold, and the field that stores it.
pub(super) struct OwnerHold<'a> {
    pub(super) field: &'a [u8],
    pub(super) holds: i64,
    /// Whether the lock has a mode: a read-write lock of Redisson's is in the key, alone or beside a plain hold.
    pub(super) has_mode: bool,
    /// Whether the lock is a string that contains its owner's name.
    pub(super) is_text: bool,
}

impl OwnerHold<'_> {
    /// Whether the hold is a reader's, or a plain one beside a read-write lock.
    pub(super) fn is_read(&self) -> bool {
        self.has_mode && !self.field.ends_with(WRITE_SUFFIX)
    }
}
