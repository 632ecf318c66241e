//! A hold that is being given back.

/// The field in which an owner holds a lock.
pub(super) struct Held<'a> {
    pub(super) field: &'a [u8],
    /// How often.
    pub(super) holds: i64,
    /// Whether the lock has a mode: Redisson's read-write lock is in it, alone or beside a plain hold.
    pub(super) has_mode: bool,
}
