//! Ownership of slots. If two nodes claim a slot, it belongs to the one with the higher epoch.

use super::super::node::{Node, NodeId, NodeNumber};
use super::super::slot_set::SlotSet;
use super::super::view::ClusterView;
use super::effect::GossipEffect;
use super::message::{Body, Header};
use super::state::{Candidacy, Gossip};

impl Gossip {
    /// Handles the slots that a node claims for itself or for its master.
    pub(super) fn hear_claims(&mut self, view: &mut ClusterView, sender: NodeNumber, header: &Header) {
        let Some(node) = view.node(sender) else { return };
        let is_master = node.is_master();
        let holder = if is_master { Some(sender) } else { node.master };
        let Some(holder) = holder.filter(|holder| !view.claims(*holder, &header.slots)) else { return };
        if is_master {
            self.apply_claims(view, sender, header.config_epoch, &header.slots);
        }
        // The sender is behind if another node owns one of these slots by a higher epoch.
        let later = header.slots.iter().find_map(|slot| {
            let owner = view.owner(slot).filter(|owner| *owner != sender && *owner != holder)?;
            view.node(owner).filter(|node| node.config_epoch > header.config_epoch).map(|_| owner)
        });
        if let Some(owner) = later {
            self.tell_of_claim(view, sender, owner);
        }
    }

    /// Informs a node of the slots that another node owns.
    fn tell_of_claim(&mut self, view: &mut ClusterView, to: NodeNumber, of: NodeNumber) {
        let Some(node) = view.node(of) else { return };
        let body = Body::Update { id: node.id, epoch: node.config_epoch, slots: view.claim(of) };
        self.send(view, to, body);
    }

    pub(super) fn hear_update(&mut self, view: &mut ClusterView, id: NodeId, epoch: u64, slots: &SlotSet) {
        let found = view.find(id.as_bytes()).filter(|number| *number != view.my_number());
        let Some(number) = found else { return };
        let Some(node) = view.node_mut(number).filter(|node| node.config_epoch < epoch) else { return };
        node.config_epoch = epoch;
        if node.is_replica() {
            view.promote(number);
        }
        view.current_epoch = view.current_epoch.max(epoch);
        self.changed();
        self.apply_claims(view, number, epoch, slots);
    }

    /// Gives a node the claimed slots, except those that another node owns by this epoch or a later one.
    fn apply_claims(&mut self, view: &mut ClusterView, from: NodeNumber, epoch: u64, slots: &SlotSet) {
        let me = view.my_number();
        let mine = if view.me().is_replica() { view.me().master } else { Some(me) };
        let (mut claimed, mut taken, mut has_changed) = (0, 0, false);
        let mut lost = Vec::new();
        for slot in slots.iter() {
            claimed += 1;
            let owner = view.owner(slot);
            let is_earlier =
                owner.and_then(|owner| view.node(owner)).is_none_or(|node| node.config_epoch < epoch);
            if owner == Some(from) || view.importing_from(slot).is_some() || !is_earlier {
                continue;
            }
            if owner == Some(me) {
                view.set_migrating(slot, None);
                lost.push(slot);
            }
            taken += usize::from(owner.is_some() && owner == mine);
            view.assign(slot, Some(from));
            has_changed = true;
        }
        let is_empty = mine.and_then(|mine| view.node(mine)).is_some_and(|node| node.slots == 0);
        let follows = taken > 0 && is_empty && (self.facts.follows_slots || taken == claimed);
        if let Some(owner) = view.node(from).filter(|_| follows) {
            let id = owner.id;
            self.log(format!("Configuration change detected. Reconfiguring myself as a replica of {id}"));
        }
        if has_changed {
            self.changed();
        }
        if follows {
            self.become_replica_of(view, from);
        } else if !lost.is_empty() {
            self.effect(GossipEffect::LoseSlots(lost));
        }
    }

    pub(crate) fn become_replica_of(&mut self, view: &mut ClusterView, master: NodeNumber) {
        view.replicate(master);
        self.end_manual();
        self.candidacy = Candidacy::default();
        self.heard_master = self.now();
        self.changed();
        // Other nodes must learn of the change at once: they ask a master for more than a replica, and tell it less.
        self.tell_all(view);
    }

    /// Resolves two masters with the same epoch: the one with the lesser name takes a new epoch.
    pub(super) fn resolve_collision(&mut self, view: &mut ClusterView, sender: NodeNumber, header: &Header) {
        let me = view.me();
        let is_same = view.node(sender).is_some_and(Node::is_master)
            && me.is_master()
            && me.config_epoch == header.config_epoch;
        if is_same && header.sender > me.id {
            view.current_epoch = view.current_epoch.saturating_add(1);
            let epoch = view.current_epoch;
            view.me_mut().config_epoch = epoch;
            self.log(format!(
                "WARNING: configEpoch collision with node {}. configEpoch set to {epoch}",
                header.sender
            ));
            self.changed();
        }
    }
}
