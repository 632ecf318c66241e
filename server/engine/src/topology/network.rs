//! The exchange between the servers of one process.

use super::link::AcceptedLink;
use super::missed::Missed;
use super::nodes::Nodes;
use crate::clients::Peer;
use crate::clock::{AdvanceProgress, ClockAdvance, ClockChange};
use crate::core::{Engine, advance_together, read_history};
use crate::faults::{DataFate, MAX_PARTITIONS, TOO_MANY_PARTITIONS};
use crate::locks::StampSource;
use crate::member::{Broadcast, BroadcastAnswer, MemberAddress, TopologyRequest, place_of};
use crate::outbound::{Outbound, OutboundEvent, OutboundId, Outgoing};
use crate::sentinel_server::SentinelServer;
use crate::spec::CommandError;
use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr};

/// The key of a connection: the server that has made it, and its id there.
pub(super) type Key = (usize, OutboundId);

/// The connections between the servers of one process, which are identified by their places, from 0.
#[derive(Debug, Default)]
pub struct Network {
    members: Vec<MemberAddress>,
    links: BTreeMap<Key, AcceptedLink>,
    /// Connections that wait because the two servers are cut off from each other, or the target hangs.
    connecting: BTreeMap<Key, usize>,
    /// The pairs of groups of servers that are cut off from each other.
    partitions: Vec<(Vec<usize>, Vec<usize>)>,
    /// The servers that have ended for good.
    left: Vec<usize>,
    /// The lag of messages to replicas, in milliseconds of the common clock.
    lag_ms: i64,
    /// The initial lag, in milliseconds.
    first_lag_ms: i64,
    /// Connections with actions of a server to carry out.
    pending: VecDeque<(usize, OutboundId)>,
    /// The servers that were left out of the last exchange, by their places.
    pub(super) left_out: Vec<usize>,
    /// Events that servers have missed while they were left out, in order.
    pub(super) missed: Vec<(usize, Missed)>,
    /// Requests that wait for servers that are left out, each with the place of its server.
    pub(super) put_off: Vec<(usize, TopologyRequest)>,
    /// The place of the server whose advance of the clock has stopped amid an instant.
    amid: Option<usize>,
    /// The number of partitions already ended by a FAULT.HEAL that still waits for servers.
    pub(super) healed: usize,
}

/// The driver of a network.
pub trait Outside {
    /// Carries out a server's action on a connection to a server outside of this process.
    fn post(&mut self, node: usize, id: OutboundId);

    /// Handles a server's output at the end of a batch. Its actions on connections go to [`Network::post`].
    fn drain(&mut self, network: &mut Network, node: usize, engine: &mut Engine);
}

/// Returns the address of a connection as its accepting server shows it: its own IP, and a port above those of servers.
fn address_of((node, id): Key, ip: IpAddr) -> String {
    const FIRST: usize = 32_768;
    let port = FIRST + (node * 512 + id.0 as usize % 512) % FIRST;
    SocketAddr::new(ip, port as u16).to_string()
}

impl Network {
    /// Returns a network of servers that listen on these ports of one machine.
    pub fn new(ports: Vec<u16>) -> Self {
        let members = ports.into_iter().map(MemberAddress::new).collect();
        Network { members, ..Network::default() }
    }

    /// Records that a server has an action on one of its connections, for [`Network::serve`] to carry out.
    pub fn post(&mut self, node: usize, id: OutboundId) {
        self.pending.push_back((node, id));
    }

    /// Joins the servers: they share the first one's clock, and one history of locks in the order of `stamps`.
    pub fn join(&mut self, nodes: &mut [&mut Engine], stamps: &StampSource) {
        let members = self.members.iter_mut().zip(nodes.iter());
        members.for_each(|(member, node)| {
            member.announce(&node.config, node.sentinel().map(SentinelServer::announced).unwrap_or_default())
        });
        let places = nodes.iter_mut().enumerate();
        places.for_each(|(place, node)| node.join(&self.members, place, stamps.clone()));
        let clock = nodes[0].clock().clocks().clone();
        advance_together(nodes, &mut ClockAdvance::changing(ClockChange::Follow(clock)), &mut |_| ());
    }

    /// Delivers everything that the servers have sent one another, and then carries out their requests on the common
    /// clock. All of them are at one instant of the system's clocks.
    ///
    /// The engines are in the order of their places. A server that hangs may be left out. Its connections stay open,
    /// and what is sent to it waits until the next exchange in which it takes part.
    pub fn serve(&mut self, engines: &mut [&mut Engine], outside: &mut dyn Outside) {
        let nodes = &mut Nodes::new(engines, self.members.len());
        let mut has_retried = false;
        self.look_who_is_there(nodes, outside);
        self.begin_anew(nodes, outside);
        self.note_announcements(nodes);
        loop {
            self.count_grants(nodes);
            self.exchange(nodes, outside);
            let Some((node, request)) = self.next_request(nodes) else {
                // Cut links are restored at once if possible.
                if !has_retried && self.reconnect(nodes, outside) {
                    has_retried = true;
                    continue;
                }
                return;
            };
            self.serve_clock(nodes, node, request, outside);
        }
    }

    fn serve_clock(
        &mut self,
        nodes: &mut Nodes<'_, '_>,
        node: usize,
        request: TopologyRequest,
        outside: &mut dyn Outside,
    ) {
        match request {
            TopologyRequest::ClockChanged => {
                let change = ClockChange::Follow(nodes[node].clock().clocks().clone());
                let mut advance = Box::new(ClockAdvance::changing(change).in_pieces());
                let progress = self.advance_all(nodes, Some(node), &mut advance, outside);
                nodes[node].end_detached_advance(advance, progress);
            }
            TopologyRequest::Advance(owner) => {
                let Some(mut advance) = nodes[node].take_advance(owner) else { return };
                let progress = self.advance_all(nodes, Some(node), &mut advance, outside);
                nodes[node].end_advance(owner, advance, progress);
                nodes[node].commit();
            }
            TopologyRequest::Arrival | TopologyRequest::Look => {}
            TopologyRequest::Announced => self.note_address(nodes, node),
            TopologyRequest::Promoted(promotion) => self.note_promotion(nodes, node, &promotion),
            TopologyRequest::SlotsMove => count_all_grants(nodes),
            TopologyRequest::Moved(to) => self.receive_keys(nodes, node, to),
            TopologyRequest::Refused => self.let_clients_in(nodes),
            TopologyRequest::Reset => self.end_faults(nodes),
            TopologyRequest::Planned(planned) => {
                if let Some(mut advance) = nodes[node].clock().planned_advance(planned) {
                    self.advance_all(nodes, None, &mut advance, outside);
                }
            }
            TopologyRequest::Broadcast(asked, Broadcast::Fault(fault)) => {
                let answer = self.inflict(nodes, (node, asked.client), fault);
                nodes[node].answer_broadcast(asked, answer);
            }
            TopologyRequest::Broadcast(asked, Broadcast::History) => {
                let mut hanging = nodes.left_out();
                hanging.retain(|place| !self.has_left(*place) && !self.members[*place].is_sentinel);
                let merged = read_history(nodes.engines(), &hanging);
                nodes[node].answer_broadcast(asked, Ok(BroadcastAnswer::History(merged)));
            }
            TopologyRequest::Broadcast(asked, Broadcast::Clock) => {
                let next_ms = nodes.iter_mut().filter_map(|(_, node)| node.schedule().next_in_ms()).min();
                let pending = nodes.iter_mut().map(|(_, node)| node.schedule().pending()).sum();
                nodes[node].answer_broadcast(asked, Ok(BroadcastAnswer::Clock(next_ms, pending)));
            }
        }
        self.drain_all(nodes, outside);
    }

    /// Announces new addresses to all servers before anyone connects there.
    fn note_announcements(&mut self, nodes: &mut Nodes<'_, '_>) {
        for place in nodes.places() {
            if nodes.get_mut(place).is_some_and(|node| node.member_mut().take_announcement()) {
                self.note_address(nodes, place);
            }
        }
    }

    fn note_address(&mut self, nodes: &mut Nodes<'_, '_>, place: usize) {
        let node = &nodes[place];
        self.members[place]
            .announce(&node.config, node.sentinel().map(SentinelServer::announced).unwrap_or_default());
        self.tell_addresses(nodes);
    }

    /// Informs the servers of all addresses.
    pub(super) fn tell_addresses(&self, nodes: &mut Nodes<'_, '_>) {
        nodes.iter_mut().for_each(|(_, node)| node.member_mut().note_addresses(&self.members));
    }

    /// Returns all servers to their first roles if one was reset, ends all faults, and drops messages on their way or
    /// held, before any server sends what it knew. If the first master has left, only cluster nodes change roles.
    fn begin_anew(&mut self, nodes: &mut Nodes<'_, '_>, outside: &mut dyn Outside) {
        let reset: Vec<bool> = nodes.iter_mut().map(|(_, node)| node.member_mut().take_reset()).collect();
        if !reset.contains(&true) {
            return;
        }
        for ((place, _), _) in nodes.iter().zip(&reset).filter(|(_, is_reset)| **is_reset) {
            self.forget_put_off(place);
        }
        self.healed = 0;
        self.end_faults(nodes);
        let first = self.first_master(nodes);
        for ((_, node), _) in nodes.iter_mut().zip(reset).filter(|(_, is_reset)| !is_reset) {
            node.return_to_first_view();
            if first.is_some() {
                node.return_to_first_role();
            }
        }
        if let Some(first) = first {
            self.return_sentinels(nodes, &first);
        }
        self.missed.extend(nodes.left_out().into_iter().map(|place| (place, Missed::Reset)));
        // Nodes close their old connections before anything is delivered over them.
        self.drain_all(nodes, outside);
    }

    /// Advances the common clock, up to its end or to a stop at which clients may react.
    pub fn advance(
        &mut self,
        engines: &mut [&mut Engine],
        advance: &mut ClockAdvance,
        outside: &mut dyn Outside,
    ) -> AdvanceProgress {
        let nodes = &mut Nodes::new(engines, self.members.len());
        self.look_who_is_there(nodes, outside);
        self.advance_all(nodes, None, advance, outside)
    }

    /// Advances the common clock for the server at a place, which goes on if it stops. `None`: the process does that.
    fn advance_all(
        &mut self,
        nodes: &mut Nodes<'_, '_>,
        place: Option<usize>,
        advance: &mut ClockAdvance,
        outside: &mut dyn Outside,
    ) -> AdvanceProgress {
        let places = self.members.len();
        let progress = advance_together(nodes.engines(), advance, &mut |engines| {
            let nodes = &mut Nodes::new(engines, places);
            self.drain_all(nodes, outside);
            self.exchange(nodes, outside);
            // A replica without a link may find its master again, which may have just come back.
            self.reconnect(nodes, outside);
        });
        self.amid = place.filter(|_| advance.is_amid());
        progress
    }

    /// Lets another server fire the rest of an instant for a server that hangs or is gone amid it.
    pub(super) fn take_over_advance(&mut self, nodes: &mut Nodes<'_, '_>) {
        if self.amid.is_some_and(|place| !nodes.has(place)) {
            let first = nodes.iter_mut().next();
            first.into_iter().for_each(|(_, node)| node.clock_moves().fire_rest_of_instant());
            self.amid = nodes.iter().next().map(|(place, _)| place);
        }
    }

    /// Lets replicas without a link retry their masters once, and then the replicas of those. Whether any tried.
    fn reconnect(&mut self, nodes: &mut Nodes<'_, '_>, outside: &mut dyn Outside) -> bool {
        let mut tried = Vec::new();
        while self.retry_masters(nodes, &mut tried) {
            self.drain_all(nodes, outside);
            self.exchange(nodes, outside);
        }
        !tried.is_empty()
    }

    /// Handles the output of all servers.
    pub(super) fn drain_all(&mut self, nodes: &mut Nodes<'_, '_>, outside: &mut dyn Outside) {
        for (index, node) in nodes.iter_mut() {
            outside.drain(self, index, node);
        }
    }

    /// Delivers everything that the servers have sent one another.
    fn exchange(&mut self, nodes: &mut Nodes<'_, '_>, outside: &mut dyn Outside) {
        loop {
            self.note_promotions(nodes);
            let mut has_moved = Network::raise_due(nodes);
            if has_moved {
                self.drain_all(nodes, outside);
            }
            while let Some((node, id)) = self.next_pending(nodes) {
                has_moved = true;
                if self.leads_out(nodes[node].outbound_mut(), (node, id)) {
                    outside.post(node, id);
                    continue;
                }
                while let Some(outgoing) = nodes[node].outbound_mut().take(id) {
                    self.act(nodes, (node, id), outgoing);
                }
            }
            for key in self.links.keys().chain(self.connecting.keys()).copied().collect::<Vec<_>>() {
                let has_come = self.carry(nodes, key);
                if has_come {
                    // This comes before the old master hears of it, because the old master then forgets its state.
                    self.note_promotions(nodes);
                }
                has_moved |= has_come;
            }
            if !has_moved {
                return;
            }
            self.drain_all(nodes, outside);
        }
    }

    /// Takes the next connection with an action of a server that takes part.
    fn next_pending(&mut self, nodes: &Nodes<'_, '_>) -> Option<Key> {
        let at = self.pending.iter().position(|(node, _)| nodes.has(*node))?;
        self.pending.remove(at)
    }

    /// Carries out a server's action on one of its connections.
    fn act(&mut self, nodes: &mut Nodes<'_, '_>, key: Key, outgoing: Outgoing) {
        let node = key.0;
        match outgoing {
            Outgoing::Connect(endpoint) => {
                let Some(to) = self.node_at(&endpoint.host, endpoint.port) else { return };
                if self.is_cut(node, to) || self.hangs(nodes, to) {
                    self.connecting.insert(key, to);
                } else {
                    self.connect(nodes, key, to);
                }
            }
            Outgoing::Send(bytes) => {
                // The requests run when this connection's turn comes, together with the delivery of the answers.
                if let Some(link) = self.links.get_mut(&key) {
                    link.append(&bytes);
                }
            }
            Outgoing::Close => {
                self.connecting.remove(&key);
                let is_cut = self.links.get(&key).is_some_and(|link| self.is_cut(node, link.to));
                if let Some(link) = self.links.get_mut(&key).filter(|_| is_cut) {
                    link.has_ended = true;
                } else if let Some(link) = self.links.remove(&key) {
                    self.disconnect(nodes, link.to, link.slot);
                }
            }
        }
    }

    /// Whether a server is left out but has not ended.
    fn hangs(&self, nodes: &Nodes<'_, '_>, node: usize) -> bool {
        !nodes.has(node) && !self.has_left(node)
    }

    /// Makes a connection, if the other server is up.
    fn connect(&mut self, nodes: &mut Nodes<'_, '_>, key: Key, to: usize) {
        let (node, id) = key;
        if self.has_left(to)
            || nodes[to].faults().outage.was_killed()
            || nodes[node].faults().outage.was_killed()
        {
            let reason = "Connection refused";
            return nodes[node].outbound_event(id, OutboundEvent::Closed { reason });
        }
        let ip = nodes[to].config.loopback();
        let peer = Peer { addr: address_of(key, ip), in_process: true, ..Peer::default() };
        let slot = nodes[to].connect(peer);
        self.links.insert(key, AcceptedLink::new(to, slot));
        nodes[node].outbound_mut().set_local_ip(id, &ip.to_string());
        nodes[node].outbound_event(id, OutboundEvent::Opened);
    }

    /// Runs the requests of a connection and delivers the answers. If one of the two servers is left out, only the
    /// other does its part. Returns whether there was anything to deliver.
    fn carry(&mut self, nodes: &mut Nodes<'_, '_>, key: Key) -> bool {
        let (node, id) = key;
        if self.links.get(&key).is_none_or(|link| self.is_cut(node, link.to)) {
            return self.connect_late(nodes, key);
        }
        let Some(link) = self.links.get_mut(&key) else { return false };
        let (to, slot) = (link.to, link.slot);
        if link.has_ended {
            self.links.remove(&key);
            self.disconnect(nodes, to, slot);
            return true;
        }
        let mut goes_on = true;
        if let Some(other) = nodes.get_mut(to) {
            goes_on = link.run(other);
        }
        let mut bytes = Vec::new();
        if nodes.has(node) {
            if let Some(other) = nodes.get_mut(to) {
                link.send_output(other, self.lag_ms);
            }
            bytes = link.arrived(nodes[node].clock().now().monotonic_ms());
            if let Some(at_ms) = link.next_arrival() {
                nodes[node].look_again_at(at_ms);
            }
            if !bytes.is_empty() {
                nodes[node].outbound_event(id, OutboundEvent::Received(&bytes));
            }
        }
        if !goes_on && let Some(link) = self.links.remove(&key) {
            self.disconnect(nodes, link.to, link.slot);
            self.close(nodes, key, "");
        }
        !bytes.is_empty() || !goes_on
    }

    /// Sets the lag of messages to replicas, in milliseconds of the common clock, from the start.
    pub fn set_lag(&mut self, lag_ms: i64) {
        (self.lag_ms, self.first_lag_ms) = (lag_ms, lag_ms);
    }

    /// Sets the lag until the faults end. Messages on their way arrive within the new lag.
    pub(super) fn lag(&mut self, lag_ms: i64, now_ms: i64) {
        self.lag_ms = lag_ms;
        self.links.values_mut().for_each(|link| link.arrive_by(now_ms.saturating_add(lag_ms)));
    }

    /// Restores the initial lag.
    pub(super) fn end_lag(&mut self, now_ms: i64) {
        self.lag(self.first_lag_ms, now_ms);
    }

    /// Whether a connection leads to a server outside of this process.
    fn leads_out(&self, outbound: &Outbound, key: Key) -> bool {
        let is_inside = match outbound.wanted(key.1) {
            Some(endpoint) => self.node_at(&endpoint.host, endpoint.port).is_some(),
            None => self.links.contains_key(&key) || self.connecting.contains_key(&key),
        };
        !is_inside
    }

    /// Makes a connection that had to wait, if nothing prevents it any more.
    fn connect_late(&mut self, nodes: &mut Nodes<'_, '_>, key: Key) -> bool {
        let Some(&to) = self.connecting.get(&key) else { return false };
        if self.is_cut(key.0, to) || self.hangs(nodes, to) || !nodes.has(key.0) {
            return false;
        }
        self.connecting.remove(&key);
        self.connect(nodes, key, to);
        true
    }

    /// Returns the place of the server that listens at an address.
    pub(super) fn node_at(&self, host: &str, port: u16) -> Option<usize> {
        place_of(&self.members, host, port)
    }

    /// Returns the address that a server announces to others.
    pub(super) fn address(&self, node: usize, engine: &Engine) -> (String, u16) {
        let parameters = &engine.config.replication;
        let (ip, port) = (parameters.announce_ip.clone(), parameters.announce_port);
        let ip = if ip.is_empty() { engine.config.loopback().to_string() } else { ip };
        (ip, if port == 0 { self.members[node].port } else { port })
    }

    /// Returns a predicate that tells whether an address leads to a server.
    pub(super) fn leads_to(&self, node: usize) -> impl Fn(&str, u16) -> bool {
        move |host, port| self.node_at(host, port) == Some(node)
    }

    /// Records that a server has ended like its process would. For the others it is gone and does not come back.
    pub fn leave(&mut self, engines: &mut [&mut Engine], node: usize) {
        if !self.has_left(node) {
            self.left.push(node);
            let nodes = &mut Nodes::new(engines, self.members.len());
            self.kill(nodes, node, i64::MAX, None, DataFate::Lost);
            // The server may have been the last one that could be asked to advance the clock.
            if nodes.iter().any(|(_, node)| !node.clock().runs()) {
                self.let_clients_in(nodes);
            }
            self.end_those_down(nodes);
        }
    }

    /// Whether a server has ended for good.
    pub(super) fn has_left(&self, node: usize) -> bool {
        self.left.contains(&node)
    }

    /// Whether two servers are cut off from each other.
    pub(super) fn is_cut(&self, one: usize, other: usize) -> bool {
        let parts = |side: &[usize], far: &[usize]| side.contains(&one) && far.contains(&other);
        self.partitions.iter().any(|(side, far)| parts(side, far) || parts(far, side))
    }

    /// Cuts two groups of servers off. Returns the number of held connections, or fails for too many partitions.
    pub(super) fn part(
        &mut self,
        nodes: &mut Nodes<'_, '_>,
        side: Vec<usize>,
        far: Vec<usize>,
    ) -> Result<usize, CommandError> {
        if self.partitions.len() == MAX_PARTITIONS {
            return Err(TOO_MANY_PARTITIONS);
        }
        self.partitions.push((side, far));
        self.tell_who_is_cut(nodes);
        Ok(self.links.iter().filter(|(key, link)| self.is_cut(key.0, link.to)).count())
    }

    /// Ends all partitions between servers. Returns their number.
    pub(super) fn heal(&mut self, nodes: &mut Nodes<'_, '_>) -> usize {
        let healed = std::mem::take(&mut self.partitions).len();
        self.tell_who_is_cut(nodes);
        healed
    }

    /// Informs masters and replicas whether they hear one another. A hanging server is not heard.
    pub(super) fn tell_who_is_cut(&self, nodes: &mut Nodes<'_, '_>) {
        for (&(node, id), link) in &self.links {
            let is_cut = self.is_cut(node, link.to) || !nodes.has(node) || !nodes.has(link.to);
            if let Some(other) = nodes.get_mut(link.to) {
                other.change_replication(|control| control.set_replica_cut(link.slot, is_cut));
            }
            if let Some(one) = nodes.get_mut(node) {
                one.change_replication(|control| control.set_master_cut(id, is_cut));
            }
        }
        for (place, node) in nodes.iter_mut() {
            let cut_from = (0..self.members.len()).filter(|other| self.is_cut(place, *other)).collect();
            node.member_mut().set_cut_from(cut_from);
        }
    }

    pub(super) fn links(&self) -> impl Iterator<Item = (&Key, &AcceptedLink)> {
        self.links.iter()
    }

    /// Forgets the connections of a server that could not be made yet.
    pub(super) fn forget_wanted(&mut self, node: usize) {
        self.connecting.retain(|key, _| key.0 != node);
        self.pending.retain(|key| key.0 != node);
    }

    pub(super) fn remove_link(&mut self, key: Key) -> Option<AcceptedLink> {
        self.links.remove(&key)
    }
}

/// Continues all servers' numbers of grants after the highest one, before a slot moves with its locks.
fn count_all_grants(nodes: &mut Nodes<'_, '_>) {
    let last = nodes.iter_mut().map(|(_, node)| node.grants().last_number()).max().unwrap_or(0);
    nodes.iter_mut().for_each(|(_, node)| node.grants().go_on_after(last));
}
