//! A cluster node in the engine: the node receives events, and the rest of the engine applies its effects.

mod requests;
mod view;

use super::engine::Engine;
use crate::cluster::{ClusterEffect, ClusterView, Facts, Gossip, SlotKeys};
use crate::pauses::PauseKind;
use crate::pubsub::Audience;

impl Engine {
    pub(crate) fn is_node(&self) -> bool {
        self.cluster.is_some()
    }

    /// Passes an event to the node, if the server is one, at the current time, and applies the effects.
    pub(crate) fn with_gossip<T>(
        &mut self,
        work: impl FnOnce(&mut Gossip, &mut ClusterView) -> T,
    ) -> Option<T> {
        let cluster = self.cluster.as_deref_mut()?;
        let replication = (&self.replication, self.following.as_ref());
        let done = cluster.tell(Facts::of_server(&self.config, replication, self.clock.now()), work);
        self.follow_node();
        // The node may have met its first other node.
        if let Some(cluster) = self.cluster.as_deref_mut() {
            cluster.plan_tick(self.clock.monotonic_timers(&mut self.keyspace));
        }
        Some(done)
    }

    /// Applies the node's effects, in order.
    fn follow_node(&mut self) {
        loop {
            let Some(cluster) = self.cluster.as_deref_mut() else { return };
            let Some(effect) = cluster.next_effect(&mut self.outbound) else { return };
            match effect {
                ClusterEffect::ViewChanged => self.view_changed(),
                ClusterEffect::Publish { channel, message, is_shard } => {
                    let audience = if is_shard { Audience::Shard } else { Audience::Everyone };
                    self.send_to_receivers(audience, &channel, &message);
                }
                ClusterEffect::PauseWrites { ms } => {
                    let until_ms = self.clock.now().monotonic_ms().saturating_add(ms);
                    self.pauses.pause(PauseKind::Write, until_ms);
                    self.follow_pauses();
                }
                ClusterEffect::Unpause => {
                    self.pauses.unpause();
                    self.follow_pauses();
                }
                ClusterEffect::LoseSlots(slots) => {
                    SlotKeys::delete(&mut self.keyspace, &slots, self.clock.now());
                }
            }
        }
    }
}
