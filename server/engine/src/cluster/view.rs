//! One node's view of its cluster.

use super::node::{Node, NodeId, NodeNumber};
use super::node_flags::NodeFlags;
use super::slot::SLOTS;
use super::slot_set::SlotSet;
use crate::config::ClusterParameters;
use std::collections::BTreeMap;

/// The time for which a forgotten node is not added again, in milliseconds.
const FORGOTTEN_MS: i64 = 60_000;

/// The default distance of the bus port from the port for clients.
pub(crate) const BUS_PORT_DISTANCE: u16 = 10_000;

/// Whether the cluster serves requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClusterState {
    Ok,
    Fail,
}

/// The parts of a cluster that may be missing while it serves requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ServingRules {
    /// Every slot must have a node (`cluster-require-full-coverage`).
    pub(crate) full_coverage: bool,
    /// Reads are served even if the cluster is down (`cluster-allow-reads-when-down`).
    pub(crate) reads_when_down: bool,
    /// Shard channels are served even if the cluster is down (`cluster-allow-pubsubshard-when-down`).
    pub(crate) channels_when_down: bool,
}

impl ServingRules {
    /// Returns the rules of the parameters.
    pub(crate) fn of(parameters: &ClusterParameters) -> Self {
        ServingRules {
            full_coverage: parameters.require_full_coverage,
            reads_when_down: parameters.allow_reads_when_down,
            channels_when_down: parameters.allow_pubsubshard_when_down,
        }
    }
}

/// The number of slots with an owner, in total and by the state of the owner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Health {
    pub(crate) assigned: usize,
    pub(crate) ok: usize,
    pub(crate) may_have_failed: usize,
    pub(crate) failed: usize,
    /// The number of masters with slots.
    pub(crate) size: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ClusterView {
    nodes: BTreeMap<NodeNumber, Node>,
    last: NodeNumber,
    me: NodeNumber,
    owners: Vec<Option<NodeNumber>>,
    /// The slots of each owner. A node without slots is absent.
    claims: BTreeMap<NodeNumber, SlotSet>,
    migrating: BTreeMap<u16, NodeNumber>,
    importing: BTreeMap<u16, NodeNumber>,
    /// The latest epoch that this node knows of.
    pub(crate) current_epoch: u64,
    /// The latest epoch in which this node has voted.
    pub(crate) last_vote_epoch: u64,
    /// The rules for serving requests.
    pub(crate) rules: ServingRules,
    state: ClusterState,
    /// The last instant at which this node could not reach most masters, after it had served requests.
    in_minority_ms: Option<i64>,
    /// The present instant, and the time for which a master does not serve requests after a minority, in milliseconds.
    /// Within that time it learns which of its slots have gone.
    pub(crate) now_ms: i64,
    pub(crate) rejoin_ms: i64,
    /// Nodes that are not added again, each with the end of that time in wall milliseconds.
    forgotten: BTreeMap<NodeId, i64>,
    /// Slots that have changed hands, whose shard channels end.
    abandoned: Vec<u16>,
}

impl ClusterView {
    /// Returns the view of a node that knows no other one.
    pub(crate) fn alone(mut me: Node) -> Self {
        me.flags |= NodeFlags::MYSELF;
        ClusterView {
            nodes: BTreeMap::from([(NodeNumber::FIRST, me)]),
            last: NodeNumber::FIRST,
            me: NodeNumber::FIRST,
            owners: vec![None; usize::from(SLOTS)],
            claims: BTreeMap::new(),
            migrating: BTreeMap::new(),
            importing: BTreeMap::new(),
            current_epoch: 0,
            last_vote_epoch: 0,
            rules: ServingRules { full_coverage: true, ..ServingRules::default() },
            state: ClusterState::Fail,
            in_minority_ms: None,
            now_ms: 0,
            rejoin_ms: 0,
            forgotten: BTreeMap::new(),
            abandoned: Vec::new(),
        }
    }

    pub(crate) fn me(&self) -> &Node {
        &self.nodes[&self.me]
    }

    pub(crate) fn my_number(&self) -> NodeNumber {
        self.me
    }

    pub(crate) fn me_mut(&mut self) -> &mut Node {
        self.nodes.get_mut(&self.me).expect("a view has its own node")
    }

    /// Returns the node with a number, if it is still known.
    pub(crate) fn node(&self, number: NodeNumber) -> Option<&Node> {
        self.nodes.get(&number)
    }

    /// Returns the node with a number for a change. Call [`ClusterView::refresh`] afterwards.
    pub(crate) fn node_mut(&mut self, number: NodeNumber) -> Option<&mut Node> {
        self.nodes.get_mut(&number)
    }

    /// Returns the number of the node with this name. O(nodes).
    pub(crate) fn find(&self, id: &[u8]) -> Option<NodeNumber> {
        self.nodes.iter().find(|(_, node)| node.id.as_bytes() == id).map(|(number, _)| *number)
    }

    /// Iterates over all nodes, in the order in which they became known.
    pub(crate) fn nodes(&self) -> impl ExactSizeIterator<Item = (NodeNumber, &Node)> {
        self.nodes.iter().map(|(number, node)| (*number, node))
    }

    /// Iterates over the replicas of a node.
    pub(crate) fn replicas_of(&self, master: NodeNumber) -> impl Iterator<Item = (NodeNumber, &Node)> {
        self.nodes().filter(move |(_, node)| node.is_replica() && node.master == Some(master))
    }

    pub(crate) fn owner(&self, slot: u16) -> Option<NodeNumber> {
        self.owners[usize::from(slot)]
    }

    /// Returns the owners of all slots, in order.
    pub(crate) fn owners(&self) -> &[Option<NodeNumber>] {
        &self.owners
    }

    pub(crate) fn migrating_to(&self, slot: u16) -> Option<NodeNumber> {
        self.migrating.get(&slot).copied()
    }

    pub(crate) fn importing_from(&self, slot: u16) -> Option<NodeNumber> {
        self.importing.get(&slot).copied()
    }

    /// Returns the slots that this node migrates and those that it imports, each with the other node.
    pub(crate) fn open_slots(&self) -> (&BTreeMap<u16, NodeNumber>, &BTreeMap<u16, NodeNumber>) {
        (&self.migrating, &self.importing)
    }

    /// Whether the cluster serves requests, as of the last [`ClusterView::refresh`].
    pub(crate) fn state(&self) -> ClusterState {
        self.state
    }

    /// Takes the slots whose shard channels have ended since the last call.
    pub(crate) fn take_abandoned(&mut self) -> Vec<u16> {
        std::mem::take(&mut self.abandoned)
    }

    /// Counts slots by the state of their nodes. O(nodes).
    pub(crate) fn health(&self) -> Health {
        let masters = self.nodes.values().filter(|node| node.is_master() && node.slots > 0);
        let mut health = Health { size: masters.count(), ..Health::default() };
        for node in self.nodes.values() {
            health.assigned += node.slots;
            *if node.has_failed() {
                &mut health.failed
            } else if node.flags.contains(NodeFlags::MAY_HAVE_FAILED) {
                &mut health.may_have_failed
            } else {
                &mut health.ok
            } += node.slots;
        }
        health
    }

    /// Finds out whether the cluster serves requests. Every slot must have an owner if the rules require it, and most
    /// masters must be reachable. To be called after changes. O(nodes).
    pub(crate) fn refresh(&mut self) {
        let health = self.health();
        let covered = health.ok + health.may_have_failed == usize::from(SLOTS);
        let unreachable = NodeFlags::FAILED | NodeFlags::MAY_HAVE_FAILED;
        let reachable =
            |node: &&Node| node.is_master() && node.slots > 0 && !node.flags.intersects(unreachable);
        let has_majority = self.nodes.values().filter(reachable).count() > health.size / 2;
        if !has_majority && (self.state == ClusterState::Ok || self.in_minority_ms.is_some()) {
            self.in_minority_ms = Some(self.now_ms);
        }
        let rejoins = self.me().is_master()
            && self.in_minority_ms.is_some_and(|at_ms| self.now_ms - at_ms < self.rejoin_ms);
        if has_majority && !rejoins {
            self.in_minority_ms = None;
        }
        let serves = has_majority && !rejoins && (covered || !self.rules.full_coverage);
        let state = if serves { ClusterState::Ok } else { ClusterState::Fail };
        if std::mem::replace(&mut self.state, state) != state {
            match state {
                ClusterState::Ok => tracing::info!("Cluster state changed: ok"),
                ClusterState::Fail => tracing::warn!("Cluster state changed: fail"),
            }
        }
    }

    /// Whether this node is, or recently was, in a minority: it serves requests only some time later.
    pub(crate) fn is_in_minority(&self) -> bool {
        self.in_minority_ms.is_some()
    }

    /// Adds a node, whose name is new.
    pub(crate) fn add_node(&mut self, node: Node) -> NodeNumber {
        self.last = self.last.next();
        self.nodes.insert(self.last, node);
        self.last
    }

    /// Makes another node of the view this node, while a file is read.
    pub(super) fn become_node(&mut self, me: NodeNumber) {
        self.me = me;
    }

    /// Gives a slot to a node, or to none. If this node served the slot before, its shard channels end.
    pub(crate) fn assign(&mut self, slot: u16, to: Option<NodeNumber>) {
        let before = std::mem::replace(&mut self.owners[usize::from(slot)], to);
        if let Some(before) = before {
            if before == self.me || self.me().master == Some(before) {
                self.abandoned.push(slot);
            }
            if let Some(node) = self.nodes.get_mut(&before) {
                node.slots -= 1;
                if node.slots == 0 {
                    self.claims.remove(&before);
                } else if let Some(claim) = self.claims.get_mut(&before) {
                    claim.set(slot, false);
                }
            }
        }
        if let Some((to, node)) = to.and_then(|to| Some((to, self.nodes.get_mut(&to)?))) {
            node.slots += 1;
            self.claims.entry(to).or_default().set(slot, true);
        }
    }

    pub(crate) fn claim(&self, number: NodeNumber) -> SlotSet {
        self.claims.get(&number).cloned().unwrap_or_default()
    }

    /// Whether `slots` are exactly the slots of a node.
    pub(crate) fn claims(&self, number: NodeNumber, slots: &SlotSet) -> bool {
        self.claims.get(&number).map_or(*slots == SlotSet::default(), |claim| claim == slots)
    }

    /// Returns the master of a node's shard, which may be the node itself.
    pub(crate) fn shard_of(&self, number: NodeNumber) -> Option<NodeNumber> {
        let node = self.nodes.get(&number)?;
        if node.is_replica() { node.master } else { Some(number) }
    }

    /// Starts the migration of a slot to another node. `None` ends it.
    pub(crate) fn set_migrating(&mut self, slot: u16, to: Option<NodeNumber>) {
        match to {
            Some(to) => self.migrating.insert(slot, to),
            None => self.migrating.remove(&slot),
        };
    }

    /// Starts the import of a slot from another node. `None` ends it.
    pub(crate) fn set_importing(&mut self, slot: u16, from: Option<NodeNumber>) {
        match from {
            Some(from) => self.importing.insert(slot, from),
            None => self.importing.remove(&slot),
        };
    }

    /// Ends all migrations and imports.
    fn close_all_slots(&mut self) {
        self.migrating.clear();
        self.importing.clear();
    }

    /// Takes all slots off a node. O(slots).
    pub(crate) fn take_slots_of(&mut self, node: NodeNumber) {
        for slot in 0..SLOTS {
            if self.owner(slot) == Some(node) {
                self.assign(slot, None);
            }
        }
    }

    /// Removes another node. Its slots have no owner and its replicas no master. O(slots).
    pub(crate) fn remove_node(&mut self, number: NodeNumber) {
        debug_assert_ne!(number, self.me, "a view has its own node");
        self.take_slots_of(number);
        self.migrating.retain(|_, to| *to != number);
        self.importing.retain(|_, from| *from != number);
        self.nodes.remove(&number);
        for node in self.nodes.values_mut().filter(|node| node.master == Some(number)) {
            node.master = None;
        }
    }

    /// Removes another node, which cannot be added again for a minute.
    pub(crate) fn forget(&mut self, number: NodeNumber, now_ms: i64) {
        self.forgotten.retain(|_, until_ms| *until_ms > now_ms);
        if let Some(node) = self.nodes.get(&number) {
            self.forgotten.insert(node.id, now_ms.saturating_add(FORGOTTEN_MS));
        }
        self.remove_node(number);
    }

    /// Whether the node of this name was forgotten within the last minute.
    pub(crate) fn is_forgotten(&self, id: &[u8], now_ms: i64) -> bool {
        self.forgotten.iter().any(|(known, until_ms)| known.as_bytes() == id && *until_ms > now_ms)
    }

    /// Returns the highest epoch of all nodes.
    pub(crate) fn max_epoch(&self) -> u64 {
        let of_nodes = self.nodes.values().map(|node| node.config_epoch).max();
        of_nodes.unwrap_or(0).max(self.current_epoch)
    }

    /// Gives this node an epoch above all others, unless it has the highest. Returns whether the epoch has changed.
    pub(crate) fn bump_epoch(&mut self) -> bool {
        let epoch = self.me().config_epoch;
        if epoch != 0 && epoch == self.max_epoch() {
            return false;
        }
        self.current_epoch = self.current_epoch.saturating_add(1);
        self.me_mut().config_epoch = self.current_epoch;
        true
    }

    pub(crate) fn replicate(&mut self, master: NodeNumber) {
        if self.me().is_master() {
            self.close_all_slots();
        }
        let me = self.me_mut();
        me.flags = me.flags.difference(NodeFlags::MASTER).union(NodeFlags::REPLICA);
        me.master = Some(master);
    }

    /// Makes a replica a master.
    pub(crate) fn promote(&mut self, number: NodeNumber) {
        if let Some(node) = self.nodes.get_mut(&number) {
            node.flags = node.flags.difference(NodeFlags::REPLICA).union(NodeFlags::MASTER);
            node.master = None;
        }
    }

    /// Makes this node, a replica, a master with the slots of its master. O(slots).
    pub(crate) fn take_over(&mut self) {
        let Some(old) = self.me().master.filter(|_| self.me().is_replica()) else { return };
        self.promote(self.me);
        for slot in 0..SLOTS {
            if self.owner(slot) == Some(old) {
                self.assign(slot, Some(self.me));
            }
        }
    }

    /// Forgets the other nodes and the slots of this node. With a new name, it also forgets the epochs. O(slots).
    pub(crate) fn reset(&mut self, name: Option<NodeId>) {
        self.promote(self.me);
        self.close_all_slots();
        for slot in 0..SLOTS {
            self.assign(slot, None);
        }
        let me = self.me;
        self.nodes.retain(|number, _| *number == me);
        if let Some(name) = name {
            (self.current_epoch, self.last_vote_epoch) = (0, 0);
            let me = self.me_mut();
            (me.id, me.config_epoch) = (name, 0);
        }
    }

    /// Sets the address that this node announces.
    pub(crate) fn announce(&mut self, ip: &str, ports: [u16; 3], hostname: &str) {
        let me = self.me_mut();
        if !ip.is_empty() {
            me.ip = ip.to_owned();
        }
        [me.port, me.tls_port, me.bus_port] = ports;
        me.hostname = hostname.to_owned();
    }
}

pub(crate) fn default_bus_port(port: u16) -> u16 {
    port.saturating_add(BUS_PORT_DISTANCE)
}
