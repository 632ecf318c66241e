//! Clients that wait for a lock as Redisson does: by subscribing to its channels, in a cluster to those of its slot.

use super::redisson::{Channels, LOCK_CHANNELS};
use crate::pubsub::PubSub;
use lockwheel_store::keyspace::glob;
use std::collections::BTreeSet;

/// A client that waits for a lock as Redisson does: by subscribing to its channel.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ChannelWaiter {
    /// The client.
    pub(crate) client: u64,
    /// The owner it waits for, where the channel names one.
    pub(crate) owner: Option<Box<[u8]>>,
}

/// The channels of locks that somebody listens to.
pub(super) fn listened_channels(pubsub: &PubSub) -> impl Iterator<Item = &[u8]> {
    let with_prefix =
        move |prefix: &'static [u8]| pubsub.with_prefix(prefix).chain(pubsub.shards_with_prefix(prefix));
    LOCK_CHANNELS.into_iter().flat_map(with_prefix).map(|(name, _)| name)
}

/// Clients that wait for a key as Redisson does: subscribed to the channels that contain its name, or to patterns that
/// match these.
pub(crate) fn channel_waiters(pubsub: &PubSub, key: &[u8]) -> BTreeSet<ChannelWaiter> {
    let Channels { all, fair } = Channels::of(key);
    let of_waiters: Vec<_> = pubsub.with_prefix(&fair).chain(pubsub.shards_with_prefix(&fair)).collect();
    let named = of_waiters.iter().flat_map(|(channel, ids)| {
        let owner = Some(Box::from(&channel[fair.len()..]));
        ids.iter().map(move |&client| ChannelWaiter { client, owner: owner.clone() })
    });
    let listened: Vec<&[u8]> = all.iter().map(Vec::as_slice).chain([&*fair]).collect();
    let by_channel =
        all.iter().flat_map(|channel| pubsub.listening_to(channel).chain(pubsub.listening_to_shard(channel)));
    let by_pattern = pubsub.all_patterns().filter(|(pattern, _)| {
        let mut heard = listened.iter().copied().chain(of_waiters.iter().map(|(channel, _)| *channel));
        heard.any(|channel| glob::matches(pattern, channel, false))
    });
    let unnamed = by_channel.chain(by_pattern.flat_map(|(_, ids)| ids.iter().copied()));
    named.chain(unnamed.map(|client| ChannelWaiter { client, owner: None })).collect()
}
