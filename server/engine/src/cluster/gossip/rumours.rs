//! The reports of nodes on other nodes.

use super::super::node::{Node, NodeNumber};
use super::super::node_flags::NodeFlags;
use super::super::view::ClusterView;
use super::message::{NodeAddress, Rumour};
use super::peer::Peer;
use super::state::{Gossip, MAX_NODES, is_known};

/// The minimum number of nodes that a message reports on, if there are as many.
const RUMOURS_MIN: usize = 3;
/// A sign of life further in the future than this many milliseconds is not believed.
const FUTURE_MS: i64 = 500;

/// The flags of a node that this node, or the reporting node, cannot reach.
const UNREACHABLE: NodeFlags = NodeFlags::FAILED.union(NodeFlags::MAY_HAVE_FAILED);

impl Gossip {
    /// Returns the reports for a node: on some others, chosen at random, and on all that may have failed.
    pub(super) fn rumours(&mut self, view: &ClusterView, to: NodeNumber) -> Vec<Rumour> {
        let me = view.my_number();
        let others = view.nodes().filter(|(number, node)| *number != me && *number != to && is_known(node));
        let (ill, mut fine): (Vec<_>, Vec<_>) =
            others.partition(|(_, node)| node.flags.contains(NodeFlags::MAY_HAVE_FAILED));
        let wanted = (view.nodes().len() / 10).max(RUMOURS_MIN);
        self.choose(&mut fine, wanted);
        fine.into_iter().chain(ill).map(|(number, node)| self.rumour(number, node)).collect()
    }

    fn rumour(&self, number: NodeNumber, node: &Node) -> Rumour {
        let heard = self.peers.get(&number).map(|peer| peer.pong_received).filter(|at| *at > 0);
        Rumour {
            id: node.id,
            address: NodeAddress {
                ip: node.ip.clone(),
                port: node.port,
                tls_port: node.tls_port,
                bus_port: node.bus_port,
            },
            flags: node.flags.difference(NodeFlags::MYSELF),
            heard_ms_ago: heard.map(|at| (self.now() - at).max(0).unsigned_abs()),
        }
    }

    /// Handles the reports of a known node on others.
    pub(super) fn hear_rumours(&mut self, view: &mut ClusterView, from: NodeNumber, rumours: Vec<Rumour>) {
        for rumour in rumours {
            match view.find(rumour.id.as_bytes()) {
                Some(number) if number == view.my_number() => {}
                Some(number) => self.hear_of(view, from, number, &rumour),
                None => self.add_by_rumour(view, rumour),
            }
        }
    }

    /// Adds a node that this node does not know yet.
    fn add_by_rumour(&mut self, view: &mut ClusterView, rumour: Rumour) {
        let lacks_address = rumour.address.ip.is_empty() || rumour.flags.contains(NodeFlags::NO_ADDRESS);
        let is_forgotten = view.is_forgotten(rumour.id.as_bytes(), self.facts.wall_ms);
        if lacks_address || is_forgotten || view.nodes().len() >= MAX_NODES {
            return;
        }
        let told = NodeFlags::MASTER | NodeFlags::REPLICA | NodeFlags::NO_FAILOVER;
        let mut flags = rumour.flags.intersection(told);
        if !flags.contains(NodeFlags::REPLICA) {
            flags |= NodeFlags::MASTER;
        }
        let mut node = Node { flags, ..Node::new(rumour.id) };
        set_address(&mut node, rumour.address);
        let number = view.add_node(node);
        let now = self.now();
        self.peers.insert(number, Peer::new(now));
        self.connect(view, number);
        self.changed();
    }

    /// Handles the report on a known node.
    fn hear_of(&mut self, view: &mut ClusterView, from: NodeNumber, number: NodeNumber, rumour: &Rumour) {
        let now = self.now();
        let is_ill = rumour.flags.intersects(UNREACHABLE);
        if number != from && view.node(from).is_some_and(Node::is_master) {
            let Some(peer) = self.peers.get_mut(&number) else { return };
            if is_ill {
                peer.reports.insert(from, now);
                self.mark_failed_if_agreed(view, number);
            } else {
                peer.reports.remove(&from);
            }
        }
        let has_reports = self.failure_reports(number) > 0;
        let Some(peer) = self.peers.get_mut(&number) else { return };
        if !is_ill && peer.ping_sent.is_none() && !has_reports {
            let ago = rumour.heard_ms_ago.and_then(|ago| i64::try_from(ago).ok());
            if let Some(at) = ago.map(|ago| now.saturating_sub(ago)).filter(|at| *at <= now + FUTURE_MS)
                && at > peer.pong_received
            {
                peer.pong_received = at;
                let shown = self.facts.wall_ms - (now - at);
                view.node_mut(number).into_iter().for_each(|node| node.pong_received_ms = shown);
            }
        }
        let is_unreachable = view.node(number).is_some_and(|node| node.flags.intersects(UNREACHABLE));
        let is_told = !rumour.flags.intersects(UNREACHABLE | NodeFlags::NO_ADDRESS);
        if is_unreachable && is_told && !rumour.address.ip.is_empty() {
            self.move_node(view, number, rumour.address.clone());
        }
    }

    /// Changes the address of a node.
    pub(super) fn move_node(&mut self, view: &mut ClusterView, number: NodeNumber, address: NodeAddress) {
        let Some(node) = view.node_mut(number) else { return };
        let is_there =
            node.ip == address.ip && node.port == address.port && node.tls_port == address.tls_port;
        if is_there && node.bus_port == address.bus_port {
            return;
        }
        tracing::info!("Address updated for node {}, now {}:{}", node.id, address.ip, address.port);
        set_address(node, address);
        node.flags.remove(NodeFlags::NO_ADDRESS);
        self.close(view, number);
        self.connect(view, number);
        self.changed();
    }
}

pub(super) fn set_address(node: &mut Node, address: NodeAddress) {
    node.ip = address.ip;
    (node.port, node.tls_port, node.bus_port) = (address.port, address.tls_port, address.bus_port);
}
