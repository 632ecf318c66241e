//! The numbers of marks, and whether the keyspace may make and take them by itself.

use super::given_back::GivenBack;

/// The numbers of marks, and what the keyspace may do with them.
#[derive(Debug, Default)]
pub(super) struct Marking {
    /// The subscriber whose the marks are.
    marker: Option<usize>,
    /// Nobody but the subscriber wants to know of marked keys.
    is_private: bool,
    /// The subscriber has said that it has nobody to tell, and nobody had it in hand since.
    is_idle: bool,
    /// Both.
    pub(super) by_itself: bool,
    /// The number of the last mark.
    pub(super) last: u64,
    /// Keys that were given back.
    pub(super) given_back: GivenBack,
}

impl Marking {
    /// The marks are those of this subscriber.
    pub(super) fn set_marker(&mut self, subscriber: usize) {
        self.marker = Some(subscriber);
    }

    /// The subscriber whose the marks are.
    pub(super) fn marker(&self) -> Option<usize> {
        self.marker
    }

    /// Whether nobody else wants to know of marked keys from now on.
    pub(super) fn set_private(&mut self, is_private: bool) {
        self.is_private = is_private;
        self.by_itself = self.is_private && self.is_idle;
    }

    /// Whether the subscriber has nobody to tell, until somebody has it in hand.
    #[inline]
    pub(super) fn set_idle(&mut self, is_idle: bool) {
        self.is_idle = is_idle;
        self.by_itself = self.is_private && self.is_idle;
    }

    /// The number of a new mark, or of something else that is counted with them.
    #[inline]
    pub(super) fn next_number(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// The numbers begin anew.
    pub(super) fn restart_numbers(&mut self) {
        self.last = 0;
    }
}
