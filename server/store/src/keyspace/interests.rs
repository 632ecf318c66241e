//! The kinds of change that subscribers want.

use super::event::{Event, EventClasses};

/// A set of kinds of change: the interests of one subscriber, or of all together. Each published class has its bit of
/// [`EventClasses`], so that one test decides whether a change is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interests(u32);

impl Interests {
    /// No changes.
    pub const NONE: Self = Interests(0);
    /// Every key that has changed: [`What::Changed`](super::What::Changed).
    pub const KEYS: Self = Interests(1 << 16);
    /// Every key that has changed, because a key has waiters or watchers.
    pub(super) const QUEUED_KEYS: Self = Interests(1 << 16 | 1 << 20);
    /// A key has waiters or watchers, or a subscriber wants every change.
    pub(super) const QUEUES: Self = Interests(1 << 20);
    /// Every key that has changed, including changes that subscribers with [`Interests::KEYS`] know already.
    pub const EVERY_CHANGE: Self = Self::QUEUED_KEYS;
    /// Additions: fields of hashes, keys that were set because they were absent, copies of marked keys.
    pub const ADDED: Self = Interests(1 << 17);
    /// Removed or replaced values of keys that are marked, or have waiters, or have a deadline that an advance of the
    /// clock brought nearer. Other keys are not reported.
    pub const VALUES: Self = Interests(1 << 18);

    /// Removed or replaced values of all keys.
    pub const ALL_VALUES: Self = Interests(1 << 18 | 1 << 19);

    /// Changes of data beside a key's content, which waiters and watchers do not see as changes.
    pub const QUIET: Self = Interests(1 << 21);

    /// The state of two databases before their keys are exchanged, and after that.
    pub const EXCHANGES: Self = Interests(1 << 22);

    /// The requests by which commands are propagated.
    pub const PROPAGATION: Self = Interests(1 << 23);

    /// The interests for the classes of events that are published.
    pub(super) fn of_published(published: EventClasses) -> Self {
        let channels = EventClasses::KEYSPACE | EventClasses::KEYEVENT;
        if published.intersects(channels) {
            Interests(published.difference(channels).bits())
        } else {
            Self::NONE
        }
    }

    /// The interest of a published class: that of this event.
    #[inline]
    pub(super) const fn of_event(event: Event) -> Self {
        Interests(event.class.bits())
    }

    /// The union of both sets.
    #[must_use]
    #[inline]
    pub const fn with(self, others: Self) -> Self {
        Interests(self.0 | others.0)
    }

    /// The set without `others`.
    #[must_use]
    pub(super) const fn without(self, others: Self) -> Self {
        Interests(self.0 & !others.0)
    }

    /// Whether all interests of `of` are in this set.
    pub(super) const fn all(self, of: Self) -> bool {
        self.0 & of.0 == of.0
    }

    /// Whether any interest of `of` is in this set.
    #[inline]
    pub const fn any(self, of: Self) -> bool {
        self.0 & of.0 != 0
    }
}

#[cfg(test)]
mod tests {
    use super::super::event::events;
    use super::*;

    #[test]
    fn events_concern_somebody_when_their_class_and_a_channel_are_published() {
        let hset = Interests::of_event(events::HSET);
        for (text, wanted) in [("KEh", true), ("Kh", true), ("h", false), ("KE$", false), ("", false)] {
            let published = EventClasses::parse(text.as_bytes()).unwrap();
            assert_eq!(Interests::of_published(published).any(hset), wanted, "{text}");
            assert_eq!(published.wants(events::HSET.class), wanted, "{text}");
        }
        let all = Interests::of_published(EventClasses::ALL | EventClasses::KEYSPACE);
        assert!(!all.any(Interests::KEYS.with(Interests::ADDED).with(Interests::VALUES)));
    }
}
