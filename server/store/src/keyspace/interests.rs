//! The changes that subscribers want.

use super::event::{Event, EventClasses};

/// A set of kinds of change: the wish of one subscriber, or of all together.
///
/// A published class of events has its own bit of [`EventClasses`] here, so that one test decides whether anything
/// wants a change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interests(u32);

impl Interests {
    /// Nothing.
    pub const NONE: Self = Interests(0);
    /// Every key that has changed: [`What::Changed`](super::What::Changed).
    pub const KEYS: Self = Interests(1 << 16);
    /// The same, because somebody waits for keys or watches them.
    pub(super) const QUEUED_KEYS: Self = Interests(1 << 16 | 1 << 20);
    /// Somebody waits for keys or watches them, or wants every change.
    pub(super) const QUEUES: Self = Interests(1 << 20);
    /// Every key that has changed, also where those who want [`Interests::KEYS`] know of it already.
    pub const EVERY_CHANGE: Self = Self::QUEUED_KEYS;
    /// What was added: fields of hashes, keys that were set because they were absent, copies of marked keys.
    pub const ADDED: Self = Interests(1 << 17);
    /// Values that are removed or replaced: those of keys that are marked or waited for, or whose deadline an
    /// advance of the clock has brought nearer. Other keys are not reported.
    pub const VALUES: Self = Interests(1 << 18);

    /// Values that are removed or replaced, of all keys.
    pub const ALL_VALUES: Self = Interests(1 << 18 | 1 << 19);

    /// Changes of what stands beside a key's content, which are none to those who wait for it or watch it.
    pub const QUIET: Self = Interests(1 << 21);

    /// What a database has before it is exchanged with another, and what it has then.
    pub const EXCHANGES: Self = Interests(1 << 22);

    /// The classes of events that are published.
    pub(super) fn of_published(published: EventClasses) -> Self {
        let channels = EventClasses::KEYSPACE | EventClasses::KEYEVENT;
        if published.intersects(channels) {
            Interests(published.difference(channels).bits())
        } else {
            Self::NONE
        }
    }

    /// An event of a published class.
    #[inline]
    pub(super) const fn of_event(event: Event) -> Self {
        Interests(event.class.bits())
    }

    /// Both sets.
    #[must_use]
    #[inline]
    pub const fn with(self, others: Self) -> Self {
        Interests(self.0 | others.0)
    }

    /// This set without those.
    #[must_use]
    pub(super) const fn without(self, others: Self) -> Self {
        Interests(self.0 & !others.0)
    }

    /// Whether all of these are in the set.
    pub(super) const fn all(self, of: Self) -> bool {
        self.0 & of.0 == of.0
    }

    /// Whether any of these is in the set.
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
