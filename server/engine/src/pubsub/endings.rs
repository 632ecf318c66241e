//! Channels by the endings of their names, for names whose ending is an id.

use lockwheel_store::memory::block;
use std::collections::{BTreeMap, BTreeSet};

/// Returns the ending of a channel's name by which the channel can be found, if it has one.
pub(crate) type EndingOf = fn(&[u8]) -> Option<&[u8]>;

/// The channels that have subscribers and such an ending, by ending.
#[derive(Debug)]
pub(super) struct Endings {
    ending_of: EndingOf,
    channels: BTreeMap<Box<[u8]>, BTreeSet<Box<[u8]>>>,
    bytes: usize,
    count: usize,
}

impl Endings {
    /// An index without channels.
    pub(super) fn new(ending_of: EndingOf) -> Self {
        Endings { ending_of, channels: BTreeMap::new(), bytes: 0, count: 0 }
    }

    /// Adds a channel that has subscribers. O(log n); O(1) for a channel without such an ending.
    pub(super) fn add(&mut self, channel: &[u8]) {
        let Some(ending) = (self.ending_of)(channel) else { return };
        let channels = self.channels.entry(ending.into()).or_default();
        self.bytes += if channels.is_empty() { block(ending.len()) } else { 0 };
        if channels.insert(channel.into()) {
            self.bytes += block(channel.len());
            self.count += 1;
        }
    }

    /// Removes a channel that has no subscribers any more. O(log n); O(1) for a channel without such an ending.
    pub(super) fn remove(&mut self, channel: &[u8]) {
        let Some(ending) = (self.ending_of)(channel) else { return };
        let Some(channels) = self.channels.get_mut(ending) else { return };
        if channels.remove(channel) {
            self.bytes -= block(channel.len());
            self.count -= 1;
        }
        if channels.is_empty() {
            self.bytes -= block(ending.len());
            self.channels.remove(ending);
        }
    }

    /// The channels with this ending, in order. O(log n) to begin.
    pub(super) fn with(&self, ending: &[u8]) -> impl Iterator<Item = &[u8]> {
        self.channels.get(ending).into_iter().flatten().map(|channel| &**channel)
    }

    pub(super) fn all(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.channels.keys().map(|ending| &**ending)
    }

    /// Bytes of names and endings, the number of endings, and the number of names. O(1).
    pub(super) fn sizes(&self) -> (usize, usize, usize) {
        (self.bytes, self.channels.len(), self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after_colon(name: &[u8]) -> Option<&[u8]> {
        name.iter().rposition(|byte| *byte == b':').map(|at| &name[at + 1..])
    }

    #[test]
    fn channels_are_found_by_their_endings_while_they_exist() {
        let mut endings = Endings::new(after_colon);
        for name in [&b"one:a"[..], b"two:a", b"one:b", b"none", b"one:a"] {
            endings.add(name);
        }
        assert!(endings.with(b"a").eq([&b"one:a"[..], b"two:a"]));
        assert!(endings.all().eq([b"a", b"b"]));
        endings.remove(b"one:a");
        assert!(endings.with(b"a").eq([b"two:a"]) && endings.with(b"none").next().is_none());
        for name in [&b"two:a"[..], b"one:b", b"none", b"never:b"] {
            endings.remove(name);
        }
        assert_eq!((endings.all().len(), endings.sizes()), (0, (0, 0, 0)));
    }
}
