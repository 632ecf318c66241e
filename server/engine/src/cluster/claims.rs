//! What other nodes tell of themselves and of each other, as the bus of a cluster would carry it.

use super::node::{Node, NodeNumber};
use super::node_flags::NodeFlags;
use super::view::ClusterView;

#[cfg_attr(not(test), expect(dead_code, reason = "no node tells another yet"))]
impl ClusterView {
    /// A node has told its address, or another one has. A node that was forgotten a moment ago stays so.
    pub(crate) fn learn(&mut self, told: Node, now_ms: i64) -> Option<NodeNumber> {
        if let Some(known) = self.find(told.id.as_bytes()) {
            if known != self.my_number()
                && let Some(node) = self.node_mut(known)
            {
                (node.ip, node.port, node.tls_port, node.bus_port) =
                    (told.ip, told.port, told.tls_port, told.bus_port);
                (node.hostname, node.is_linked) = (told.hostname, true);
                node.flags.remove(NodeFlags::HANDSHAKE | NodeFlags::NO_ADDRESS);
            }
            return Some(known);
        }
        if self.is_forgotten(told.id.as_bytes(), now_ms) {
            return None;
        }
        let (ip, port) = (told.ip.clone(), told.port);
        let met = self.nodes().find(|(_, node)| {
            node.flags.contains(NodeFlags::HANDSHAKE) && node.ip == ip && node.port == port
        });
        if let Some((met, _)) = met {
            self.remove_node(met);
        }
        Some(self.add_node(Node { master: None, slots: 0, is_linked: true, ..told }))
    }

    /// A master has these slots, in an epoch: it gets those that are nobody's, or that another has in an earlier one.
    /// What this node is importing stays its own business. The slots that this node has lost, whose keys are to go; a
    /// master that has lost its last one becomes the other's replica, if it may.
    pub(crate) fn claim(
        &mut self,
        claimer: NodeNumber,
        slots: impl IntoIterator<Item = u16>,
        epoch: u64,
        may_become_replica: bool,
    ) -> Vec<u16> {
        self.current_epoch = self.current_epoch.max(epoch);
        if let Some(node) = self.node_mut(claimer) {
            node.config_epoch = node.config_epoch.max(epoch);
        }
        let me = self.my_number();
        let followed = if self.me().is_master() { me } else { self.me().master.unwrap_or(me) };
        let (mut lost, mut has_won) = (Vec::new(), false);
        for slot in slots {
            let owner = self.owner(slot);
            if owner == Some(claimer) || self.importing_from(slot).is_some() {
                continue;
            }
            if owner.and_then(|owner| self.node(owner)).is_some_and(|owner| owner.config_epoch >= epoch) {
                continue;
            }
            if owner == Some(me) {
                lost.push(slot);
            }
            has_won |= owner == Some(followed);
            self.set_migrating(slot, None);
            self.assign(slot, Some(claimer));
        }
        let has_none = self.node(followed).is_none_or(|node| node.slots == 0);
        if has_won && has_none && (followed != me || may_become_replica) {
            self.replicate(claimer);
            lost.clear();
        }
        lost
    }

    /// A node cannot be reached: this node suspects that, or most masters agree.
    pub(crate) fn set_failure(&mut self, number: NodeNumber, failure: NodeFlags) {
        let both = NodeFlags::FAILED | NodeFlags::MAY_HAVE_FAILED;
        if let Some(node) = self.node_mut(number) {
            node.flags = node.flags.difference(both).union(failure.intersection(both));
            node.is_linked = !node.flags.intersects(both);
        }
    }

    /// A node says whose replica it is.
    pub(crate) fn follows(&mut self, number: NodeNumber, master: NodeNumber) {
        self.take_slots_of(number);
        if let Some(node) = self.node_mut(number) {
            node.flags = node.flags.difference(NodeFlags::MASTER).union(NodeFlags::REPLICA);
            node.master = Some(master);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::node::NodeId;
    use super::super::slot::SLOTS;
    use super::super::view::ClusterState;
    use super::*;

    fn node(letter: &str, port: u16) -> Node {
        let id = NodeId::parse(letter.repeat(NodeId::LEN).as_bytes()).expect("it is a name");
        Node { ip: "h".to_owned(), port, flags: NodeFlags::MASTER, ..Node::new(id) }
    }

    /// A master with all slots, in the first epoch, that has learnt of another one.
    fn two() -> (ClusterView, NodeNumber) {
        let mut view = ClusterView::alone(node("a", 1));
        let me = view.my_number();
        (0..SLOTS).for_each(|slot| view.assign(slot, Some(me)));
        view.bump_epoch();
        let other = view.learn(node("b", 2), 0).expect("it was not forgotten");
        view.refresh();
        (view, other)
    }

    #[test]
    fn a_later_epoch_takes_slots_and_an_earlier_one_does_not() {
        let (mut view, other) = two();
        assert_eq!(view.claim(other, 0..10, 1, true), []);
        assert_eq!(view.claim(other, 0..10, 2, true), (0..10).collect::<Vec<_>>());
        assert_eq!((view.me().slots, view.owner(9), view.current_epoch), (16374, Some(other), 2));
        view.set_importing(9, Some(other));
        view.assign(9, None);
        view.claim(other, [9], 3, true);
        assert_eq!(view.owner(9), None);
    }

    #[test]
    fn a_master_without_slots_becomes_a_replica_if_it_may() {
        let (mut view, other) = two();
        let mut stays = view.clone();
        assert_eq!(view.claim(other, 0..SLOTS, 2, true), []);
        assert_eq!((view.me().is_replica(), view.me().master), (true, Some(other)));
        assert_eq!(stays.claim(other, 0..SLOTS, 2, false).len(), usize::from(SLOTS));
        assert!(stays.me().is_master());
    }

    #[test]
    fn a_cluster_without_its_majority_serves_nothing() {
        let (mut view, other) = two();
        view.claim(other, 0..10, 2, true);
        view.refresh();
        assert_eq!(view.state(), ClusterState::Ok);
        view.set_failure(other, NodeFlags::MAY_HAVE_FAILED);
        view.refresh();
        assert_eq!((view.state(), view.health().may_have_failed), (ClusterState::Fail, 10));
        view.set_failure(other, NodeFlags::empty());
        view.refresh();
        assert_eq!(view.state(), ClusterState::Ok);
    }

    #[test]
    fn who_was_forgotten_is_not_learnt_of_for_a_minute() {
        let (mut view, other) = two();
        view.forget(other, 0);
        assert_eq!(view.learn(node("b", 2), 59_999), None);
        assert!(view.learn(node("b", 2), 60_000).is_some());
    }

    #[test]
    fn who_was_met_is_called_by_its_name_once_it_has_told_it() {
        let (mut view, _) = two();
        let met = view.add_node(Node { flags: NodeFlags::HANDSHAKE, ..node("x", 3) });
        let told = view.learn(node("c", 3), 0).expect("it was not forgotten");
        assert!(view.node(met).is_none() && view.node(told).is_some());
        view.follows(told, view.my_number());
        assert_eq!(view.replicas_of(view.my_number()).count(), 1);
    }
}
