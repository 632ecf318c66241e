//! The receivers of a message.

use super::PubSub;
use lockwheel_resp::Reply;

/// The prefix of the server's own channels, and of patterns of such channels.
pub(crate) const SERVER_CHANNELS: &[u8] = b"__";

/// The clients that a message is meant for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Audience {
    /// The subscribers of the channel, then those of patterns that match it.
    Everyone,
    /// The subscribers of one of the server's own channels, then those of patterns of such channels. A client that
    /// subscribes to all channels receives only the messages that Redis would send.
    OfServer,
    /// The subscribers of the shard channel.
    Shard,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Receivers {
    /// The subscribers of the channel.
    pub(crate) direct: Vec<u64>,
    /// The patterns that match, with their subscribers.
    pub(crate) matching: Vec<(Box<[u8]>, Vec<u64>)>,
}

impl Receivers {
    pub(crate) fn lists(&mut self) -> Vec<&mut Vec<u64>> {
        std::iter::once(&mut self.direct).chain(self.matching.iter_mut().map(|(_, ids)| ids)).collect()
    }
}

impl PubSub {
    /// Returns the receivers of a message on a channel. O(subscribers of the channel, patterns and their subscribers).
    pub(crate) fn receivers_of(&self, channel: &[u8], audience: Audience) -> Receivers {
        let prefix = match audience {
            Audience::Everyone => &b""[..],
            Audience::OfServer => SERVER_CHANNELS,
            Audience::Shard => {
                let direct = self.listening_to_shard(channel).collect();
                return Receivers { direct, matching: Vec::new() };
            }
        };
        let matching = self.matching(channel).filter(|(pattern, _)| pattern.starts_with(prefix));
        Receivers {
            direct: self.listening_to(channel).collect(),
            matching: matching.map(|(text, ids)| (text.into(), ids.iter().copied().collect())).collect(),
        }
    }

    /// Returns the number of subscriptions that a message on a channel reaches.
    pub(crate) fn count_receivers(&self, channel: &[u8], audience: Audience) -> usize {
        match audience {
            Audience::Everyone | Audience::OfServer => self.receivers(channel),
            Audience::Shard => self.shard_subscribers(channel),
        }
    }
}

impl Audience {
    pub(crate) fn write(self, channel: &[u8], message: &[u8], reply: &mut dyn Reply) {
        reply.push(3);
        reply.bulk(if self == Audience::Shard { b"smessage" } else { b"message" });
        reply.bulk(channel);
        reply.bulk(message);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_channels_reach_patterns_of_such_alone_and_shards_are_apart() {
        let mut pubsub = PubSub::new(|_| None);
        pubsub.subscribe(b"__a", 1);
        pubsub.subscribe_pattern(b"*", 2);
        pubsub.subscribe_pattern(b"__*", 3);
        pubsub.subscribe_shard(b"__a", 4);
        let matching = |audience| {
            let mut receivers = pubsub.receivers_of(b"__a", audience);
            receivers.lists().into_iter().flat_map(|ids| ids.clone()).collect::<Vec<u64>>()
        };
        assert_eq!(matching(Audience::Everyone), [1, 2, 3]);
        assert_eq!(matching(Audience::OfServer), [1, 3]);
        assert_eq!(matching(Audience::Shard), [4]);
        assert_eq!(pubsub.count_receivers(b"__a", Audience::Shard), 1);
    }
}
