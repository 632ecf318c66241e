//! One node's part of what nodes tell one another.

use super::super::node::{Node, NodeId, NodeNumber};
use super::super::node_flags::NodeFlags;
use super::super::view::ClusterView;
use super::counts::Counts;
use super::effect::{Effect, LinkId};
use super::message::{Address, Body, Header, Message};
use super::obstacles::Obstacles;
use super::peer::{LinkInfo, Peer};
use lockwheel_store::keyspace::Rng;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The most nodes that a node knows: what others tell makes it know no more.
pub(crate) const NODES_MAX: usize = 1000;

/// As whom a node comes to another one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Login {
    /// None: as the default user.
    pub(crate) user: Option<Vec<u8>>,
    /// None: it needs no password.
    pub(crate) password: Option<Vec<u8>>,
}

/// What is true of this node's server at an instant.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    /// The monotonic clock, in milliseconds.
    pub(crate) now: i64,
    /// The wall clock, in milliseconds: for what is shown.
    pub(crate) wall_ms: i64,
    /// How far its data are in the stream of replication.
    pub(crate) offset: u64,
    /// As a replica: its data are complete.
    pub(crate) is_synced: bool,
    /// As a replica: it hears its master.
    pub(crate) hears_master: bool,
    /// The address that it announces; empty: the one at which others reach it.
    pub(crate) announced_ip: String,
    pub(crate) login: Login,
    /// After how long a silence a node may have failed, in milliseconds.
    pub(crate) node_timeout: i64,
    /// How many of these a replica's data may be old if it is to take over; 0: any age will do.
    pub(crate) validity_factor: i64,
    /// How often a master says something to its replicas, in milliseconds.
    pub(crate) ping_period: i64,
    /// A master whose last slot has gone becomes a replica.
    pub(crate) follows_slots: bool,
    /// As a replica it does not take over by itself.
    pub(crate) never_takes_over: bool,
}

/// A replica that asks for votes.
#[derive(Debug, Default)]
pub(super) struct Candidacy {
    /// When it asks, or has asked; none: it has not thought of it yet.
    pub(super) at: Option<i64>,
    /// In which epoch.
    pub(super) epoch: u64,
    pub(super) has_asked: bool,
    /// How many replicas are nearer to the master.
    pub(super) rank: u64,
    /// The masters that have voted for it.
    pub(super) votes: BTreeSet<NodeNumber>,
}

/// A failover that somebody has asked for.
#[derive(Debug)]
pub(super) struct Manual {
    /// Until when it is tried.
    pub(super) until: i64,
    /// At the master: the replica that takes over.
    pub(super) replica: Option<NodeNumber>,
    /// At the replica: how far the master was when its clients were paused.
    pub(super) master_offset: Option<u64>,
    /// At the replica: it has all that the master had, or does not care.
    pub(super) can_start: bool,
}

/// One node's part of it.
#[derive(Debug)]
pub(crate) struct Gossip {
    pub(super) peers: BTreeMap<NodeNumber, Peer>,
    /// The connections to them.
    pub(super) links: BTreeMap<LinkId, NodeNumber>,
    pub(super) last_link: LinkId,
    /// The sessions over which other nodes speak, each with the node and since when.
    pub(super) sessions: BTreeMap<u64, (NodeNumber, i64)>,
    pub(super) facts: Facts,
    /// How much time turns of the clock have leapt over.
    pub(super) leapt: i64,
    pub(super) ticks: u64,
    pub(super) candidacy: Candidacy,
    /// The obstacles that this node, as a replica, has met on its way to an election.
    pub(super) obstacles: Obstacles,
    pub(super) manual: Option<Manual>,
    /// When this node, as a replica, last heard its master.
    pub(super) heard_master: i64,
    pub(super) rng: Rng,
    pub(super) effects: VecDeque<Effect>,
    pub(crate) counts: Counts,
}

impl Gossip {
    /// A node that has said nothing yet. `seed` decides its random choices.
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
            counts: Counts::default(),
        }
    }

    /// What is true from now on.
    pub(crate) fn set_facts(&mut self, facts: Facts) {
        self.facts = facts;
        if self.facts.hears_master {
            self.heard_master = self.now();
        }
    }

    /// Keeps so many of them, by chance.
    pub(super) fn choose<T>(&mut self, all: &mut Vec<T>, most: usize) {
        for at in 0..most.min(all.len()) {
            let other = at + self.rng.below((all.len() - at) as u64) as usize;
            all.swap(at, other);
        }
        all.truncate(most);
    }

    /// The next thing to be done.
    pub(crate) fn next_effect(&mut self) -> Option<Effect> {
        self.effects.pop_front()
    }

    pub(super) fn effect(&mut self, effect: Effect) {
        self.effects.push_back(effect);
    }

    pub(super) fn log(&mut self, text: String) {
        self.effect(Effect::Log(text));
    }

    pub(super) fn notice(&mut self, text: String) {
        self.effect(Effect::Notice(text));
    }

    /// The view has changed: once for several changes.
    pub(super) fn changed(&mut self) {
        if self.effects.back() != Some(&Effect::Changed) {
            self.effect(Effect::Changed);
        }
    }

    /// The clock, without what turns of it have leapt over.
    pub(super) fn now(&self) -> i64 {
        self.facts.now - self.leapt
    }

    /// The clock is turned by so many milliseconds in one leap: nobody was silent for so long.
    pub(crate) fn leap(&mut self, ms: i64) {
        self.leapt = self.leapt.saturating_add(ms);
    }

    /// How a node describes itself, to one that it reaches there.
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
            address: Address {
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

    /// A message of this node.
    pub(super) fn message(&self, view: &ClusterView, reached_at: &str, body: Body) -> Message {
        Message { header: self.header(view, reached_at), body }
    }

    /// The masters that report a node as failing, as far as that is not long ago.
    pub(crate) fn failure_reports(&self, number: NodeNumber) -> usize {
        let oldest = self.now() - self.facts.node_timeout.saturating_mul(2);
        let reports = self.peers.get(&number).map(|peer| peer.reports.values());
        reports.map_or(0, |reports| reports.filter(|at| **at >= oldest).count())
    }

    /// The connections to other nodes and from them.
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

    /// A name for a node whose own is not known yet.
    pub(super) fn random_id(&mut self) -> NodeId {
        NodeId::random(&mut self.rng)
    }

    /// A client is gone that may have been another node.
    pub(crate) fn forget_session(&mut self, session: u64) {
        self.sessions.remove(&session);
    }
}

/// Whether a node is one that others can be told of.
pub(super) fn is_known(node: &Node) -> bool {
    !node.flags.intersects(NodeFlags::HANDSHAKE | NodeFlags::NO_ADDRESS)
}

/// How many masters decide: most of those that have slots.
pub(super) fn quorum(view: &ClusterView) -> usize {
    view.nodes().filter(|(_, node)| node.is_master() && node.slots > 0).count() / 2 + 1
}
