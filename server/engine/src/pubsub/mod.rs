//! Publish/subscribe: the subscribers of channels and patterns.

use crate::keyspace::glob;
use std::collections::{BTreeMap, BTreeSet};

/// The subscribers of channels and patterns. Ordered, so that deliveries are the same in every run.
#[derive(Debug, Default)]
pub(crate) struct PubSub {
    channels: BTreeMap<Box<[u8]>, BTreeSet<u64>>,
    patterns: BTreeMap<Box<[u8]>, BTreeSet<u64>>,
}

impl PubSub {
    /// How many subscriptions a message to the channel reaches, each pattern counted.
    pub(crate) fn receivers(&self, channel: &[u8]) -> usize {
        self.subscribers(channel) + self.matching(channel).map(|(_, ids)| ids.len()).sum::<usize>()
    }

    /// How many channels have subscribers.
    pub(crate) fn channels(&self) -> usize {
        self.channels.len()
    }

    /// How many patterns have subscribers.
    pub(crate) fn patterns(&self) -> usize {
        self.patterns.len()
    }

    /// Subscribers of the channel itself.
    pub(crate) fn subscribers(&self, channel: &[u8]) -> usize {
        self.channels.get(channel).map_or(0, BTreeSet::len)
    }

    /// The subscribers of the channel itself, oldest client first.
    pub(crate) fn listening_to(&self, channel: &[u8]) -> impl Iterator<Item = u64> {
        self.channels.get(channel).into_iter().flatten().copied()
    }

    /// The channels with subscribers whose names have this prefix, in order, each with its subscribers.
    pub(crate) fn with_prefix<'a>(
        &'a self,
        prefix: &'a [u8],
    ) -> impl Iterator<Item = (&'a [u8], &'a BTreeSet<u64>)> {
        let from = self.channels.range(Box::from(prefix)..).map(|(channel, ids)| (&**channel, ids));
        from.take_while(move |(channel, _)| channel.starts_with(prefix))
    }

    /// The patterns with subscribers, in order, each with its subscribers.
    pub(crate) fn all_patterns(&self) -> impl Iterator<Item = (&[u8], &BTreeSet<u64>)> {
        self.patterns.iter().map(|(pattern, ids)| (&**pattern, ids))
    }

    /// Whether there is any subscription.
    pub(crate) fn has_audience(&self) -> bool {
        !(self.channels.is_empty() && self.patterns.is_empty())
    }

    /// A client subscribes to a channel. O(log n).
    pub(crate) fn subscribe(&mut self, channel: &[u8], id: u64) {
        self.channels.entry(channel.into()).or_default().insert(id);
    }

    /// A client subscribes to a pattern. O(log n).
    pub(crate) fn subscribe_pattern(&mut self, pattern: &[u8], id: u64) {
        self.patterns.entry(pattern.into()).or_default().insert(id);
    }

    /// A client unsubscribes from a channel. O(log n).
    pub(crate) fn unsubscribe(&mut self, channel: &[u8], id: u64) {
        leave(&mut self.channels, channel, id);
    }

    /// A client unsubscribes from a pattern. O(log n).
    pub(crate) fn unsubscribe_pattern(&mut self, pattern: &[u8], id: u64) {
        leave(&mut self.patterns, pattern, id);
    }

    /// The patterns that match a channel, in order, each with its subscribers.
    pub(crate) fn matching(&self, channel: &[u8]) -> impl Iterator<Item = (&[u8], &BTreeSet<u64>)> {
        let matching = self.patterns.iter().filter(|(pattern, _)| glob::matches(pattern, channel, false));
        matching.map(|(pattern, ids)| (&**pattern, ids))
    }
}

fn leave(channels: &mut BTreeMap<Box<[u8]>, BTreeSet<u64>>, channel: &[u8], id: u64) {
    if let Some(ids) = channels.get_mut(channel) {
        ids.remove(&id);
        if ids.is_empty() {
            channels.remove(channel);
        }
    }
}
