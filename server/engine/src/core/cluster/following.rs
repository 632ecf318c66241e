//! What follows a change of a node's view.

use super::super::engine::{Engine, Retry};
use crate::clients::Slot;
use crate::cluster::{route_waiting, slot_of};
use crate::config::{ClusterParameters, system_reason};
use crate::locks::{HistoryCause, HistoryEvent};
use crate::spec::{Args, CommandError, Flags};
use lockwheel_resp::Reply;

impl Engine {
    /// The view has changed: whether the cluster serves requests is found out, the view is saved, and who listens to
    /// channels of slots that are gone, or waits for their keys, is told. O(slots + waiting clients).
    pub(crate) fn cluster_changed(&mut self) {
        self.view_changed();
        self.follow_view();
    }

    /// The same, but for what the node itself does.
    pub(super) fn view_changed(&mut self) {
        let Some(cluster) = self.cluster.as_deref_mut() else { return };
        cluster.gossip.tell_time(&mut cluster.view);
        cluster.view.refresh();
        let abandoned = cluster.view.take_abandoned();
        if let Err(error) = self.save_cluster() {
            tracing::warn!("Could not save the cluster config: {}", system_reason(&error));
        }
        if !abandoned.is_empty() {
            self.end_channels(&abandoned);
        }
        self.redirect_waiting();
    }

    /// Parameters have changed; `before` holds the old ones.
    pub(in super::super) fn cluster_parameters_changed(&mut self, before: &ClusterParameters) {
        if self.cluster.is_some() && self.config.cluster != *before {
            self.announce_node();
            self.cluster_changed();
        }
    }

    /// Ends the subscriptions of channels of these slots, and says so.
    fn end_channels(&mut self, slots: &[u16]) {
        let all = self.pubsub.all_shards().filter(|channel| slots.contains(&slot_of(channel)));
        let channels: Vec<Box<[u8]>> = all.map(Box::from).collect();
        for channel in channels {
            let ids: Vec<u64> = self.pubsub.listening_to_shard(&channel).collect();
            for slot in ids.into_iter().filter_map(|id| self.sessions.find(id)).collect::<Vec<_>>() {
                self.end_channel(slot, &channel);
            }
        }
    }

    fn end_channel(&mut self, slot: Slot, channel: &[u8]) {
        let session = self.sessions.get_mut(slot);
        session.shards.remove(channel);
        let (id, left) = (session.id, session.shards.len());
        self.pubsub.unsubscribe_shard(channel, id);
        self.history().subscription(slot, channel, (HistoryEvent::LeftQueue, HistoryCause::Migrated));
        self.subscriptions_changed(slot);
        self.send_to(&[id], channel.len(), &|reply: &mut dyn Reply| {
            reply.push(3);
            reply.bulk(b"sunsubscribe");
            reply.bulk(channel);
            reply.integer(left as i64);
        });
    }

    /// What a waiting request is answered that is to be tried again though its keys have gone, with their slot, to
    /// another node: as if it came now. Tried here, it would find a lock free that is held there.
    pub(in super::super) fn redirect_retry(&self, id: u64) -> Option<CommandError> {
        let blocked = self.parked.get(id)?;
        let Retry::OnKeys(_) = &blocked.retry else { return None };
        let argv = blocked.request.argv();
        self.route_again(id, self.commands.get(blocked.command), Args::new(&argv))
            .err()
            .map(|redirect| self.redirect_error(redirect))
    }

    /// Who waits for a key whose slot is not this node's any more is sent where it is. When the node is about to follow
    /// a master, that ends all waits, in its own words.
    fn redirect_waiting(&mut self) {
        if self.master_to_follow().is_some() {
            return;
        }
        let Some(cluster) = &self.cluster else { return };
        let mut redirected: Vec<(u64, CommandError)> = Vec::new();
        for (id, blocked) in self.parked.iter() {
            let Retry::OnKeys(on) = &blocked.retry else { continue };
            let argv = blocked.request.argv();
            let Some(key) = on.keys.first().and_then(|key| argv.get(*key)) else { continue };
            let writes = self.commands.get(blocked.command).has(Flags::WRITE);
            let read_only = cluster.asker(id).read_only && !writes;
            if let Err(redirect) = route_waiting(&cluster.view, key, read_only) {
                redirected.push((id, self.redirect_error(redirect)));
            }
        }
        for (id, error) in redirected {
            self.cancel_wait(id, &error);
        }
    }
}
