//! Clients that wait for a lock as Redisson does: by subscriptions to its channels, or those of its slot in a cluster.

use super::redisson::{Channels, LOCK_CHANNELS, RelatedName};
use crate::pubsub::PubSub;
use lockwheel_store::keyspace::glob;
use std::collections::BTreeSet;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ChannelWaiter {
    pub(crate) client: u64,
    /// The owner for which the client waits, if the channel names one.
    pub(crate) owner: Option<Box<[u8]>>,
}

pub(super) fn listened_channels(pubsub: &PubSub) -> impl Iterator<Item = &[u8]> {
    let with_prefix =
        move |prefix: &'static [u8]| pubsub.with_prefix(prefix).chain(pubsub.shards_with_prefix(prefix));
    LOCK_CHANNELS.into_iter().flat_map(with_prefix).map(|(name, _)| name)
}

/// The maximum number of matches of patterns with channels that a request over many locks makes.
const MAX_MATCHES: usize = 500_000;

/// The remaining matches of patterns with channels for a request over many locks. Clients choose both, and so the cost.
/// A lock for which too few matches are left has no pattern matched.
#[derive(Debug)]
pub(super) struct MatchBudget {
    left: usize,
    left_out: usize,
}

impl MatchBudget {
    pub(super) fn new() -> Self {
        MatchBudget { left: MAX_MATCHES, left_out: 0 }
    }

    /// Returns the number of locks for which patterns were not matched.
    pub(super) fn left_out(&self) -> usize {
        self.left_out
    }

    /// Takes matches for one lock. Returns whether enough were left.
    fn take(&mut self, matches: usize) -> bool {
        let left = self.left.checked_sub(matches);
        self.left_out += usize::from(left.is_none());
        self.left = left.unwrap_or(self.left);
        left.is_some()
    }

    /// Takes a match for each client that was found: many clients may share one pattern.
    fn take_clients(&mut self, clients: usize) {
        self.left = self.left.saturating_sub(clients);
    }
}

struct LockChannels<'a> {
    names: &'a Channels,
    /// The channels that name an owner, with their subscribers.
    of_owners: Vec<(&'a [u8], &'a BTreeSet<u64>)>,
}

impl<'a> LockChannels<'a> {
    fn of(pubsub: &'a PubSub, names: &'a Channels) -> Self {
        let of_owners = pubsub.with_prefix(&names.fair).chain(pubsub.shards_with_prefix(&names.fair));
        LockChannels { names, of_owners: of_owners.collect() }
    }

    fn named(&self) -> impl Iterator<Item = ChannelWaiter> {
        self.of_owners.iter().flat_map(|(channel, ids)| {
            let owner = Some(Box::from(&channel[self.names.fair.len()..]));
            ids.iter().map(move |&client| ChannelWaiter { client, owner: owner.clone() })
        })
    }

    /// Returns the clients that listen to a channel that names no owner.
    fn by_channel<'b>(&'b self, pubsub: &'b PubSub) -> impl Iterator<Item = ChannelWaiter> {
        let channels = self.names.all.iter().map(RelatedName::as_slice);
        let listening = channels
            .flat_map(|channel| pubsub.listening_to(channel).chain(pubsub.listening_to_shard(channel)));
        listening.map(unnamed)
    }

    /// Returns the channels that a pattern may match.
    fn heard(&self) -> impl Iterator<Item = &[u8]> {
        let owners = self.of_owners.iter().map(|(channel, _)| *channel);
        self.names.all.iter().map(RelatedName::as_slice).chain([&*self.names.fair]).chain(owners)
    }

    /// Returns the clients with a pattern that matches a channel. O(patterns x channels).
    fn by_pattern<'b>(&'b self, pubsub: &'b PubSub) -> impl Iterator<Item = ChannelWaiter> {
        let matching = pubsub
            .all_patterns()
            .filter(|(pattern, _)| self.heard().any(|channel| glob::matches(pattern, channel, false)));
        matching.flat_map(|(_, ids)| ids.iter().copied()).map(unnamed)
    }
}

fn unnamed(client: u64) -> ChannelWaiter {
    ChannelWaiter { client, owner: None }
}

/// Returns the clients that wait for a key as Redisson does: by subscriptions to channels that contain its name, or to
/// patterns that match them. O(patterns x channels of the key).
pub(crate) fn channel_waiters(pubsub: &PubSub, key: &[u8]) -> BTreeSet<ChannelWaiter> {
    let names = Channels::of(key);
    let channels = LockChannels::of(pubsub, &names);
    channels.named().chain(channels.by_channel(pubsub)).chain(channels.by_pattern(pubsub)).collect()
}

/// Clients that wait for one of many keys. Clients with patterns are included only while the budget lasts.
pub(super) fn channel_waiters_within(
    pubsub: &PubSub,
    key: &[u8],
    budget: &mut MatchBudget,
) -> BTreeSet<ChannelWaiter> {
    let names = Channels::of(key);
    let channels = LockChannels::of(pubsub, &names);
    let mut waiters: BTreeSet<_> = channels.named().chain(channels.by_channel(pubsub)).collect();
    if budget.take(pubsub.patterns() * channels.heard().count()) {
        let found = channels.by_pattern(pubsub).inspect(|_| budget.take_clients(1));
        waiters.extend(found);
    }
    waiters
}

pub(super) fn named_channel_waiters(pubsub: &PubSub, key: &[u8]) -> BTreeSet<ChannelWaiter> {
    LockChannels::of(pubsub, &Channels::of(key)).named().collect()
}
