//! The state of a server that is a node of a cluster: its view, messages, connections, and clients' modes.

use super::gossip::{Facts, Gossip, GossipEffect, TICK_MS};
use super::node::{Node, NodeId, NodeNumber};
use super::node_flags::NodeFlags;
use super::nodes_conf::write;
use super::plan::PlannedAddress;
use super::route::Asker;
use super::slot::SLOTS;
use super::slot_keys::SlotKeys;
use super::view::{ClusterView, ServingRules};
use crate::clients::Session;
use crate::clock::{MonotonicTimers, TimerKey, TimerKind};
use crate::config::{Config, EndpointType};
use crate::outbound::{Endpoint, Outbound, OutboundId, Purpose};
use crate::replication::ReplicaLink;
use crate::spec::Args;
use lockwheel_store::keyspace::Rng;
use std::collections::{BTreeMap, BTreeSet};
use std::io;

/// An effect of the cluster node for the rest of the engine to carry out.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ClusterEffect {
    ViewChanged,
    /// A client of another node has published a message.
    Publish {
        channel: Vec<u8>,
        message: Vec<u8>,
        /// Whether the channel is a shard channel.
        is_shard: bool,
    },
    /// Clients may not write for this many milliseconds, because a replica takes over.
    PauseWrites {
        /// The duration.
        ms: i64,
    },
    /// Clients may write again.
    Unpause,
    /// The slots belong to another node now; their keys are deleted.
    LoseSlots(Vec<u16>),
}

/// A cluster node's state. After a change by [`Cluster::tell`], call [`Cluster::next_effect`] until it returns `None`.
#[derive(Debug)]
pub(crate) struct Cluster {
    view: ClusterView,
    /// The initial view, to which a reset returns.
    start: ClusterView,
    gossip: Gossip,
    /// The connections to other nodes, by the ids that [`Gossip`] has for them.
    links: BTreeMap<u64, OutboundId>,
    /// The timer of the next periodic work.
    tick: Option<TimerKey>,
    /// The clients that have sent ASKING for their next request.
    asking: BTreeSet<u64>,
    /// The clients in READONLY mode.
    read_only: BTreeSet<u64>,
}

impl Cluster {
    /// Returns a node with this initial view. `seed` decides its random choices.
    pub(crate) fn new(view: ClusterView, seed: u64) -> Self {
        Cluster {
            start: view.clone(),
            view,
            gossip: Gossip::new(seed),
            links: BTreeMap::new(),
            tick: None,
            asking: BTreeSet::new(),
            read_only: BTreeSet::new(),
        }
    }

    /// Returns a node with the view of its file; without one, a new node of a random name that knows no other.
    pub(crate) fn begin(loaded: Option<ClusterView>, rng: &mut Rng) -> Self {
        let view = match loaded {
            Some(view) => {
                tracing::info!("Node configuration loaded, I'm {}", view.me().id);
                view
            }
            None => {
                let me = NodeId::random(rng);
                tracing::info!("No cluster configuration found, I'm {me}");
                ClusterView::alone(Node { flags: NodeFlags::MASTER, ..Node::new(me) })
            }
        };
        Cluster::new(view, rng.next_u64())
    }

    pub(crate) fn view(&self) -> &ClusterView {
        &self.view
    }

    /// Returns the view for a change. The engine carries out what follows from the change.
    pub(crate) fn view_mut(&mut self) -> &mut ClusterView {
        &mut self.view
    }

    pub(crate) fn gossip(&self) -> &Gossip {
        &self.gossip
    }

    /// Changes the state of the messages, with the facts that hold at present.
    pub(crate) fn tell<T>(
        &mut self,
        facts: Facts,
        change: impl FnOnce(&mut Gossip, &mut ClusterView) -> T,
    ) -> T {
        self.gossip.set_facts(facts);
        change(&mut self.gossip, &mut self.view)
    }

    /// Carries out the effects on connections and the log. Returns the first that concerns the rest of the engine.
    pub(crate) fn next_effect(&mut self, outbound: &mut Outbound) -> Option<ClusterEffect> {
        loop {
            match self.gossip.next_effect()? {
                GossipEffect::Connect { link, ip, port } => {
                    let endpoint = Endpoint { host: ip.into(), port };
                    self.links.insert(link, outbound.connect(endpoint, Purpose::Cluster(link)));
                }
                GossipEffect::Send { link, bytes } => {
                    self.links.get(&link).into_iter().for_each(|id| outbound.send(*id, &bytes));
                }
                GossipEffect::Close { link } => {
                    self.links.remove(&link).into_iter().for_each(|id| outbound.close(id));
                }
                GossipEffect::Log(text) => tracing::warn!("{text}"),
                GossipEffect::Notice(text) => tracing::info!("{text}"),
                GossipEffect::Changed => return Some(ClusterEffect::ViewChanged),
                GossipEffect::Publish { channel, message, is_shard } => {
                    return Some(ClusterEffect::Publish { channel, message, is_shard });
                }
                GossipEffect::PauseWrites { ms } => return Some(ClusterEffect::PauseWrites { ms }),
                GossipEffect::Unpause => return Some(ClusterEffect::Unpause),
                GossipEffect::LoseSlots(slots) => return Some(ClusterEffect::LoseSlots(slots)),
            }
        }
    }

    /// Forgets a connection that has ended.
    pub(crate) fn forget_link(&mut self, link: u64) {
        self.links.remove(&link);
    }

    /// Forgets all connections, because the server was killed.
    pub(crate) fn forget_links(&mut self) {
        self.links.clear();
    }

    /// Schedules the periodic work, unless it is scheduled already or this server has no other nodes.
    pub(crate) fn plan_tick(&mut self, timers: MonotonicTimers<'_>) {
        self.plan_tick_in(TICK_MS, timers);
    }

    fn plan_tick_in(&mut self, ms: u64, mut timers: MonotonicTimers<'_>) {
        if self.tick.is_none() && self.view.nodes().len() > 1 {
            self.tick = Some(timers.set(TimerKind::Cluster, 0, ms));
        }
    }

    /// Records that the timer of the periodic work has fired.
    pub(crate) fn tick_fired(&mut self) {
        self.tick = None;
    }

    /// Postpones the periodic work by a leap of the clock of this many milliseconds, which no node notices.
    pub(crate) fn leap(&mut self, ms: u64, mut timers: MonotonicTimers<'_>) {
        if self.tick.is_some() {
            timers.cancel(self.tick.take());
            self.gossip.leap(i64::try_from(ms).unwrap_or(i64::MAX));
            self.plan_tick_in(ms.saturating_add(TICK_MS), timers);
        }
    }

    /// Finds out whether the cluster serves requests after a change. Returns slots whose shard channels end. O(slots).
    pub(crate) fn refresh(&mut self) -> Vec<u16> {
        self.gossip.tell_time(&mut self.view);
        self.view.refresh();
        self.view.take_abandoned()
    }

    /// Writes the view to the file of this path, if not empty, or returns the system's error. A report on a node
    /// changes the view: to wait for a busy disk would make this node late, and be reported itself.
    pub(crate) fn save(&self, path: &str, note: impl FnOnce(&[u8]) -> io::Result<()>) -> io::Result<()> {
        if path.is_empty() { Ok(()) } else { note(&write(&self.view)) }
    }

    /// Applies the parameters of this node to the view.
    pub(crate) fn announce(&mut self, config: &Config) {
        let PlannedAddress { ip, ports, hostname } = PlannedAddress::announced_by(config);
        self.view.announce(&ip, ports, &hostname);
        self.view.me_mut().flags.set(NodeFlags::NO_FAILOVER, config.cluster.replica_no_failover);
        self.view.rules = ServingRules::of(&config.cluster);
    }

    /// Makes the present view the one to which a later reset returns.
    pub(crate) fn begins_here(&mut self) {
        self.start = self.view.clone();
    }

    /// Returns to the initial view without any reports, with this `seed`. Returns the earlier state.
    pub(crate) fn begin_anew(&mut self, seed: u64, mut timers: MonotonicTimers<'_>) -> Cluster {
        timers.cancel(self.tick.take());
        std::mem::replace(self, Cluster::new(self.start.clone(), seed))
    }

    /// Keeps the modes of clients from an earlier state.
    pub(crate) fn keep_words_of_clients(&mut self, before: Cluster) {
        (self.asking, self.read_only) = (before.asking, before.read_only);
    }

    /// Gives a master the slots of its keys that have no owner, and imports those that have. O(slots).
    pub(crate) fn take_slots_of_keys(&mut self, keys: &SlotKeys) {
        let view = &mut self.view;
        if !view.me().is_master() {
            return;
        }
        let me = view.my_number();
        for slot in (0..SLOTS).filter(|slot| !keys.of(*slot).is_empty()) {
            match view.owner(slot) {
                None => {
                    tracing::info!("I have keys for unassigned slot {slot}. Taking responsibility for it.");
                    view.assign(slot, Some(me));
                }
                Some(owner) if owner != me && view.importing_from(slot).is_none() => {
                    tracing::info!(
                        "I have keys for slot {slot}, but the slot is assigned to another node. Setting it to \
                         importing state."
                    );
                    view.set_importing(slot, Some(owner));
                }
                Some(_) => {}
            }
        }
    }

    /// Returns the slots that a master has keys of but does not own. O(slots).
    pub(crate) fn foreign_slots(&self, keys: &SlotKeys) -> Vec<u16> {
        if !self.view.me().is_master() {
            return Vec::new();
        }
        let me = Some(self.view.my_number());
        (0..SLOTS).filter(|slot| self.view.owner(*slot) != me && !keys.of(*slot).is_empty()).collect()
    }

    /// Returns the known address of the master that the view names, unless this node already follows it.
    pub(crate) fn master_to_follow(&self, following: Option<&ReplicaLink>) -> Option<(String, u16)> {
        let view = &self.view;
        let master = view.me().master.filter(|_| view.me().is_replica())?;
        let master = view.node(master).filter(|master| !master.ip.is_empty() && master.port != 0)?;
        let is_followed = following.is_some_and(|following| following.is_to(&master.ip, master.port));
        (!is_followed).then(|| (master.ip.clone(), master.port))
    }

    pub(crate) fn asker(&self, session: u64) -> Asker {
        let (asking, read_only) = (self.asking.contains(&session), self.read_only.contains(&session));
        Asker { asking, read_only }
    }

    /// Records that a client has sent ASKING, or that its next request is over.
    pub(crate) fn set_asking(&mut self, session: u64, asking: bool) {
        set(&mut self.asking, session, asking);
    }

    pub(crate) fn set_read_only(&mut self, session: u64, read_only: bool) {
        set(&mut self.read_only, session, read_only);
    }

    /// Ends the effect of ASKING after a request other than ASKING, unless a transaction is open.
    #[cold]
    pub(crate) fn end_asking(&mut self, session: &Session, args: Args<'_>) {
        if !args.is(0, "asking") && session.multi.is_none() {
            self.set_asking(session.id, false);
        }
    }

    pub(crate) fn forget_client(&mut self, session: u64) {
        self.set_asking(session, false);
        self.set_read_only(session, false);
        self.gossip.forget_session(session);
    }

    /// Returns the address of a node for use by clients.
    pub(super) fn endpoint(&self, config: &Config, number: NodeNumber) -> String {
        let Some(node) = self.view.node(number) else { return String::new() };
        let name = match config.cluster.preferred_endpoint_type {
            EndpointType::Ip => &node.ip,
            EndpointType::Hostname if node.hostname.is_empty() => "?",
            EndpointType::Hostname => &node.hostname,
            EndpointType::UnknownEndpoint => "",
        };
        format!("{name}:{}", node.client_port(config.is_tls_only()))
    }
}

fn set(of: &mut BTreeSet<u64>, session: u64, is_in: bool) {
    if is_in {
        of.insert(session);
    } else {
        of.remove(&session);
    }
}

#[cfg(test)]
mod tests {
    use super::super::gossip::NodeLogin;
    use super::super::slot::slot_of;
    use super::*;
    use crate::clock::Timers;
    use crate::outbound::Outgoing;
    use lockwheel_store::keyspace::Keyspace;

    fn node(letter: char, port: u16) -> Node {
        let id = NodeId::parse(letter.to_string().repeat(NodeId::LEN).as_bytes()).unwrap();
        Node { ip: "h".to_owned(), port, flags: NodeFlags::MASTER, ..Node::new(id) }
    }

    /// Returns a master that knows another one.
    fn of_two() -> (Cluster, NodeNumber) {
        let mut view = ClusterView::alone(node('a', 1));
        let other = view.add_node(node('b', 2));
        (Cluster::new(view, 7), other)
    }

    fn effects(cluster: &mut Cluster, outbound: &mut Outbound) -> Vec<ClusterEffect> {
        std::iter::from_fn(|| cluster.next_effect(outbound)).collect()
    }

    #[test]
    fn connections_are_made_used_and_closed_without_the_engine() {
        let (mut cluster, _) = of_two();
        let mut outbound = Outbound::default();
        let login = NodeLogin { user: None, password: Some(b"secret".to_vec()) };
        cluster.tell(Facts { node_timeout: 100, login, ..Facts::default() }, Gossip::sync);
        assert_eq!(effects(&mut cluster, &mut outbound), []);
        let id = outbound.next_pending().expect("a connection is wanted");
        assert!(matches!(outbound.take(id), Some(Outgoing::Connect(to)) if (&*to.host, to.port) == ("h", 2)));
        outbound.opened(id);
        assert!(
            matches!(outbound.take(id), Some(Outgoing::Send(bytes)) if bytes.starts_with(b"*2\r\n$4\r\nAUTH"))
        );
        cluster.tell(Facts { node_timeout: 100, ..Facts::default() }, Gossip::end);
        effects(&mut cluster, &mut outbound);
        assert!(outbound.purpose(id).is_none() && cluster.links.is_empty());
    }

    #[test]
    fn one_tick_is_scheduled_while_there_are_other_nodes() {
        let (mut timers, mut keyspace) = (Timers::default(), Keyspace::new(1, 7));
        let mut alone = Cluster::new(ClusterView::alone(node('a', 1)), 7);
        alone.plan_tick(MonotonicTimers::new(0, &mut timers, &mut keyspace));
        assert_eq!(timers.count(TimerKind::Cluster), 0);
        let (mut cluster, _) = of_two();
        cluster.plan_tick(MonotonicTimers::new(5, &mut timers, &mut keyspace));
        cluster.plan_tick(MonotonicTimers::new(7, &mut timers, &mut keyspace));
        let tick_ms = TICK_MS as i64;
        assert_eq!(timers.first().map(|(at_ms, _)| at_ms), Some(5 + tick_ms));
        cluster.leap(1000, MonotonicTimers::new(5, &mut timers, &mut keyspace));
        assert_eq!(timers.count(TimerKind::Cluster), 1);
        assert_eq!(timers.first().map(|(at_ms, _)| at_ms), Some(1005 + tick_ms));
        cluster.begin_anew(7, MonotonicTimers::new(5, &mut timers, &mut keyspace));
        assert_eq!((timers.count(TimerKind::Cluster), cluster.tick), (0, None));
    }

    #[test]
    fn a_reset_returns_to_the_first_view_and_may_keep_the_words_of_clients() {
        let (mut cluster, other) = of_two();
        cluster.set_asking(3, true);
        cluster.set_read_only(4, true);
        cluster.view_mut().assign(1, Some(other));
        let (mut timers, mut keyspace) = (Timers::default(), Keyspace::new(1, 7));
        let before = cluster.begin_anew(7, MonotonicTimers::new(5, &mut timers, &mut keyspace));
        assert_eq!((cluster.view().owner(1), cluster.asker(3)), (None, Asker::default()));
        cluster.keep_words_of_clients(before);
        assert!(cluster.asker(3).asking && cluster.asker(4).read_only);
        cluster.forget_client(4);
        assert_eq!(cluster.asker(4), Asker::default());
    }

    #[test]
    fn a_master_takes_free_slots_with_its_keys_and_imports_taken_ones() {
        let (mut cluster, other) = of_two();
        let mut keys = SlotKeys::new();
        ["foo", "bar"].iter().for_each(|key| keys.add(key.as_bytes()));
        let (free, taken) = (slot_of(b"foo"), slot_of(b"bar"));
        cluster.view_mut().assign(taken, Some(other));
        assert_eq!(cluster.foreign_slots(&keys), [taken, free]);
        cluster.take_slots_of_keys(&keys);
        let view = cluster.view();
        assert_eq!((view.owner(free), view.owner(taken)), (Some(view.my_number()), Some(other)));
        assert_eq!(view.importing_from(taken), Some(other));
        assert_eq!(cluster.foreign_slots(&keys), [taken]);
    }

    #[test]
    fn the_master_of_the_view_is_followed_once_its_address_is_known() {
        let (mut cluster, other) = of_two();
        assert_eq!(cluster.master_to_follow(None), None);
        cluster.view_mut().replicate(other);
        assert_eq!(cluster.master_to_follow(None), Some(("h".to_owned(), 2)));
        cluster.view_mut().node_mut(other).unwrap().ip.clear();
        assert_eq!(cluster.master_to_follow(None), None);
    }
}
