//! Messages on their way to subscribers.

use super::engine::Engine;
use crate::clients::{Closing, Message, Slot};
use crate::locks::{HistoryCause, HistoryEvent};
use lockwheel_resp::{Protocol, Reply};
use lockwheel_store::keyspace::EventValue;

/// How the names of the server's own channels begin, and of patterns of such.
const SERVER_CHANNELS: &[u8] = b"__";

impl Engine {
    /// Sends a message to its subscribers: those of the channel first, then those of patterns.
    pub(crate) fn send_to_subscribers(&mut self, channel: &[u8], message: &[u8]) {
        self.send_to_matching(channel, message, b"");
    }

    /// Sends a message on one of the server's own channels: to its subscribers, and to those of patterns of such
    /// channels. Who listens to everything is sent what Redis would send.
    pub(super) fn announce(&mut self, channel: &[u8], message: &[u8]) {
        self.send_to_matching(channel, message, SERVER_CHANNELS);
    }

    fn send_to_matching(&mut self, channel: &[u8], message: &[u8], prefix: &[u8]) {
        let mut direct: Vec<u64> = self.pubsub.listening_to(channel).collect();
        let mut matching: Vec<(Box<[u8]>, Vec<u64>)> = self
            .pubsub
            .matching(channel)
            .filter(|(pattern, _)| pattern.starts_with(prefix))
            .map(|(text, ids)| (text.into(), ids.iter().copied().collect()))
            .collect();
        if self.faults.sees_messages() {
            let receivers = std::iter::once(&mut direct).chain(matching.iter_mut().map(|(_, ids)| ids));
            self.lose_message(channel, receivers.collect());
        }
        let len = channel.len() + message.len();
        self.send_to(&direct, len, &|reply: &mut dyn Reply| {
            reply.push(3);
            reply.bulk(b"message");
            reply.bulk(channel);
            reply.bulk(message);
        });
        for (pattern, ids) in matching {
            self.send_to(&ids, len + pattern.len(), &|reply: &mut dyn Reply| {
                reply.push(4);
                reply.bulk(b"pmessage");
                reply.bulk(&pattern);
                reply.bulk(channel);
                reply.bulk(message);
            });
        }
    }

    /// Pushes to a client that speaks RESP3 what concerns it.
    pub(super) fn push_to(&mut self, id: u64, kind: &str, fields: &[(&str, EventValue)]) {
        let Some(slot) = self.sessions.find(id) else { return };
        let is_lost = self.is_lost(slot);
        let session = self.sessions.get_mut(slot);
        if session.protocol != Protocol::Resp3 || session.closing == Some(Closing::Now) || is_lost {
            return;
        }
        let before = session.delivery.pending();
        let write = |reply: &mut dyn Reply| {
            reply.push(2);
            reply.bulk(kind.as_bytes());
            reply.map(fields.len());
            for (name, value) in fields {
                reply.bulk(name.as_bytes());
                match value {
                    EventValue::Text(text) => reply.bulk(text),
                    EventValue::Number(number) => reply.integer(*number),
                }
            }
        };
        if !self.push_contained(slot, |delivery| delivery.push(Protocol::Resp3, write)) {
            return;
        }
        let session = self.sessions.get_mut(slot);
        // What was unread before it had any of these pushes is a reply.
        session.pushed_bytes = if before == 0 { 0 } else { session.pushed_bytes };
        session.pushed_bytes += session.delivery.pending().saturating_sub(before);
        let limit = self.config.output_limit(true).hard;
        if limit > 0 && session.pushed_bytes >= limit {
            self.close_over_limit(slot);
        }
        self.check_output_limit(slot);
        self.wake(slot);
    }

    /// Sends a message that is the server's own to all who listen to its channel: in a cluster some do at the channel
    /// of this name that is the slot's alone.
    pub(super) fn publish(&mut self, channel: &[u8], message: &[u8]) {
        self.send_to_subscribers(channel, message);
        if self.pubsub.shard_subscribers(channel) > 0 {
            self.send_to_shard(channel, message);
        }
        if self.is_node() {
            self.publish_to_nodes(channel, message, false);
            self.publish_to_nodes(channel, message, true);
        } else {
            self.replicate_request(&[b"PUBLISH", channel, message], 0);
        }
    }

    /// Sends a message to the subscribers of a channel of a shard.
    pub(crate) fn send_to_shard(&mut self, channel: &[u8], message: &[u8]) {
        let mut ids: Vec<u64> = self.pubsub.listening_to_shard(channel).collect();
        if self.faults.sees_messages() {
            self.lose_message(channel, vec![&mut ids]);
        }
        self.send_to(&ids, channel.len() + message.len(), &|reply: &mut dyn Reply| {
            reply.push(3);
            reply.bulk(b"smessage");
            reply.bulk(channel);
            reply.bulk(message);
        });
    }

    /// Sends a message with texts of `len` bytes in all to some sessions.
    pub(super) fn send_to(&mut self, ids: &[u64], len: usize, write: &dyn Fn(&mut dyn Reply)) {
        let account = self.memory.messages.clone();
        let mut message = Message::new(&account, len, ids.len(), write);
        for &id in ids {
            if let Some(slot) = self.sessions.find(id) {
                self.send_message(slot, &mut message);
            }
        }
    }

    /// Ends all subscriptions of a session, silently, for this cause in the history.
    pub(crate) fn unsubscribe_all(&mut self, slot: Slot, cause: HistoryCause) {
        let session = self.sessions.get_mut(slot);
        let channels = std::mem::take(&mut session.channels);
        let patterns = std::mem::take(&mut session.patterns);
        let shards = std::mem::take(&mut session.shards);
        let id = session.id;
        for channel in channels.iter() {
            self.pubsub.unsubscribe(channel, id);
            self.history().subscription(slot, channel, (HistoryEvent::LeftQueue, cause));
        }
        patterns.iter().for_each(|pattern| self.pubsub.unsubscribe_pattern(pattern, id));
        for channel in shards.iter() {
            self.pubsub.unsubscribe_shard(channel, id);
            self.history().subscription(slot, channel, (HistoryEvent::LeftQueue, cause));
        }
        self.subscriptions_changed(slot);
    }

    /// The subscriptions of a session have changed: counts them, and sees to what depends on there being any.
    pub(crate) fn subscriptions_changed(&mut self, slot: Slot) {
        self.sessions.get_mut(slot).count_subscriptions();
        self.note_audience();
        self.watch_idle(slot);
    }

    /// Lets those who would send messages know whether there is anybody to receive them: here, at a replica or at
    /// another node of the cluster.
    pub(super) fn note_audience(&mut self) {
        let is_passed_on = self.config.cluster.enabled || self.replication().feeds_replicas();
        let is_heard = is_passed_on || self.pubsub.has_audience() || self.pubsub.shards() > 0;
        self.keyspace.set_audience(is_heard, self.pubsub.has_prefix(SERVER_CHANNELS));
    }
}
