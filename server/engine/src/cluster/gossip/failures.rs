//! Detection of failed nodes: this node cannot reach the other one, and most masters agree.

use super::super::node::{NodeId, NodeNumber};
use super::super::node_flags::NodeFlags;
use super::super::view::ClusterView;
use super::message::Body;
use super::state::{Gossip, quorum};

/// The node timeouts after which a failed, reachable master serves its slots again if no replica took over.
const UNDO_TIMEOUTS: i64 = 2;

impl Gossip {
    /// Marks a node that this node cannot reach.
    pub(super) fn may_have_failed(&mut self, view: &mut ClusterView, number: NodeNumber) {
        let Some(node) = view.node_mut(number) else { return };
        if node.flags.intersects(NodeFlags::FAILED | NodeFlags::MAY_HAVE_FAILED) {
            return;
        }
        node.flags |= NodeFlags::MAY_HAVE_FAILED;
        tracing::debug!("*** NODE {} possibly failing", node.id);
        self.changed();
        self.mark_failed_if_agreed(view, number);
    }

    pub(super) fn mark_failed_if_agreed(&mut self, view: &mut ClusterView, number: NodeNumber) {
        let Some(node) = view.node(number) else { return };
        if !node.flags.contains(NodeFlags::MAY_HAVE_FAILED) || node.has_failed() {
            return;
        }
        let is_master = view.me().is_master();
        let reports = self.failure_reports(number) + usize::from(is_master);
        if reports < quorum(view) {
            return;
        }
        let id = node.id;
        self.notice(format!("Marking node {id} as failing (quorum reached)."));
        self.fail(view, number);
        if is_master {
            self.broadcast(view, &Body::Fail(id), |_, _| true);
        }
    }

    pub(super) fn hear_fail(&mut self, view: &mut ClusterView, sender: NodeId, id: NodeId) {
        let found = view.find(id.as_bytes()).filter(|number| *number != view.my_number());
        let is_new = |number: &NodeNumber| view.node(*number).is_some_and(|node| !node.has_failed());
        if let Some(number) = found.filter(is_new) {
            self.notice(format!("FAIL message received from {sender} about {id}"));
            self.fail(view, number);
        }
    }

    fn fail(&mut self, view: &mut ClusterView, number: NodeNumber) {
        let now = self.now();
        if let Some(peer) = self.peers.get_mut(&number) {
            peer.failed = now;
        }
        if let Some(node) = view.node_mut(number) {
            node.flags = node.flags.difference(NodeFlags::MAY_HAVE_FAILED).union(NodeFlags::FAILED);
        }
        self.changed();
    }

    pub(super) fn clear_failure(&mut self, view: &mut ClusterView, number: NodeNumber) {
        let (now, patience) = (self.now(), self.facts.node_timeout.saturating_mul(UNDO_TIMEOUTS));
        let Some(failed) = self.peers.get(&number).map(|peer| peer.failed) else { return };
        let Some(node) = view.node_mut(number) else { return };
        let serves = node.is_master() && node.slots > 0;
        if serves && now - failed <= patience {
            return;
        }
        node.flags.remove(NodeFlags::FAILED);
        let (id, is_replica) = (node.id, node.is_replica());
        let what = match (is_replica, serves) {
            (true, _) => "replica is reachable again.",
            (false, false) => "master without slots is reachable again.",
            (false, true) => "is reachable again and nobody is serving its slots after some time.",
        };
        self.notice(format!("Clear FAIL state for node {id}: {what}"));
        self.changed();
    }
}
