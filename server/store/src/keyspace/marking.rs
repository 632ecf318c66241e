//! The numbers of marks, and the conditions under which the keyspace sets and takes marks by itself.

use super::given_back::GivenBack;

/// The numbers of marks, and the keyspace's permission to handle marks by itself.
#[derive(Debug, Default)]
pub(super) struct Marking {
    /// The index of the subscriber that owns the marks.
    marker: Option<usize>,
    /// Whether only the owner of the marks wants changes of marked keys.
    is_private: bool,
    /// Whether the owner has said that it has nobody to notify, and has not been accessed since.
    is_idle: bool,
    /// Whether both hold, so that the keyspace handles marks by itself.
    pub(super) by_itself: bool,
    pub(super) last: u64,
    pub(super) given_back: GivenBack,
}

impl Marking {
    pub(super) fn set_marker(&mut self, subscriber: usize) {
        self.marker = Some(subscriber);
    }

    pub(super) fn marker(&self) -> Option<usize> {
        self.marker
    }

    /// Sets whether only the owner wants changes of marked keys from now on.
    pub(super) fn set_private(&mut self, is_private: bool) {
        self.is_private = is_private;
        self.by_itself = self.is_private && self.is_idle;
    }

    /// Sets whether the owner has nobody to notify, until it is accessed again.
    #[inline]
    pub(super) fn set_idle(&mut self, is_idle: bool) {
        self.is_idle = is_idle;
        self.by_itself = self.is_private && self.is_idle;
    }

    /// The number of a new mark, or of another object that shares the numbering.
    #[inline]
    pub(super) fn next_number(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    pub(super) fn restart_numbers(&mut self) {
        self.last = 0;
    }
}
