//! The periodic work of a node, done ten times a second.

use super::super::node::NodeNumber;
use super::super::node_flags::NodeFlags;
use super::super::view::ClusterView;
use super::state::{Gossip, Manual};

/// The period, in milliseconds.
pub(crate) const TICK_MS: u64 = 100;
/// The number of periods between two requests for a sign of life. Each goes to the longest silent of a few nodes.
const TICKS_PER_PING: u64 = 10;
/// The number of nodes from which the longest silent one is chosen.
const CHOSEN: usize = 5;
/// The bounds, in milliseconds, of the time that a master waits after a minority: the node timeout.
const MIN_REJOIN_MS: i64 = 500;
const MAX_REJOIN_MS: i64 = 5000;
/// The minimum time to wait for the answer of a node in its handshake, in milliseconds.
const HANDSHAKE_MS_MIN: i64 = 1000;

impl Gossip {
    /// Does the periodic work for all other nodes.
    pub(crate) fn tick(&mut self, view: &mut ClusterView) {
        self.ticks += 1;
        self.tell_time(view);
        self.end_handshakes(view);
        self.sync(view);
        if self.ticks.is_multiple_of(TICKS_PER_PING) {
            self.ping_one(view);
        }
        for number in self.peers.keys().copied().collect::<Vec<_>>() {
            self.look_at(view, number);
        }
        self.leave_minority(view);
        self.check_manual();
        self.follow_masters_master(view);
        self.go_on_with_manual(view);
        self.go_on_with_election(view);
    }

    /// Sets the view's present instant and the time that it waits after a minority.
    pub(crate) fn tell_time(&self, view: &mut ClusterView) {
        view.now_ms = self.now();
        view.rejoin_ms = self.facts.node_timeout.clamp(MIN_REJOIN_MS, MAX_REJOIN_MS);
    }

    /// Finds out whether the cluster serves requests again after a minority, as that also depends on time.
    fn leave_minority(&mut self, view: &mut ClusterView) {
        let before = view.state();
        if view.is_in_minority() {
            view.refresh();
        }
        if view.state() != before {
            self.changed();
        }
    }

    /// Forgets the nodes that have not answered their handshake in time.
    fn end_handshakes(&mut self, view: &mut ClusterView) {
        let (now, patience) = (self.now(), self.facts.node_timeout.max(HANDSHAKE_MS_MIN));
        let is_late = |(number, peer): (&NodeNumber, &super::peer::Peer)| {
            let is_handshake =
                view.node(*number).is_some_and(|node| node.flags.contains(NodeFlags::HANDSHAKE));
            (is_handshake && now - peer.since > patience).then_some(*number)
        };
        let late: Vec<NodeNumber> = self.peers.iter().filter_map(is_late).collect();
        for number in late {
            view.remove_node(number);
            self.changed();
        }
    }

    /// Asks one node for a sign of life.
    fn ping_one(&mut self, view: &mut ClusterView) {
        let is_fit = |number: &NodeNumber| {
            let peer = &self.peers[number];
            let is_handshake =
                view.node(*number).is_none_or(|node| node.flags.contains(NodeFlags::HANDSHAKE));
            peer.link.is_some() && peer.ping_sent.is_none() && !is_handshake
        };
        let mut fit: Vec<NodeNumber> = self.peers.keys().copied().filter(is_fit).collect();
        self.choose(&mut fit, CHOSEN);
        if let Some(oldest) = fit.into_iter().min_by_key(|number| self.peers[number].pong_received) {
            self.ping(view, oldest, false);
        }
    }

    /// Checks on a silent node: asks it for a sign of life, reconnects, and marks it if it may have failed.
    fn look_at(&mut self, view: &mut ClusterView, number: NodeNumber) {
        let (now, timeout) = (self.now(), self.facts.node_timeout);
        let Some(node) = view.node(number) else { return };
        if node.flags.intersects(NodeFlags::HANDSHAKE | NodeFlags::NO_ADDRESS) {
            return;
        }
        let Some(peer) = self.peers.get(&number) else { return };
        let (sent, heard) = (peer.ping_sent, peer.heard);
        let silent_for = |since: i64| now - since > timeout / 2;
        let is_dead = peer.link.as_ref().is_some_and(|link| now - link.since > timeout)
            && sent.is_some_and(silent_for)
            && silent_for(heard);
        if is_dead {
            self.close(view, number);
        }
        let Some(peer) = self.peers.get(&number) else { return };
        let takes_over = |manual: &Manual| manual.replica == Some(number);
        let is_due = peer.link.is_some() && sent.is_none() && silent_for(peer.pong_received);
        if is_due || self.manual.as_ref().is_some_and(takes_over) {
            self.ping(view, number, false);
            return;
        }
        if sent.is_some_and(|sent| (now - sent).min(now - heard) > timeout) {
            self.may_have_failed(view, number);
        }
    }
}
