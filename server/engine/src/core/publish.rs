//! The delivery of messages to subscribers.

use super::call::Call;
use super::engine::Engine;
use super::faults::ActedOn;
use crate::clients::{Message, Slot, Subscriptions};
use crate::propagation::Receivers;
use crate::pubsub::{Audience, SERVER_CHANNELS};
use crate::spec::{Args, Outcome};
use lockwheel_resp::Reply;
use lockwheel_store::keyspace::Listeners;
use std::num::NonZeroU64;

impl Engine {
    pub(super) fn send_to_receivers(&mut self, audience: Audience, channel: &[u8], message: &[u8]) {
        let mut receivers = self.pubsub.receivers_of(channel, audience);
        if self.faults.sees_messages()
            && let Some(rule) =
                self.change_faults(|control, _| control.lose_message(channel, receivers.lists()))
        {
            self.history().rule_acted(rule, ActedOn::Message);
        }
        let len = channel.len() + message.len();
        self.send_to(&receivers.direct, len, &|reply: &mut dyn Reply| {
            audience.write(channel, message, reply);
        });
        for (pattern, ids) in receivers.matching {
            self.send_to(&ids, len + pattern.len(), &|reply: &mut dyn Reply| {
                reply.push(4);
                reply.bulk(b"pmessage");
                reply.bulk(&pattern);
                reply.bulk(channel);
                reply.bulk(message);
            });
        }
    }

    /// Sends a client's message to its receivers and replies with their number. It also goes to all nodes of a cluster,
    /// or to replicas through the stream.
    pub(super) fn run_publish(
        &mut self,
        audience: Audience,
        call: Call<'_>,
        args: Args<'_>,
        reply: &mut dyn Reply,
    ) -> Outcome {
        let (channel, message) = (&args[1], &args[2]);
        let receivers = self.pubsub.count_receivers(channel, audience);
        if receivers > 0 {
            self.send_to_receivers(audience, channel, message);
        }
        if self.cluster.is_some() {
            let is_shard = audience == Audience::Shard;
            self.with_gossip(|gossip, view| gossip.publish(view, channel, message, is_shard));
        } else {
            self.replicate_request(call.db, (args.all(), Receivers::REPLICAS), NonZeroU64::new(call.session));
        }
        reply.integer(receivers as i64);
        Ok(())
    }

    /// Sends a message of the server to all subscribers of its channel, in a cluster also of its shard channel.
    pub(super) fn publish(&mut self, channel: &[u8], message: &[u8]) {
        if self.faults.sees_messages() || self.pubsub.count_receivers(channel, Audience::Everyone) > 0 {
            self.send_to_receivers(Audience::Everyone, channel, message);
        }
        if self.pubsub.shard_subscribers(channel) > 0 {
            self.send_to_receivers(Audience::Shard, channel, message);
        }
        if self.cluster.is_some() {
            for is_shard in [false, true] {
                self.with_gossip(|gossip, view| gossip.publish(view, channel, message, is_shard));
            }
        } else {
            self.replicate_request(0, (&[b"PUBLISH", channel, message], Receivers::REPLICAS), None);
        }
    }

    /// Sends a message to some sessions. Its texts have `len` bytes in all.
    pub(super) fn send_to(&mut self, ids: &[u64], len: usize, write: &dyn Fn(&mut dyn Reply)) {
        let account = self.memory.messages.clone();
        let mut message = Message::new(&account, len, ids.len(), write);
        let mut ids = ids.iter().copied();
        while let Some((slot, end)) = self.client_output().send(&mut ids, &mut message) {
            self.end_output(slot, end);
        }
    }

    /// Changes the subscriptions of a client, and what depends on them.
    pub(crate) fn change_subscriptions<T>(
        &mut self,
        slot: Slot,
        change: impl FnOnce(&mut Subscriptions<'_>) -> T,
    ) -> T {
        let mut subscriptions = Subscriptions {
            session: self.sessions.get_mut(slot),
            pubsub: &mut self.pubsub,
            keyspace: &mut self.keyspace,
            has_history: self.config.lock_history,
            now: self.clock.now(),
        };
        let done = change(&mut subscriptions);
        subscriptions.session.count_subscriptions();
        self.note_audience();
        self.watch_idle(slot);
        done
    }

    /// Updates whether messages may have receivers: here, at a replica or at another node.
    pub(super) fn note_audience(&mut self) {
        let feeds_replicas = self.replication().feeds_replicas();
        let is_heard = self.config.cluster.enabled || self.pubsub.has_audience() || self.pubsub.shards() > 0;
        let listeners = match (is_heard, feeds_replicas) {
            (true, _) => Listeners::Any,
            (false, true) => Listeners::Propagated,
            (false, false) => Listeners::None,
        };
        self.keyspace.set_audience(listeners, self.pubsub.has_prefix(SERVER_CHANNELS));
    }
}
