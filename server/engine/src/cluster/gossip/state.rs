//! The state of one node's part in the cluster's messages.

use super::super::node::{Node, NodeId, NodeNumber};
use super::super::node_flags::NodeFlags;
use super::super::view::ClusterView;
use super::counts::MessageCounts;
use super::effect::{GossipEffect, PeerLinkId};
use super::message::{Body, GossipMessage, Header, NodeAddress};
use super::obstacles::Obstacles;
use super::peer::{LinkInfo, Peer};
use lockwheel_store::keyspace::Rng;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The maximum number of nodes in a view. Reports of other nodes do not make it grow beyond that.
pub(crate) const MAX_NODES: usize = 1000;

/// The credentials with which a node logs in to another one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NodeLogin {
    /// The user; `None` for the default user.
    pub(crate) user: Option<Vec<u8>>,
    /// The password; `None` if none is needed.
    pub(crate) password: Option<Vec<u8>>,
}

/// The facts of this node's server at an instant.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    /// The time on the monotonic clock, in milliseconds.
    pub(crate) now: i64,
    /// The time on the wall clock, in milliseconds, for display.
    pub(crate) wall_ms: i64,
    pub(crate) offset: u64,
    /// Whether the data of a replica are complete.
    pub(crate) is_synced: bool,
    /// Whether a replica receives data from its master.
    pub(crate) hears_master: bool,
    /// The address that the node announces. If it is empty, the node uses the address at which others reach it.
    pub(crate) announced_ip: String,
    pub(crate) login: NodeLogin,
    /// The silence after which a node may have failed, in milliseconds.
    pub(crate) node_timeout: i64,
    /// The maximum age of a replica's data for a takeover, in node timeouts; 0 for any age.
    pub(crate) validity_factor: i64,
    /// The period in which a master pings its replicas, in milliseconds.
    pub(crate) ping_period: i64,
    /// Whether a master becomes a replica when its last slot has gone.
    pub(crate) follows_slots: bool,
    pub(crate) never_takes_over: bool,
}

/// The candidacy of a replica that asks for votes.
#[derive(Debug, Default)]
pub(super) struct Candidacy {
    /// The instant of the request for votes. `None` if it is not scheduled.
    pub(super) at: Option<i64>,
    pub(super) epoch: u64,
    pub(super) has_asked: bool,
    /// The number of replicas with a higher replication offset.
    pub(super) rank: u64,
    /// The masters that have voted for this node.
    pub(super) votes: BTreeSet<NodeNumber>,
}

/// A failover by request of an administrator.
#[derive(Debug)]
pub(super) struct Manual {
    /// The instant at which the failover is given up.
    pub(super) until: i64,
    /// At the master: the replica that takes over.
    pub(super) replica: Option<NodeNumber>,
    /// At the replica: the replication offset of the master when it paused its clients.
    pub(super) master_offset: Option<u64>,
    /// At the replica: whether it has all data of the master, or need not wait for them.
    pub(super) can_start: bool,
}

/// One node's part in the messages of the cluster.
#[derive(Debug)]
pub(crate) struct Gossip {
    pub(super) peers: BTreeMap<NodeNumber, Peer>,
    pub(super) links: BTreeMap<PeerLinkId, NodeNumber>,
    pub(super) last_link: PeerLinkId,
    /// The sessions over which other nodes send messages, each with its node and the instant of the first message.
    pub(super) sessions: BTreeMap<u64, (NodeNumber, i64)>,
    pub(super) facts: Facts,
    /// The sum of the clock's leaps, in milliseconds.
    pub(super) leapt: i64,
    pub(super) ticks: u64,
    pub(super) candidacy: Candidacy,
    pub(super) obstacles: Obstacles,
    pub(super) manual: Option<Manual>,
    /// The instant at which this node, as a replica, last received data from its master.
    pub(super) heard_master: i64,
    pub(super) rng: Rng,
    pub(super) effects: VecDeque<GossipEffect>,
    pub(crate) counts: MessageCounts,
}

impl Gossip {
    /// Returns the state of a node that has sent nothing yet. `seed` decides its random choices.
    pub(crate) fn new(seed: u64) -> Self {
        Gossip {
            peers: BTreeMap::new(),
            links: BTreeMap::new(),
            last_link: 0,
            sessions: BTreeMap::new(),
            facts: Facts::default(),
            leapt: 0,
            ticks: 0,
            candidacy: Candidacy::default(),
            obstacles: Obstacles::default(),
            manual: None,
            heard_master: 0,
            rng: Rng::new(seed),
            effects: VecDeque::new(),
            counts: MessageCounts::default(),
        }
    }

    pub(crate) fn set_facts(&mut self, facts: Facts) {
        self.facts = facts;
        if self.facts.hears_master {
            self.heard_master = self.now();
        }
    }

    /// Keeps at most `most` of the elements, chosen at random.
    pub(super) fn choose<T>(&mut self, all: &mut Vec<T>, most: usize) {
        for at in 0..most.min(all.len()) {
            let other = at + self.rng.below((all.len() - at) as u64) as usize;
            all.swap(at, other);
        }
        all.truncate(most);
    }

    pub(crate) fn next_effect(&mut self) -> Option<GossipEffect> {
        self.effects.pop_front()
    }

    pub(super) fn effect(&mut self, effect: GossipEffect) {
        self.effects.push_back(effect);
    }

    pub(super) fn log(&mut self, text: String) {
        self.effect(GossipEffect::Log(text));
    }

    pub(super) fn notice(&mut self, text: String) {
        self.effect(GossipEffect::Notice(text));
    }

    /// Asks for [`GossipEffect::Changed`], once for several consecutive changes.
    pub(super) fn changed(&mut self) {
        if self.effects.back() != Some(&GossipEffect::Changed) {
            self.effect(GossipEffect::Changed);
        }
    }

    /// Returns the time of the monotonic clock without the leaps, in milliseconds.
    pub(super) fn now(&self) -> i64 {
        self.facts.now - self.leapt
    }

    /// Ignores a leap of the clock by this many milliseconds: no node counts as silent for that time.
    pub(crate) fn leap(&mut self, ms: i64) {
        self.leapt = self.leapt.saturating_add(ms);
    }

    /// Returns the description of this node for a receiver that it reaches at this address.
    pub(super) fn header(&self, view: &ClusterView, reached_at: &str) -> Header {
        let me = view.me();
        let master = me.master.filter(|_| me.is_replica());
        let described = master.and_then(|master| view.node(master)).unwrap_or(me);
        Header {
            sender: me.id,
            current_epoch: view.current_epoch,
            config_epoch: described.config_epoch,
            offset: self.facts.offset,
            is_synced: self.facts.is_synced,
            flags: me.flags,
            is_paused: self.manual.as_ref().is_some_and(|manual| manual.replica.is_some()),
            is_forced: self.is_manual(),
            address: NodeAddress {
                ip: self.facts.announced_ip.clone(),
                port: me.port,
                tls_port: me.tls_port,
                bus_port: me.bus_port,
            },
            hostname: me.hostname.clone(),
            master: master.map(|_| described.id),
            slots: view.claim(master.unwrap_or(view.my_number())),
            reached_at: reached_at.to_owned(),
        }
    }

    /// Whether this replica takes over because it was asked to, and may begin.
    pub(super) fn is_manual(&self) -> bool {
        self.manual.as_ref().is_some_and(|manual| manual.can_start)
    }

    /// Returns a message of this node.
    pub(super) fn message(&self, view: &ClusterView, reached_at: &str, body: Body) -> GossipMessage {
        GossipMessage { header: self.header(view, reached_at), body }
    }

    /// Returns the number of masters that have recently reported a node as failing.
    pub(crate) fn failure_reports(&self, number: NodeNumber) -> usize {
        let oldest = self.now() - self.facts.node_timeout.saturating_mul(2);
        let reports = self.peers.get(&number).map(|peer| peer.reports.values());
        reports.map_or(0, |reports| reports.filter(|at| **at >= oldest).count())
    }

    /// Returns the connections to other nodes and from them.
    pub(crate) fn link_infos(&self) -> Vec<LinkInfo> {
        let now = self.now();
        let to = self.peers.iter().filter_map(|(node, peer)| Some((node, peer.link.as_ref()?)));
        let to = to.map(|(node, link)| LinkInfo {
            is_to: true,
            node: *node,
            age_ms: now - link.since,
            unanswered: link.unanswered,
        });
        let from = self.sessions.values();
        let from = from.map(|(node, since)| LinkInfo {
            is_to: false,
            node: *node,
            age_ms: now - since,
            unanswered: 0,
        });
        let mut all: Vec<LinkInfo> = to.chain(from).collect();
        all.sort_by_key(|info| (info.node, !info.is_to));
        all
    }

    /// Returns a placeholder name for a node whose own name is not known yet.
    pub(super) fn random_id(&mut self) -> NodeId {
        NodeId::random(&mut self.rng)
    }

    /// Forgets the session of a client that has left and may have been another node.
    pub(crate) fn forget_session(&mut self, session: u64) {
        self.sessions.remove(&session);
    }
}

/// Whether a node may be reported to others.
pub(super) fn is_known(node: &Node) -> bool {
    !node.flags.intersects(NodeFlags::HANDSHAKE | NodeFlags::NO_ADDRESS)
}

/// Returns the majority of the masters that have slots.
pub(super) fn quorum(view: &ClusterView) -> usize {
    view.nodes().filter(|(_, node)| node.is_master() && node.slots > 0).count() / 2 + 1
}
