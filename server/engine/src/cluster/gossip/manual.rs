//! Failovers by request of an administrator: the master pauses its clients until the replica has all of its data.

use super::super::node::NodeNumber;
use super::super::view::ClusterView;
use super::effect::GossipEffect;
use super::message::Body;
use super::state::{Candidacy, Gossip, Manual};

/// The time limit of such a failover, in milliseconds.
const PATIENCE_MS: i64 = 5000;
/// The maximum time that the master's clients are paused, in milliseconds.
const PAUSE_MS: i64 = PATIENCE_MS * 2;

impl Gossip {
    /// Begins the takeover by this replica. A forced takeover does not wait for the data of the master.
    pub(crate) fn begin_manual(&mut self, view: &mut ClusterView, is_forced: bool) {
        self.end_manual();
        let until = self.now() + PATIENCE_MS;
        self.manual = Some(Manual { until, replica: None, master_offset: None, can_start: is_forced });
        self.candidacy = Candidacy::default();
        if is_forced {
            self.log("Forced failover user request accepted.".to_owned());
            self.go_on_with_election(view);
        } else if let Some(master) = view.me().master {
            self.log("Manual failover user request accepted.".to_owned());
            self.send(view, master, Body::StartFailover);
        }
    }

    /// Handles, at the master, the request of a replica to take over. Returns whether the replica may do so.
    pub(super) fn begin_to_hand_over(&mut self, view: &mut ClusterView, sender: NodeNumber) -> bool {
        let is_mine =
            view.node(sender).is_some_and(|node| node.is_replica() && node.master == Some(view.my_number()));
        if !is_mine || !view.me().is_master() {
            return false;
        }
        self.end_manual();
        let until = self.now() + PATIENCE_MS;
        self.manual = Some(Manual { until, replica: Some(sender), master_offset: None, can_start: false });
        self.effect(GossipEffect::PauseWrites { ms: PAUSE_MS });
        if let Some(node) = view.node(sender) {
            self.log(format!("Manual failover requested by replica {}.", node.id));
        }
        true
    }

    /// Records, at the replica, the offset at which the master has paused its clients.
    pub(super) fn master_has_paused(&mut self, view: &ClusterView, sender: NodeNumber, offset: u64) {
        let is_master = view.me().is_replica() && view.me().master == Some(sender);
        if let Some(manual) = self.manual.as_mut().filter(|manual| is_master && manual.replica.is_none()) {
            let is_first = manual.master_offset.replace(offset).is_none();
            if is_first {
                self.log(format!("Received replication offset for paused master manual failover: {offset}"));
            }
        }
    }

    /// Begins the election, at the replica, once it has all data of its master.
    pub(super) fn go_on_with_manual(&mut self, view: &mut ClusterView) {
        let offset = self.facts.offset;
        let Some(manual) = self.manual.as_mut().filter(|manual| manual.replica.is_none()) else { return };
        if !manual.can_start && manual.master_offset.is_some_and(|of_master| of_master <= offset) {
            manual.can_start = true;
            self.log("All master replication stream processed, manual failover can start.".to_owned());
            self.go_on_with_election(view);
        }
    }

    /// Gives up the failover if its time limit has passed.
    pub(super) fn check_manual(&mut self) {
        if self.manual.as_ref().is_some_and(|manual| manual.until < self.now()) {
            self.log("Manual failover timed out.".to_owned());
            self.end_manual();
        }
    }

    pub(super) fn end_manual(&mut self) {
        if self.manual.take().is_some_and(|manual| manual.replica.is_some()) {
            self.effect(GossipEffect::Unpause);
        }
    }
}
