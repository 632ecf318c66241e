//! Handling of the requests and answers of other nodes.

use super::super::node::{Node, NodeNumber};
use super::super::node_flags::NodeFlags;
use super::super::view::ClusterView;
use super::effect::GossipEffect;
use super::message::{Body, GossipMessage, Header, NodeAddress, Rumour};
use super::peer::Peer;
use super::rumours::set_address;
use super::state::{Gossip, MAX_NODES};

/// The sender of a request: the session of its connection, and its address.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Speaker<'a> {
    pub(crate) session: u64,
    pub(crate) ip: &'a str,
}

impl Gossip {
    /// Handles the request of another node. Returns the answer, if it has one.
    pub(crate) fn hear_request(
        &mut self,
        view: &mut ClusterView,
        message: GossipMessage,
        speaker: Speaker<'_>,
    ) -> Option<GossipMessage> {
        let GossipMessage { header, body } = message;
        self.counts.note_received(&body);
        if header.sender == view.me().id {
            let answers = matches!(body, Body::Ping(_) | Body::Meet(_));
            return answers.then(|| self.message(view, speaker.ip, Body::Pong(Vec::new())));
        }
        let sender = view.find(header.sender.as_bytes());
        if let Some(sender) = sender {
            self.note_session(speaker.session, sender);
            self.adopt(view, sender, &header);
        }
        let body = match (body, sender) {
            (Body::Meet(rumours), _) => self.met(view, sender, &header, rumours, speaker.ip),
            (Body::Ping(rumours), _) => {
                if view.me().ip.is_empty() {
                    self.learn_own_ip(view, &header.reached_at);
                }
                if let Some(sender) = sender {
                    let ip = if header.address.ip.is_empty() { speaker.ip } else { &header.address.ip };
                    self.move_node(view, sender, NodeAddress { ip: ip.to_owned(), ..header.address.clone() });
                    self.describe(view, sender, &header);
                    self.hear_rumours(view, sender, rumours);
                }
                self.pong(view, sender)
            }
            (Body::Pong(rumours), Some(sender)) => {
                self.describe(view, sender, &header);
                self.hear_rumours(view, sender, rumours);
                return None;
            }
            (Body::Fail(id), Some(_)) => {
                self.hear_fail(view, header.sender, id);
                return None;
            }
            (Body::Update { id, epoch, slots }, Some(_)) => {
                self.hear_update(view, id, epoch, &slots);
                return None;
            }
            (Body::Publish { channel, message, is_shard }, Some(_)) => {
                self.effect(GossipEffect::Publish { channel, message, is_shard });
                return None;
            }
            (Body::AskVote, Some(sender)) if self.votes_for(view, sender, &header) => Body::Vote,
            (Body::StartFailover, Some(sender)) if self.begin_to_hand_over(view, sender) => {
                self.pong(view, Some(sender))
            }
            _ => return None,
        };
        self.counts.note_sent(&body);
        Some(self.message(view, speaker.ip, body))
    }

    fn pong(&mut self, view: &ClusterView, to: Option<NodeNumber>) -> Body {
        Body::Pong(to.map(|to| self.rumours(view, to)).unwrap_or_default())
    }

    fn note_session(&mut self, session: u64, node: NodeNumber) {
        let now = self.now();
        let known = self.sessions.entry(session).or_insert((node, now));
        if known.0 != node {
            *known = (node, now);
        }
    }

    /// Handles the request of a node that wants to join.
    fn met(
        &mut self,
        view: &mut ClusterView,
        sender: Option<NodeNumber>,
        header: &Header,
        rumours: Vec<Rumour>,
        ip: &str,
    ) -> Body {
        self.learn_own_ip(view, &header.reached_at);
        match sender {
            Some(sender) => {
                self.describe(view, sender, header);
                self.hear_rumours(view, sender, rumours);
            }
            None => self.add_met(view, header, ip),
        }
        self.pong(view, sender)
    }

    /// Adds a node that wants to join and starts a handshake with it.
    fn add_met(&mut self, view: &mut ClusterView, header: &Header, ip: &str) {
        let ip = if header.address.ip.is_empty() { ip } else { &header.address.ip };
        let is_same = |node: &Node| {
            node.flags.contains(NodeFlags::HANDSHAKE) && node.ip == ip && node.port == header.address.port
        };
        if ip.is_empty() || view.nodes().len() >= MAX_NODES || view.nodes().any(|(_, node)| is_same(node)) {
            return;
        }
        // Until its answer arrives, its real name is unknown; this one is a placeholder.
        let mut node = Node { flags: NodeFlags::HANDSHAKE, ..Node::new(self.random_id()) };
        set_address(&mut node, NodeAddress { ip: ip.to_owned(), ..header.address.clone() });
        let number = view.add_node(node);
        let now = self.now();
        self.peers.insert(number, Peer::new(now));
        self.connect(view, number);
        self.changed();
    }

    /// Learns the address at which others reach this node, unless this node announces one.
    fn learn_own_ip(&mut self, view: &mut ClusterView, reached_at: &str) {
        let is_new = !reached_at.is_empty() && view.me().ip != reached_at;
        if is_new && self.facts.announced_ip.is_empty() {
            reached_at.clone_into(&mut view.me_mut().ip);
            self.changed();
        }
    }

    pub(super) fn hear_answer(&mut self, view: &mut ClusterView, number: NodeNumber, message: GossipMessage) {
        let GossipMessage { header, body } = message;
        self.counts.note_received(&body);
        if !self.is_whom_it_should_be(view, number, &header) {
            return;
        }
        self.adopt(view, number, &header);
        self.gave_sign_of_life(view, number);
        match body {
            Body::Pong(rumours) => {
                self.describe(view, number, &header);
                self.hear_rumours(view, number, rumours);
                self.go_on_with_manual(view);
            }
            Body::Vote => self.count_vote(view, number, header.current_epoch),
            _ => {}
        }
    }

    /// Whether the answering node is the expected one. A node in its handshake gets its real name.
    fn is_whom_it_should_be(&mut self, view: &mut ClusterView, number: NodeNumber, header: &Header) -> bool {
        let Some(node) = view.node(number) else { return false };
        let is_handshake = node.flags.contains(NodeFlags::HANDSHAKE);
        if node.id == header.sender {
            return true;
        }
        if !is_handshake {
            tracing::debug!("PONG contains mismatching sender ID. About node {}", node.id);
            if let Some(node) = view.node_mut(number) {
                node.flags |= NodeFlags::NO_ADDRESS;
                set_address(node, NodeAddress::default());
            }
            self.close(view, number);
            self.changed();
            return false;
        }
        if view.find(header.sender.as_bytes()).is_some() {
            // The sender is already known, or is this node itself.
            self.close(view, number);
            view.remove_node(number);
            self.peers.remove(&number);
            self.changed();
            return false;
        }
        let role = if header.master.is_some() { NodeFlags::REPLICA } else { NodeFlags::MASTER };
        if let Some(node) = view.node_mut(number) {
            node.id = header.sender;
            node.flags = node.flags.difference(NodeFlags::HANDSHAKE).union(role);
            tracing::debug!("Handshake with node {} completed.", node.id);
        }
        self.changed();
        true
    }

    /// Records a sign of life of a node.
    pub(super) fn gave_sign_of_life(&mut self, view: &mut ClusterView, number: NodeNumber) {
        let (now, wall_ms) = (self.now(), self.facts.wall_ms);
        let Some(peer) = self.peers.get_mut(&number) else { return };
        (peer.pong_received, peer.ping_sent, peer.meets) = (now, None, false);
        let Some(node) = view.node_mut(number) else { return };
        (node.pong_received_ms, node.ping_sent_ms) = (wall_ms, 0);
        if node.flags.contains(NodeFlags::MAY_HAVE_FAILED) {
            node.flags.remove(NodeFlags::MAY_HAVE_FAILED);
            self.changed();
        } else if node.has_failed() {
            self.clear_failure(view, number);
        }
    }

    /// Adopts the epochs and the attributes that a node reports of itself.
    fn adopt(&mut self, view: &mut ClusterView, sender: NodeNumber, header: &Header) {
        let now = self.now();
        if let Some(peer) = self.peers.get_mut(&sender) {
            (peer.heard, peer.offset) = (now, header.offset);
        }
        if header.current_epoch > view.current_epoch {
            view.current_epoch = header.current_epoch;
            self.changed();
        }
        let is_loading = !header.is_synced;
        let offset = if is_loading { Some(0) } else { Some(header.offset).filter(|offset| *offset > 0) };
        let never_takes_over = header.flags.intersection(NodeFlags::NO_FAILOVER);
        let Some(node) = view.node_mut(sender) else { return };
        node.replication_offset = offset;
        let flags = node.flags.difference(NodeFlags::NO_FAILOVER).union(never_takes_over);
        let is_new = header.config_epoch > node.config_epoch || node.flags != flags;
        node.config_epoch = node.config_epoch.max(header.config_epoch);
        node.flags = flags;
        if is_new || node.hostname != header.hostname {
            node.hostname.clone_from(&header.hostname);
            self.changed();
        }
        if header.is_paused {
            self.master_has_paused(view, sender, header.offset);
        }
    }

    /// Handles the role and the slots that a node reports of itself.
    fn describe(&mut self, view: &mut ClusterView, sender: NodeNumber, header: &Header) {
        match header.master {
            None => self.sender_is_master(view, sender),
            Some(master) => {
                let master = view.find(master.as_bytes());
                self.sender_is_replica(view, sender, master);
            }
        }
        self.hear_claims(view, sender, header);
        self.resolve_collision(view, sender, header);
        self.follow_masters_master(view);
    }

    fn sender_is_master(&mut self, view: &mut ClusterView, sender: NodeNumber) {
        if view.node(sender).is_some_and(|node| !node.is_master()) {
            view.promote(sender);
            self.changed();
        }
    }

    fn sender_is_replica(&mut self, view: &mut ClusterView, sender: NodeNumber, master: Option<NodeNumber>) {
        let Some(node) = view.node(sender) else { return };
        let was_master = !node.is_replica();
        let has_other_master = master.is_some_and(|master| node.master != Some(master) && master != sender);
        if was_master {
            view.take_slots_of(sender);
        }
        let Some(node) = view.node_mut(sender) else { return };
        node.flags = node.flags.difference(NodeFlags::MASTER).union(NodeFlags::REPLICA);
        if has_other_master {
            node.master = master;
        }
        if was_master || has_other_master {
            self.changed();
        }
    }

    /// Follows the new master of this replica's master, if that master has become a replica itself.
    pub(super) fn follow_masters_master(&mut self, view: &mut ClusterView) {
        let me = view.me();
        let master = me.master.filter(|_| me.is_replica()).and_then(|master| view.node(master));
        let next = master.filter(|master| master.is_replica()).and_then(|master| master.master);
        let Some(next) = next.filter(|next| *next != view.my_number()) else { return };
        if view.node(next).is_some_and(Node::is_master) {
            self.become_replica_of(view, next);
        }
    }
}
