//! What the servers of one process send one another.

use super::link::Link;
use crate::clients::Peer;
use crate::core::{ClockRequest, ClockTurn, Engine, TurnProgress, turn_together};
use crate::outbound::{Endpoint, OutboundId, Outgoing};
use std::collections::{BTreeMap, VecDeque};

/// The connections between the servers of one process. Servers are known by their places, from 0.
#[derive(Debug, Default)]
pub struct Network {
    /// The ports that they listen on.
    ports: Vec<u16>,
    links: BTreeMap<(usize, OutboundId), Link>,
    /// How long it takes until a replica is told something, in milliseconds of the clock that all share.
    lag_ms: i64,
    /// Connections that a server wants something of.
    pending: VecDeque<(usize, OutboundId)>,
}

/// What a network asks of its driver.
pub trait Outside {
    /// A server wants something of a connection that leads out of this process: the driver does it.
    fn post(&mut self, node: usize, id: OutboundId);

    /// A batch of a server has ended: its output is handled. What it wants of connections is given to
    /// [`Network::post`], here or later.
    fn drain(&mut self, network: &mut Network, node: usize, engine: &mut Engine);
}

/// What the other end of a connection calls it: a port above those of servers, as a system would choose one.
fn address_of((node, id): (usize, OutboundId)) -> String {
    const FIRST: usize = 32_768;
    let port = FIRST + (node * 512 + id.0 as usize % 512) % FIRST;
    format!("127.0.0.1:{port}")
}

impl Network {
    /// Servers that listen on these ports of one machine.
    pub fn new(ports: Vec<u16>) -> Self {
        Network { ports, ..Network::default() }
    }

    /// A server wants something of one of its connections; [`Network::serve`] looks at it.
    pub fn post(&mut self, node: usize, id: OutboundId) {
        self.pending.push_back((node, id));
    }

    /// The servers share their clock from now on, which is that of the first.
    pub fn join(&mut self, nodes: &mut [&mut Engine]) {
        nodes.iter_mut().for_each(|node| node.share_clock());
        let clock = nodes[0].shared_clock().clone();
        nodes.iter_mut().skip(1).for_each(|node| node.follow_clock(&clock));
    }

    /// Lets what the servers have sent one another arrive, until there is nothing more; then does what they have asked
    /// of the clock that they share. All of them are at one instant of the system's clocks.
    pub fn serve(&mut self, nodes: &mut [&mut Engine], outside: &mut dyn Outside) {
        loop {
            self.exchange(nodes, outside);
            let mut all = nodes.iter_mut().enumerate();
            let Some((node, request)) =
                all.find_map(|(index, node)| Some((index, node.next_clock_request()?)))
            else {
                return;
            };
            self.serve_clock(nodes, node, request, outside);
        }
    }

    fn serve_clock(
        &mut self,
        nodes: &mut [&mut Engine],
        node: usize,
        request: ClockRequest,
        outside: &mut dyn Outside,
    ) {
        match request {
            ClockRequest::Changed => {
                let clock = nodes[node].shared_clock().clone();
                let others = nodes.iter_mut().enumerate().filter(|(index, _)| *index != node);
                others.for_each(|(_, other)| other.follow_clock(&clock));
            }
            ClockRequest::Turn(client) => {
                let Some((slot, mut turn)) = nodes[node].begin_shared_turn(client) else { return };
                let progress = self.turn(nodes, &mut turn, outside);
                nodes[node].end_shared_turn(slot, turn, progress);
            }
            ClockRequest::Arrival => {}
            ClockRequest::Planned(planned) => {
                if let Some(mut turn) = nodes[node].planned_turn(planned) {
                    self.turn(nodes, &mut turn, outside);
                }
            }
        }
        self.drain_all(nodes, outside);
    }

    /// Turns the clock of all servers, as far as the turn goes before clients are to react.
    pub fn turn(
        &mut self,
        nodes: &mut [&mut Engine],
        turn: &mut ClockTurn,
        outside: &mut dyn Outside,
    ) -> TurnProgress {
        turn_together(nodes, turn, &mut |nodes| {
            self.drain_all(nodes, outside);
            self.exchange(nodes, outside);
        })
    }

    /// The output of all servers is handled.
    fn drain_all(&mut self, nodes: &mut [&mut Engine], outside: &mut dyn Outside) {
        for (index, node) in nodes.iter_mut().enumerate() {
            outside.drain(self, index, node);
        }
    }

    /// Lets what the servers have sent one another arrive, until there is nothing more.
    fn exchange(&mut self, nodes: &mut [&mut Engine], outside: &mut dyn Outside) {
        loop {
            let mut has_moved = !self.pending.is_empty();
            while let Some((node, id)) = self.pending.pop_front() {
                if self.leads_out(nodes[node], (node, id)) {
                    outside.post(node, id);
                    continue;
                }
                while let Some(outgoing) = nodes[node].take_outgoing(id) {
                    self.act(nodes, (node, id), outgoing);
                }
            }
            for key in self.links.keys().copied().collect::<Vec<_>>() {
                has_moved |= self.carry(nodes, key);
            }
            if !has_moved {
                return;
            }
            self.drain_all(nodes, outside);
        }
    }

    /// Does what a server wants done for one of its connections.
    fn act(&mut self, nodes: &mut [&mut Engine], key: (usize, OutboundId), outgoing: Outgoing) {
        let (node, id) = key;
        match outgoing {
            Outgoing::Connect(endpoint) => {
                let Some(to) = self.node_at(&endpoint) else { return };
                let peer = Peer { addr: address_of(key), ..Peer::default() };
                let slot = nodes[to].connect(peer);
                self.links.insert(key, Link::new(to, slot));
                nodes[node].outbound_opened(id);
            }
            Outgoing::Send(bytes) => {
                // It runs when this connection's turn comes, with what the other end answers.
                if let Some(link) = self.links.get_mut(&key) {
                    link.append(&bytes);
                }
            }
            Outgoing::Close => {
                if let Some(link) = self.links.remove(&key) {
                    nodes[link.to].disconnect(link.slot);
                }
            }
        }
    }

    /// Takes what the other server answers back to who has connected; whether there was something.
    fn carry(&mut self, nodes: &mut [&mut Engine], key: (usize, OutboundId)) -> bool {
        let Some(link) = self.links.get_mut(&key) else { return false };
        let (node, id) = key;
        let goes_on = link.run(nodes[link.to]);
        link.send_output(nodes[link.to], self.lag_ms);
        let bytes = link.arrived(nodes[node].now().monotonic_ms());
        if let Some(at_ms) = link.next_arrival() {
            nodes[node].look_again_at(at_ms);
        }
        if !bytes.is_empty() {
            nodes[node].outbound_received(id, &bytes);
        }
        if !goes_on && let Some(link) = self.links.remove(&key) {
            nodes[link.to].disconnect(link.slot);
            nodes[node].outbound_closed(id, "");
        }
        !bytes.is_empty() || !goes_on
    }

    /// From now on a replica is told everything so many milliseconds later, of the clock that all share.
    pub fn set_lag(&mut self, lag_ms: i64) {
        self.lag_ms = lag_ms;
    }

    /// Whether a connection leads to a server that is not of this process.
    fn leads_out(&self, engine: &Engine, key: (usize, OutboundId)) -> bool {
        let is_inside = match engine.wanted_endpoint(key.1) {
            Some(endpoint) => self.node_at(endpoint).is_some(),
            None => self.links.contains_key(&key),
        };
        !is_inside
    }

    /// The server that listens there.
    fn node_at(&self, endpoint: &Endpoint) -> Option<usize> {
        let is_here = matches!(&*endpoint.host, "127.0.0.1" | "localhost" | "::1");
        self.ports.iter().position(|port| is_here && *port == endpoint.port)
    }
}
