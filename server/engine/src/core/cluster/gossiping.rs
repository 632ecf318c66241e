//! What nodes of a cluster tell one another, joined to the engine: what this node wants done is done, what comes over
//! its connections is given to it, and replication follows its view.

use super::super::cluster_state::Cluster;
use super::super::engine::Engine;
use super::super::outbound::OutboundEvent;
use crate::clock::{Timer, TimerKind};
use crate::cluster::{ClusterView, Effect, Facts, Gossip, Login, Message, Speaker, TICK_MS};
use crate::outbound::{Endpoint, OutboundId, Purpose};
use crate::pauses::PauseKind;
use crate::spec::CommandError;

/// A message of a node that is none.
const NO_MESSAGE: CommandError = CommandError::text("ERR Invalid message of a node");

impl Engine {
    /// Looks at the other nodes soon, unless there is none, or it is planned.
    fn plan_cluster_tick(&mut self) {
        self.plan_cluster_tick_after(TICK_MS);
    }

    fn plan_cluster_tick_after(&mut self, ms: i64) {
        let order = self.keyspace.next_order();
        let at_ms = self.clock.now().monotonic_ms().saturating_add(ms);
        let Some(cluster) = self.cluster.as_mut() else { return };
        if cluster.tick.is_none() && cluster.view.nodes().len() > 1 {
            let timer = Timer { kind: TimerKind::Cluster, client: 0, order };
            cluster.tick = Some(self.clock.timers_mut().insert(timer, at_ms));
        }
    }

    /// An advance of the clock that goes so far does not look at other nodes before its end.
    pub(in super::super) fn leap_over_cluster_ticks(&mut self, ms: i64) {
        let Some(cluster) = self.cluster.as_mut() else { return };
        let Some(planned) = cluster.tick.take() else { return };
        self.clock.timers_mut().cancel(planned);
        cluster.gossip.leap(ms);
        self.plan_cluster_tick_after(ms.saturating_add(TICK_MS));
    }

    /// It is time to look at the other nodes.
    pub(in super::super) fn cluster_tick(&mut self) {
        if let Some(cluster) = self.cluster.as_mut() {
            cluster.tick = None;
        }
        // Who was killed looks at nobody, but does so again when it has come back.
        if self.faults.outage.was_killed() {
            return self.plan_cluster_tick();
        }
        self.with_gossip(Gossip::tick);
    }

    /// It is killed: nothing goes to other nodes any more, and what it has heard of them is forgotten.
    pub(in super::super) fn leave_nodes(&mut self) {
        self.with_gossip(Gossip::end);
        if let Some(cluster) = self.cluster.as_mut() {
            cluster.links.clear();
        }
    }

    /// Something has happened to a connection to another node.
    pub(in super::super) fn cluster_link(&mut self, link: u64, event: OutboundEvent<'_>) {
        self.with_gossip(|gossip, view| match event {
            OutboundEvent::Opened => gossip.opened(view, link),
            OutboundEvent::Received(bytes) => gossip.received(view, link, bytes),
            OutboundEvent::Closed { .. } => gossip.closed(view, link),
        });
        if let (OutboundEvent::Closed { .. }, Some(cluster)) = (event, self.cluster.as_mut()) {
            cluster.links.remove(&link);
        }
        self.commit();
    }

    /// Another node says something; what it is answered, if anything.
    ///
    /// # Errors
    /// It is no message, or this is no node.
    pub(crate) fn hear_node(&mut self, session: u64, bytes: &[u8]) -> Result<Option<Vec<u8>>, CommandError> {
        self.cluster()?;
        let message = Message::read(bytes).ok_or(NO_MESSAGE)?;
        let address = self.sessions.find(session).map(|slot| self.sessions.get(slot).peer.addr.clone());
        let address = address.unwrap_or_default();
        let ip = address.rsplit_once(':').map_or("", |(ip, _)| ip).trim_matches(['[', ']']);
        // Who comes over a socket of the file system has no address.
        let ip = if ip.parse::<std::net::IpAddr>().is_ok() { ip } else { "" };
        let speaker = Speaker { session, ip };
        let answer = self.with_gossip(|gossip, view| gossip.hear_request(view, message, speaker));
        Ok(answer.flatten().map(|answer| answer.write()))
    }

    /// Sends a message for subscribers to the other nodes.
    #[cold]
    pub(crate) fn publish_to_nodes(&mut self, channel: &[u8], message: &[u8], is_shard: bool) {
        self.with_gossip(|gossip, view| gossip.publish(view, channel, message, is_shard));
    }

    /// Whether it is a node of a cluster.
    pub(crate) fn is_node(&self) -> bool {
        self.cluster.is_some()
    }

    /// What the node is told at the present instant; what it wants done is done. `None`: this is no node.
    pub(crate) fn with_gossip<T>(
        &mut self,
        work: impl FnOnce(&mut Gossip, &mut ClusterView) -> T,
    ) -> Option<T> {
        self.cluster.as_ref()?;
        let facts = self.cluster_facts();
        let Cluster { gossip, view, .. } = self.cluster.as_deref_mut()?;
        gossip.set_facts(facts);
        let done = work(gossip, view);
        self.settle_gossip();
        // It may have come to know its first other node.
        self.plan_cluster_tick();
        Some(done)
    }

    /// The view was changed by somebody else: the node knows which nodes there are, and replication follows.
    pub(in super::super) fn follow_view(&mut self) {
        self.follow_master_of_view();
        self.with_gossip(Gossip::sync);
    }

    fn cluster_facts(&self) -> Facts {
        let (parameters, replication) = (&self.config.cluster, &self.config.replication);
        let following = self.following.as_ref();
        let is_connected = following.is_some_and(|following| following.is_connected());
        let password = match replication.masterauth.is_empty() {
            true => self.config.requirepass.clone(),
            false => replication.masterauth.clone(),
        };
        let user = Some(replication.masteruser.clone().into_bytes())
            .filter(|user| !user.is_empty() && !replication.masterauth.is_empty());
        Facts {
            now: self.clock.now().monotonic_ms(),
            wall_ms: self.clock.now().wall_ms(),
            offset: self.replication.offset().max(0).unsigned_abs(),
            is_synced: following.is_none_or(|following| is_connected || following.was_up()),
            hears_master: following.is_some_and(|following| following.hears_master()),
            announced_ip: parameters.announce_ip.clone(),
            login: Login { user, password: Some(password).filter(|password| !password.is_empty()) },
            node_timeout: parameters.node_timeout.max(1),
            validity_factor: parameters.replica_validity_factor,
            ping_period: replication.ping_period.saturating_mul(1000),
            follows_slots: parameters.allow_replica_migration,
            never_takes_over: parameters.replica_no_failover,
        }
    }

    /// Does what the node wants done, in its order.
    fn settle_gossip(&mut self) {
        while let Some(effect) = self.cluster.as_mut().and_then(|cluster| cluster.gossip.next_effect()) {
            match effect {
                Effect::Connect { link, ip, port } => {
                    let endpoint = Endpoint { host: ip.into(), port };
                    let id = self.connect_to(endpoint, Purpose::Cluster(link));
                    self.cluster.as_mut().into_iter().for_each(|cluster| _ = cluster.links.insert(link, id));
                }
                Effect::Send { link, bytes } => {
                    self.linked(link).into_iter().for_each(|id| self.outbound.send(id, &bytes));
                }
                Effect::Close { link } => {
                    self.linked(link).into_iter().for_each(|id| self.outbound.close(id));
                    self.cluster.as_mut().into_iter().for_each(|cluster| _ = cluster.links.remove(&link));
                }
                Effect::Changed => {
                    self.view_changed();
                    self.follow_master_of_view();
                }
                Effect::Publish { channel, message, is_shard: false } => {
                    self.send_to_subscribers(&channel, &message);
                }
                Effect::Publish { channel, message, is_shard: true } => {
                    self.send_to_shard(&channel, &message)
                }
                Effect::PauseWrites { ms } => {
                    let until_ms = self.clock.now().monotonic_ms().saturating_add(ms);
                    self.pauses.pause(PauseKind::Write, until_ms);
                    self.follow_pauses();
                }
                Effect::Unpause => {
                    self.pauses.unpause();
                    self.follow_pauses();
                }
                Effect::LoseSlots(slots) => self.lose_slots(&slots),
                Effect::Log(text) => tracing::warn!("{text}"),
                Effect::Notice(text) => tracing::info!("{text}"),
            }
        }
    }

    fn linked(&self, link: u64) -> Option<OutboundId> {
        self.cluster.as_ref()?.links.get(&link).copied()
    }

    /// Keys of slots that are another node's are gone.
    pub(super) fn lose_slots(&mut self, slots: &[u16]) {
        let keys: Vec<Vec<u8>> = slots
            .iter()
            .filter_map(|slot| Some(self.slot_keys()?.of(*slot).iter().map(|key| key.to_vec())))
            .flatten()
            .collect();
        let mut tx = self.keyspace.tx(0, self.clock.now());
        for key in keys {
            tx.delete(&key);
        }
    }

    /// Follows the master that the view names, or nobody.
    fn follow_master_of_view(&mut self) {
        let is_replica = self.cluster.as_deref().is_none_or(|cluster| cluster.view.me().is_replica());
        if !is_replica && self.following.is_some() {
            self.unfollow_master();
        }
        if let Some((ip, port)) = self.master_to_follow() {
            self.follow_master(ip, port);
        }
    }

    /// The master that the view names and that is not followed yet. Where it is may be told later.
    pub(super) fn master_to_follow(&self) -> Option<(String, u16)> {
        let view = &self.cluster.as_deref()?.view;
        let master = view.me().master.filter(|_| view.me().is_replica())?;
        let master = view.node(master).filter(|master| !master.ip.is_empty() && master.port != 0)?;
        let is_followed =
            self.following.as_ref().is_some_and(|following| following.is_to(&master.ip, master.port));
        (!is_followed).then(|| (master.ip.clone(), master.port))
    }
}
