//! Connections to other nodes: opening, greeting, use and closing.

use super::super::node::NodeNumber;
use super::super::node_flags::NodeFlags;
use super::super::view::ClusterView;
use super::answer::{LIMITS, PeerReply};
use super::effect::{GossipEffect, PeerLinkId};
use super::message::{Body, GossipMessage};
use super::peer::{Awaited, MAX_UNANSWERED_BYTES, Peer, PeerLink};
use super::state::{Candidacy, Gossip};
use crate::outbound::OutboundEvent;
use lockwheel_resp::{ReplyStream, write_request};
use std::collections::VecDeque;

impl Gossip {
    /// Brings the peers in line with the nodes of the view, and connects to new ones.
    pub(crate) fn sync(&mut self, view: &mut ClusterView) {
        let gone: Vec<NodeNumber> =
            self.peers.keys().copied().filter(|number| view.node(*number).is_none()).collect();
        for number in gone {
            self.close(view, number);
            self.peers.remove(&number);
            self.sessions.retain(|_, (node, _)| *node != number);
            self.peers.values_mut().for_each(|peer| _ = peer.reports.remove(&number));
        }
        let now = self.now();
        let me = view.my_number();
        let others: Vec<_> = view
            .nodes()
            .filter(|(number, _)| *number != me)
            .map(|(number, node)| (number, node.flags))
            .collect();
        for (number, flags) in others {
            self.peers.entry(number).or_insert_with(|| Peer {
                meets: flags.contains(NodeFlags::HANDSHAKE),
                // A node that is already marked as failed counts from now.
                failed: now,
                ..Peer::new(now)
            });
            self.connect(view, number);
        }
    }

    /// Connects to a node and asks it for a sign of life, unless it is connected or has no usable address.
    pub(super) fn connect(&mut self, view: &mut ClusterView, number: NodeNumber) {
        let Some(node) = view.node(number) else { return };
        let Some(peer) = self.peers.get(&number).filter(|peer| peer.link.is_none()) else { return };
        if node.ip.is_empty() || node.port == 0 || node.flags.contains(NodeFlags::NO_ADDRESS) {
            return;
        }
        let (ip, port) = (node.ip.clone(), node.port);
        let (asked_before, meets) = (peer.ping_sent, peer.meets);
        self.last_link += 1;
        let id = self.last_link;
        let mut link = PeerLink {
            id,
            is_open: false,
            since: self.now(),
            awaited: VecDeque::new(),
            unanswered: 0,
            incoming: ReplyStream::default(),
        };
        self.links.insert(id, number);
        self.effect(GossipEffect::Connect { link: id, ip, port });
        if let Some(request) = self.login_request() {
            link.awaited.push_back(Awaited::Login);
            self.effect(GossipEffect::Send { link: id, bytes: request });
        }
        if let Some(peer) = self.peers.get_mut(&number) {
            peer.link = Some(link);
        }
        let shown_before = view.node(number).map_or(0, |node| node.ping_sent_ms);
        self.ping(view, number, meets);
        // The node has owed its answer since the first request, not since this one.
        if asked_before.is_some()
            && let (Some(peer), Some(node)) = (self.peers.get_mut(&number), view.node_mut(number))
        {
            (peer.ping_sent, node.ping_sent_ms) = (asked_before, shown_before);
        }
    }

    fn login_request(&self) -> Option<Vec<u8>> {
        let login = &self.facts.login;
        let password = login.password.as_ref()?;
        let mut request = Vec::new();
        match &login.user {
            Some(user) => write_request(&[b"AUTH", user, password], &mut request),
            None => write_request(&[b"AUTH", password], &mut request),
        }
        Some(request)
    }

    /// Asks a node for a sign of life.
    pub(super) fn ping(&mut self, view: &mut ClusterView, number: NodeNumber, meets: bool) {
        let rumours = self.rumours(view, number);
        let body = if meets { Body::Meet(rumours) } else { Body::Ping(rumours) };
        let (now, wall_ms) = (self.now(), self.facts.wall_ms);
        if !self.send(view, number, body) {
            return;
        }
        if let Some(peer) = self.peers.get_mut(&number) {
            peer.ping_sent = Some(now);
        }
        if let Some(node) = view.node_mut(number) {
            node.ping_sent_ms = wall_ms;
        }
    }

    /// Sends a message if there is a connection. Returns whether it was sent.
    pub(super) fn send(&mut self, view: &mut ClusterView, number: NodeNumber, body: Body) -> bool {
        let Some(node) = view.node(number) else { return false };
        let message = self.message(view, &node.ip, body);
        let bytes = message.write();
        let Some(link) = self.peers.get_mut(&number).and_then(|peer| peer.link.as_mut()) else {
            return false;
        };
        link.unanswered += bytes.len();
        link.awaited.push_back(Awaited::Message(bytes.len()));
        let (id, unanswered) = (link.id, link.unanswered);
        let mut request = Vec::new();
        write_request(&[b"CLUSTER", b"GOSSIP", &bytes], &mut request);
        self.counts.note_sent(&message.body);
        self.effect(GossipEffect::Send { link: id, bytes: request });
        if unanswered > MAX_UNANSWERED_BYTES {
            self.close(view, number);
        }
        true
    }

    /// Sends a message to all connected nodes for which `to` holds.
    pub(super) fn broadcast(
        &mut self,
        view: &mut ClusterView,
        body: &Body,
        to: impl Fn(&ClusterView, NodeNumber) -> bool,
    ) {
        for number in self.peers.keys().copied().collect::<Vec<_>>() {
            let is_handshake = view.node(number).is_none_or(|node| node.flags.contains(NodeFlags::HANDSHAKE));
            if !is_handshake && to(view, number) {
                self.send(view, number, body.clone());
            }
        }
    }

    /// Informs all nodes of the present state of this one.
    pub(crate) fn tell_all(&mut self, view: &mut ClusterView) {
        for number in self.peers.keys().copied().collect::<Vec<_>>() {
            let rumours = self.rumours(view, number);
            let is_handshake = view.node(number).is_none_or(|node| node.flags.contains(NodeFlags::HANDSHAKE));
            if !is_handshake {
                self.send(view, number, Body::Pong(rumours));
            }
        }
    }

    /// Sends a published message to the other nodes. A message of a shard channel goes only to the nodes of this shard.
    pub(crate) fn publish(&mut self, view: &mut ClusterView, channel: &[u8], message: &[u8], is_shard: bool) {
        let body = Body::Publish { channel: channel.to_vec(), message: message.to_vec(), is_shard };
        let shard = view.shard_of(view.my_number());
        for number in self.peers.keys().copied().collect::<Vec<_>>() {
            let is_open = self.peers[&number].link.as_ref().is_some_and(|link| link.is_open);
            let is_asked = !is_shard || view.shard_of(number) == shard;
            let is_known = view.node(number).is_some_and(|node| !node.flags.contains(NodeFlags::HANDSHAKE));
            if is_open && is_asked && is_known {
                self.send(view, number, body.clone());
            }
        }
    }

    /// Handles an event of a connection.
    pub(crate) fn follow_link(&mut self, view: &mut ClusterView, link: PeerLinkId, event: OutboundEvent<'_>) {
        match event {
            OutboundEvent::Opened => self.opened(view, link),
            OutboundEvent::Received(bytes) => self.received(view, link, bytes),
            OutboundEvent::Closed { .. } => self.closed(view, link),
        }
    }

    /// Records that a connection is open.
    pub(crate) fn opened(&mut self, view: &mut ClusterView, link: PeerLinkId) {
        let Some(number) = self.links.get(&link).copied() else { return };
        if let Some(link) = self.peers.get_mut(&number).and_then(|peer| peer.link.as_mut()) {
            link.is_open = true;
        }
        if let Some(node) = view.node_mut(number) {
            node.is_linked = true;
        }
    }

    /// Forgets a connection that could not be made or has ended.
    pub(crate) fn closed(&mut self, view: &mut ClusterView, link: PeerLinkId) {
        let Some(number) = self.links.remove(&link) else { return };
        if let Some(peer) = self.peers.get_mut(&number) {
            peer.link = None;
        }
        if let Some(node) = view.node_mut(number) {
            node.is_linked = false;
        }
    }

    pub(super) fn close(&mut self, view: &mut ClusterView, number: NodeNumber) {
        let link = self.peers.get_mut(&number).and_then(|peer| peer.link.take());
        let Some(link) = link else { return };
        self.links.remove(&link.id);
        self.effect(GossipEffect::Close { link: link.id });
        if let Some(node) = view.node_mut(number) {
            node.is_linked = false;
        }
    }

    /// Closes all connections and forgets the peers, for a new start.
    pub(crate) fn end(&mut self, view: &mut ClusterView) {
        for number in self.peers.keys().copied().collect::<Vec<_>>() {
            self.close(view, number);
        }
        self.peers.clear();
        self.sessions.clear();
        self.candidacy = Candidacy::default();
        self.end_manual();
    }

    /// Handles bytes received over a connection, in pieces of any length.
    pub(crate) fn received(&mut self, view: &mut ClusterView, link: PeerLinkId, bytes: &[u8]) {
        let Some(number) = self.links.get(&link).copied() else { return };
        let Some(its) = self.peers.get_mut(&number).and_then(|peer| peer.link.as_mut()) else { return };
        let (answers, readable) = its.incoming.receive(bytes, &LIMITS, PeerReply::of);
        for answer in answers {
            // An earlier answer may have closed the connection.
            if self.links.contains_key(&link) {
                self.answered(view, number, answer);
            }
        }
        if !readable && self.links.contains_key(&link) {
            self.close(view, number);
        }
    }

    fn answered(&mut self, view: &mut ClusterView, number: NodeNumber, answer: PeerReply) {
        let now = self.now();
        let Some(peer) = self.peers.get_mut(&number) else { return };
        let Some(link) = peer.link.as_mut() else { return };
        let awaited = link.awaited.pop_front();
        if let Some(Awaited::Message(bytes)) = awaited {
            link.unanswered -= bytes;
        }
        match (awaited, answer) {
            (None, _) => self.close(view, number),
            (Some(refused), PeerReply::Refused(why)) => {
                tracing::debug!("Another node refused a message of this node: {why}");
                // Without its answer, the message is lost; the next connection asks again, as on Redis' bus.
                if matches!(refused, Awaited::Message(_)) {
                    self.close(view, number);
                }
            }
            (Some(Awaited::Login), _) => {}
            (Some(Awaited::Message(_)), PeerReply::Alive) => {
                peer.heard = now;
                let owes = peer.ping_sent.is_some();
                if owes {
                    self.gave_sign_of_life(view, number);
                }
            }
            (Some(Awaited::Message(_)), PeerReply::Message(bytes)) => match GossipMessage::read(&bytes) {
                Some(message) => self.hear_answer(view, number, message),
                None => self.close(view, number),
            },
        }
    }
}
