//! Publish/subscribe: the subscribers of channels and patterns.

mod endings;
mod receivers;

pub(crate) use receivers::{Audience, SERVER_CHANNELS};

use endings::{EndingOf, Endings};
use lockwheel_store::keyspace::glob;
use lockwheel_store::memory::tree_heap_bytes;
use std::collections::{BTreeMap, BTreeSet};

/// The subscribers, by the name of a channel or a pattern.
type Subscribers = BTreeMap<Box<[u8]>, BTreeSet<u64>>;

/// The subscribers of channels and patterns. They are ordered, so that deliveries are the same in every run.
#[derive(Debug)]
pub(crate) struct PubSub {
    channels: Subscribers,
    patterns: Subscribers,
    /// The subscribers of shard channels, which are separate from other channels.
    shards: Subscribers,
    /// All channels, shard channels included, by the endings of their names.
    endings: Endings,
    /// Bytes of the names of all channels and patterns.
    names: usize,
    /// The number of subscriptions to all channels and patterns.
    subscriptions: usize,
    /// The number of changes: subscriptions and ends of subscriptions.
    changes: u64,
}

impl PubSub {
    /// A registry without subscribers. `ending_of` gives the endings by which channels are found.
    pub(crate) fn new(ending_of: EndingOf) -> Self {
        PubSub {
            channels: Subscribers::new(),
            patterns: Subscribers::new(),
            shards: Subscribers::new(),
            endings: Endings::new(ending_of),
            names: 0,
            subscriptions: 0,
            changes: 0,
        }
    }

    /// The number of subscriptions that a message to the channel reaches. Each matching pattern counts.
    pub(crate) fn receivers(&self, channel: &[u8]) -> usize {
        self.subscribers(channel) + self.matching(channel).map(|(_, ids)| ids.len()).sum::<usize>()
    }

    /// The number of channels with subscribers.
    pub(crate) fn channels(&self) -> usize {
        self.channels.len()
    }

    /// The number of patterns with subscribers.
    pub(crate) fn patterns(&self) -> usize {
        self.patterns.len()
    }

    /// The number of shard channels with subscribers.
    pub(crate) fn shards(&self) -> usize {
        self.shards.len()
    }

    pub(crate) fn shard_subscribers(&self, channel: &[u8]) -> usize {
        self.shards.get(channel).map_or(0, BTreeSet::len)
    }

    /// The subscribers of a shard channel, oldest client first.
    pub(crate) fn listening_to_shard(&self, channel: &[u8]) -> impl Iterator<Item = u64> {
        self.shards.get(channel).into_iter().flatten().copied()
    }

    /// The shard channels with subscribers, in order.
    pub(crate) fn all_shards(&self) -> impl Iterator<Item = &[u8]> {
        self.shards.keys().map(|channel| &**channel)
    }

    /// The number of subscribers of the channel itself.
    pub(crate) fn subscribers(&self, channel: &[u8]) -> usize {
        self.channels.get(channel).map_or(0, BTreeSet::len)
    }

    /// The subscribers of the channel itself, oldest client first.
    pub(crate) fn listening_to(&self, channel: &[u8]) -> impl Iterator<Item = u64> {
        self.channels.get(channel).into_iter().flatten().copied()
    }

    /// Whether a client is subscribed to the channel itself, or to the shard channel of this name. O(log n).
    pub(crate) fn listens(&self, channel: &[u8], id: u64) -> bool {
        [&self.channels, &self.shards].iter().any(|all| all.get(channel).is_some_and(|ids| ids.contains(&id)))
    }

    /// The channels with subscribers, shard channels too, whose names have this ending, in order. O(log n) to begin.
    pub(crate) fn with_ending(&self, ending: &[u8]) -> impl Iterator<Item = &[u8]> {
        self.endings.with(ending)
    }

    /// The endings by which channels with subscribers are found, in order.
    pub(crate) fn endings(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.endings.all()
    }

    /// Approximate bytes of the names and subscribers: a tree of names, and one of clients for each. O(1).
    pub(crate) fn memory(&self) -> usize {
        /// The bytes by which an allocator rounds up the size of a name.
        const ROUNDED: usize = 8;
        let kinds = [self.channels(), self.patterns(), self.shards()];
        let (names, trees) = (kinds.iter().sum(), kinds.iter().filter(|names| **names > 0).count());
        let entry_bytes = size_of::<(Box<[u8]>, BTreeSet<u64>)>();
        self.names
            + self.ending_bytes()
            + names * ROUNDED
            + tree_heap_bytes(trees, names, entry_bytes)
            + tree_heap_bytes(names, self.subscriptions, size_of::<u64>())
    }

    /// Approximate bytes of memory of the index of channels by ending. O(1).
    fn ending_bytes(&self) -> usize {
        let (bytes, endings, names) = self.endings.sizes();
        let entry_bytes = size_of::<(Box<[u8]>, BTreeSet<Box<[u8]>>)>();
        bytes
            + tree_heap_bytes(usize::from(endings > 0), endings, entry_bytes)
            + tree_heap_bytes(endings, names, size_of::<Box<[u8]>>())
    }

    /// The channels with subscribers whose names have this prefix, in order, each with its subscribers.
    pub(crate) fn with_prefix<'a>(
        &'a self,
        prefix: &'a [u8],
    ) -> impl Iterator<Item = (&'a [u8], &'a BTreeSet<u64>)> {
        let from = self.channels.range(Box::from(prefix)..).map(|(channel, ids)| (&**channel, ids));
        from.take_while(move |(channel, _)| channel.starts_with(prefix))
    }

    /// The shard channels with subscribers whose names have this prefix, in order, each with its subscribers.
    pub(crate) fn shards_with_prefix<'a>(
        &'a self,
        prefix: &'a [u8],
    ) -> impl Iterator<Item = (&'a [u8], &'a BTreeSet<u64>)> {
        let from = self.shards.range(Box::from(prefix)..).map(|(channel, ids)| (&**channel, ids));
        from.take_while(move |(channel, _)| channel.starts_with(prefix))
    }

    /// The patterns with subscribers, in order, each with its subscribers.
    pub(crate) fn all_patterns(&self) -> impl Iterator<Item = (&[u8], &BTreeSet<u64>)> {
        self.patterns.iter().map(|(pattern, ids)| (&**pattern, ids))
    }

    /// Whether there is any subscription to a channel or a pattern, shard channels excluded.
    pub(crate) fn has_audience(&self) -> bool {
        !(self.channels.is_empty() && self.patterns.is_empty())
    }

    /// Whether there is a subscription to a channel or a pattern whose name begins with this prefix. O(log n).
    pub(crate) fn has_prefix(&self, prefix: &[u8]) -> bool {
        let begins = |names: &Subscribers| {
            let first = names.range(Box::from(prefix)..).next();
            first.is_some_and(|(name, _)| name.starts_with(prefix))
        };
        begins(&self.channels) || begins(&self.patterns)
    }

    /// Subscribes a client to a channel. O(log n).
    pub(crate) fn subscribe(&mut self, channel: &[u8], id: u64) {
        self.join(channel, id, |all| &mut all.channels);
        self.endings.add(channel);
    }

    /// Subscribes a client to a pattern. O(log n).
    pub(crate) fn subscribe_pattern(&mut self, pattern: &[u8], id: u64) {
        self.join(pattern, id, |all| &mut all.patterns);
    }

    /// Subscribes a client to a shard channel. O(log n).
    pub(crate) fn subscribe_shard(&mut self, channel: &[u8], id: u64) {
        self.join(channel, id, |all| &mut all.shards);
        self.endings.add(channel);
    }

    /// Unsubscribes a client from a shard channel. O(log n).
    pub(crate) fn unsubscribe_shard(&mut self, channel: &[u8], id: u64) {
        self.leave(channel, id, |all| &mut all.shards);
        self.forget_ending(channel);
    }

    /// Unsubscribes a client from a channel. O(log n).
    pub(crate) fn unsubscribe(&mut self, channel: &[u8], id: u64) {
        self.leave(channel, id, |all| &mut all.channels);
        self.forget_ending(channel);
    }

    /// Unsubscribes a client from a pattern. O(log n).
    pub(crate) fn unsubscribe_pattern(&mut self, pattern: &[u8], id: u64) {
        self.leave(pattern, id, |all| &mut all.patterns);
    }

    pub(crate) fn matching(&self, channel: &[u8]) -> impl Iterator<Item = (&[u8], &BTreeSet<u64>)> {
        let matching = self.patterns.iter().filter(|(pattern, _)| glob::matches(pattern, channel, false));
        matching.map(|(pattern, ids)| (&**pattern, ids))
    }

    /// The number of subscriptions to all channels and patterns. O(1).
    pub(crate) fn subscriptions(&self) -> usize {
        self.subscriptions
    }

    /// The number of changes: subscriptions and ends of subscriptions.
    pub(crate) fn changes(&self) -> u64 {
        self.changes
    }

    fn join(&mut self, name: &[u8], id: u64, of: impl Fn(&mut PubSub) -> &mut Subscribers) {
        self.changes += 1;
        let ids = of(self).entry(name.into()).or_default();
        let (is_first, is_new) = (ids.is_empty(), ids.insert(id));
        self.names += if is_first { name.len() } else { 0 };
        self.subscriptions += usize::from(is_new);
    }

    fn leave(&mut self, name: &[u8], id: u64, of: impl Fn(&mut PubSub) -> &mut Subscribers) {
        self.changes += 1;
        let Some(ids) = of(self).get_mut(name) else { return };
        let (was_there, is_last) = (ids.remove(&id), ids.is_empty());
        self.subscriptions -= usize::from(was_there);
        if is_last {
            of(self).remove(name);
            self.names -= name.len();
        }
    }

    /// Removes the channel from the index of endings if it has no subscribers any more.
    fn forget_ending(&mut self, channel: &[u8]) {
        if !self.channels.contains_key(channel) && !self.shards.contains_key(channel) {
            self.endings.remove(channel);
        }
    }
}
