//! Several servers of one process and their clients, without a socket or a thread. They share one manual clock and have
//! fixed ports, so that the same steps give the same bytes.

use crate::line;
use lockwheel::{Config, Time};
use lockwheel_engine::Engine;
use lockwheel_engine::clients::{Closing, Outbox, Peer, Slot};
use lockwheel_engine::cluster::ClusterPlan;
use lockwheel_engine::config::{HostChanges, HostRefusal, Permission};
use lockwheel_engine::core::{Host, NotConnected, Output, Progress, Target, TargetAddress};
use lockwheel_engine::outbound::{OutboundEvent, OutboundId};
use lockwheel_engine::sentinel_server::SentinelServer;
use lockwheel_engine::topology::{Network, Outside, StampSource};
use lockwheel_store::time::{Clock, Now};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The system's clocks, which stand still.
const NOW: Now = Now { wall_us: 1_700_000_000_000_000, monotonic_us: 0 };

/// The port of the first server.
const FIRST_PORT: u16 = 7001;

/// The name by which sentinels know the master.
const MASTER_NAME: &str = "mymaster";

/// The relation of the servers to one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A master and this number of replicas.
    Replicas(usize),
    /// A master with these numbers of replicas and of sentinels.
    Sentinel(usize, usize),
    /// A cluster with this number of masters, each with this number of replicas.
    Cluster(usize, usize),
}

impl Shape {
    /// The number of servers that hold data. They have the lowest indexes.
    pub fn holders(self) -> usize {
        match self {
            Shape::Replicas(replicas) | Shape::Sentinel(replicas, _) => 1 + replicas,
            Shape::Cluster(masters, replicas) => masters * (1 + replicas),
        }
    }

    /// The number of servers.
    pub fn servers(self) -> usize {
        match self {
            Shape::Sentinel(_, sentinels) => self.holders() + sentinels,
            _ => self.holders(),
        }
    }
}

/// Several servers and their clients.
pub struct SimulatedTopology {
    engines: Vec<Engine>,
    network: Network,
    clients: Vec<Connection>,
    /// The client of a session, by the server's index and the session's name.
    sessions: BTreeMap<(usize, u64), usize>,
    /// The servers that hang. Each holds the others' clock, if another server has served it since.
    hung: BTreeMap<usize, Option<Clock>>,
}

/// A client's connection.
struct Connection {
    node: usize,
    id: u64,
    /// The slot of the connection. `None` once it is closed.
    slot: Option<Slot>,
    requests: VecDeque<Vec<Vec<u8>>>,
    received: Vec<u8>,
}

/// The host environment of the servers, which is empty.
struct Nowhere;

impl Host for Nowhere {
    fn now(&self) -> Now {
        NOW
    }

    fn stopwatch_ns(&self) -> u64 {
        0
    }

    fn serve_while_slow(&self, _: &mut Engine) {}

    fn follow(&self, _: &Config, _: HostChanges) -> Result<(), HostRefusal> {
        Err(HostRefusal::Listening)
    }

    fn is_gone(&self, _: u64) -> bool {
        false
    }

    fn connect(&self, _: TargetAddress<'_>) -> Result<Box<dyn Target>, NotConnected> {
        Err(NotConnected::Unreachable)
    }
}

/// The work that the servers ask of their driver.
#[derive(Default)]
struct Wanted {
    woken: Vec<(usize, u64)>,
    outside: Vec<(usize, OutboundId)>,
    has_posted: bool,
}

impl Outside for Wanted {
    fn post(&mut self, node: usize, id: OutboundId) {
        self.outside.push((node, id));
    }

    fn drain(&mut self, network: &mut Network, node: usize, engine: &mut Engine) {
        loop {
            match engine.poll_output() {
                Output::Session(id) => self.woken.push((node, id)),
                Output::Outbound(id) => {
                    self.has_posted = true;
                    network.post(node, id);
                }
                Output::Garbage(garbage) => drop(garbage),
                Output::Sleep(_) | Output::Shutdown | Output::Crash(_) => {}
                Output::Idle { .. } => return,
            }
        }
    }
}

impl SimulatedTopology {
    /// Creates servers of this shape that know each other. Their clock stands still, and they keep a history of locks.
    ///
    /// # Panics
    /// Panics if the servers cannot start.
    pub fn new(shape: Shape, seed: u64) -> Self {
        Self::with_node_timeout(shape, seed, Config::default().cluster.node_timeout)
    }

    /// Creates servers of this shape, in which a node of a cluster may count as failed after this silence, in
    /// milliseconds.
    ///
    /// # Panics
    /// Panics if the servers cannot start.
    pub fn with_node_timeout(shape: Shape, seed: u64, node_timeout_ms: i64) -> Self {
        let port = |place: usize| FIRST_PORT + place as u16;
        let ports: Vec<u16> = (0..shape.servers()).map(port).collect();
        let engines =
            (0..shape.servers()).map(|place| engine(shape, place, port(place), seed, node_timeout_ms));
        let engines = engines.collect();
        let (network, sessions) = (Network::new(ports.clone()), BTreeMap::new());
        let (clients, hung) = (Vec::new(), BTreeMap::new());
        let mut topology = SimulatedTopology { engines, network, clients, sessions, hung };
        if let Shape::Cluster(masters, _) = shape {
            let plan = ClusterPlan::new(masters, &ports, seed);
            topology.engines.iter_mut().enumerate().for_each(|(at, engine)| engine.join_cluster(&plan, at));
        }
        let last = AtomicU64::new(0);
        let stamps = StampSource::new(move |count| last.fetch_add(count, Ordering::Relaxed) + count);
        let mut engines: Vec<&mut Engine> = topology.engines.iter_mut().collect();
        topology.network.join(&mut engines, &stamps);
        topology.settle();
        match shape {
            Shape::Cluster(..) => {
                for step in [Engine::contact_nodes, Engine::tell_nodes] {
                    topology.engines.iter_mut().for_each(step);
                    topology.settle();
                }
            }
            Shape::Replicas(_) | Shape::Sentinel(..) => topology.replicate(shape),
        }
        topology.watch(shape, &ports);
        topology
    }

    /// The first server is the master of the others that hold data.
    fn replicate(&mut self, shape: Shape) {
        for replica in 1..shape.holders() {
            self.engines[replica].begin_as_replica_of("127.0.0.1", FIRST_PORT);
        }
        self.settle();
    }

    /// The sentinels know all others.
    fn watch(&mut self, shape: Shape, ports: &[u16]) {
        let ports: Vec<String> = ports.iter().map(u16::to_string).collect();
        let (holders, sentinels) = ports.split_at(shape.holders());
        let id = |at: usize| {
            self.engines[at].sentinel().map(SentinelServer::id).expect("it is a sentinel").to_owned()
        };
        let ids: Vec<String> = (shape.holders()..shape.servers()).map(id).collect();
        let quorum = (sentinels.len() / 2 + 1).to_string();
        for own in 0..sentinels.len() {
            let mut lines = vec![vec!["monitor", MASTER_NAME, "127.0.0.1", &holders[0], &quorum]];
            lines.extend(
                holders[1..].iter().map(|port| vec!["known-replica", MASTER_NAME, "127.0.0.1", port]),
            );
            for other in (0..sentinels.len()).filter(|other| *other != own) {
                lines.push(vec!["known-sentinel", MASTER_NAME, "127.0.0.1", &sentinels[other], &ids[other]]);
            }
            let lines: Vec<&[&str]> = lines.iter().map(Vec::as_slice).collect();
            self.engines[holders.len() + own].watch(&lines);
        }
        self.settle();
    }

    /// Creates a client of a server and returns its number.
    pub fn connect(&mut self, node: usize) -> usize {
        let slot = self.engines[node].connect(Peer::default());
        let id = self.engines[node].sessions().get(slot).id;
        let (number, requests) = (self.clients.len(), VecDeque::new());
        self.clients.push(Connection { node, id, slot: Some(slot), requests, received: Vec::new() });
        self.sessions.insert((node, id), number);
        number
    }

    /// The port of a server.
    pub fn port(&self, node: usize) -> u16 {
        FIRST_PORT + node as u16
    }

    /// Whether a client's connection is still open on the server's side.
    pub fn is_connected(&self, client: usize) -> bool {
        self.clients[client].slot.is_some()
    }

    /// Sends a client's request, in words as at a terminal. The request runs unless the client is blocked.
    ///
    /// # Panics
    /// Panics if a quote is left open.
    pub fn send(&mut self, client: usize, line: &str) {
        let words = line::split(line).expect("each quote is closed");
        self.clients[client].requests.push_back(words);
        self.run_batches(VecDeque::from([client]));
    }

    /// Returns the bytes that a client was sent and has not read.
    pub fn read(&mut self, client: usize) -> String {
        String::from_utf8_lossy(&std::mem::take(&mut self.clients[client].received)).into_owned()
    }

    /// Sends a request and reads the bytes that are available then.
    ///
    /// # Panics
    /// Panics if a quote is left open.
    pub fn ask(&mut self, client: usize, line: &str) -> String {
        self.send(client, line);
        self.read(client)
    }

    /// Makes a server hang: it runs nothing, and takes no part in the work of the others.
    pub fn hang(&mut self, node: usize) {
        self.hung.entry(node).or_insert(None);
    }

    /// Resumes a server that hangs. It then runs the requests that its clients have sent meanwhile.
    pub fn resume(&mut self, node: usize) {
        if let Some(clock) = self.hung.remove(&node) {
            clock.iter().for_each(|clock| self.engines[node].catch_up(clock, NOW));
            let clients = self.clients.iter().enumerate().filter(|(_, client)| client.node == node);
            self.run_batches(clients.map(|(number, _)| number).collect());
        }
    }

    /// Performs the work that the servers ask of one another.
    fn settle(&mut self) {
        self.run_batches(VecDeque::new());
    }

    fn run_batches(&mut self, mut ready: VecDeque<usize>) {
        loop {
            self.present().for_each(|(_, engine)| engine.begin(NOW));
            if let Some(client) = ready.pop_front() {
                self.run(client, &mut ready);
            }
            if !self.serve(&mut ready) && ready.is_empty() {
                return;
            }
        }
    }

    /// The servers that do not hang, with their indexes.
    fn present(&mut self) -> impl Iterator<Item = (usize, &mut Engine)> {
        let hung = &self.hung;
        self.engines.iter_mut().enumerate().filter(|(node, _)| !hung.contains_key(node))
    }

    /// Runs the requests that a client has sent, until it is blocked.
    fn run(&mut self, number: usize, ready: &mut VecDeque<usize>) {
        if self.hung.contains_key(&self.clients[number].node) {
            return;
        }
        let client = &mut self.clients[number];
        let Some(slot) = client.slot else { return };
        let engine = &mut self.engines[client.node];
        while !engine.sessions().get(slot).is_blocked()
            && engine.sessions().get(slot).closing().is_none()
            && let Some(request) = client.requests.pop_front()
        {
            let argv: Vec<&[u8]> = request.iter().map(Vec::as_slice).collect();
            if engine.execute(slot, &argv) == Progress::Stop {
                ready.push_back(number);
                break;
            }
        }
        self.collect(number);
    }

    /// Delivers the messages that the servers have sent one another. Returns whether there may be more.
    fn serve(&mut self, ready: &mut VecDeque<usize>) -> bool {
        let mut wanted = Wanted::default();
        let hung = &mut self.hung;
        let present = self.engines.iter_mut().enumerate().filter(|(node, _)| !hung.contains_key(node));
        let (places, mut engines): (Vec<usize>, Vec<&mut Engine>) = present.unzip();
        for (node, engine) in places.iter().zip(&mut engines) {
            wanted.drain(&mut self.network, *node, engine);
        }
        self.network.serve(&mut engines, &mut wanted);
        wanted.has_posted = false;
        for (node, engine) in places.iter().zip(&mut engines) {
            wanted.drain(&mut self.network, *node, engine);
        }
        let clock = engines.first().map(|engine| engine.clock().clocks().clone());
        hung.values_mut().for_each(|missed| missed.clone_from(&clock));
        // There is no peer outside the process.
        for (node, id) in &wanted.outside {
            self.engines[*node].outbound_event(*id, OutboundEvent::Closed { reason: "Connection refused" });
        }
        for session in wanted.woken {
            debug_assert!(!self.hung.contains_key(&session.0), "one that hangs wakes nobody");
            if let Some(client) = self.sessions.get(&session).copied() {
                self.collect(client);
                ready.push_back(client);
            }
        }
        wanted.has_posted
    }

    /// Hands the pending bytes of a session to its client, and closes the connection if the session ends.
    fn collect(&mut self, number: usize) {
        let client = &mut self.clients[number];
        let Some(slot) = client.slot else { return };
        let engine = &mut self.engines[client.node];
        let closing = engine.sessions().get(slot).closing();
        if engine.link(slot).holds_output && closing != Some(Closing::Now) {
            return engine.sessions_mut().acknowledge_wake(slot);
        }
        let mut output = Outbox::default();
        engine.take_output(slot, &mut output);
        client.received.extend_from_slice(output.bytes());
        engine.sessions().buffers(slot).set_unwritten(0);
        if closing.is_some() {
            client.slot = None;
            self.sessions.remove(&(client.node, client.id));
            engine.disconnect(slot);
        }
    }
}

/// Creates the server at an index in its initial state.
fn engine(shape: Shape, place: usize, port: u16, seed: u64, node_timeout_ms: i64) -> Engine {
    let mut config = Config::default();
    (config.time, config.enable_debug_command, config.port) = (Time::Manual, Permission::Yes, port);
    config.lock_history = true;
    config.cluster.enabled = matches!(shape, Shape::Cluster(..));
    config.cluster.node_timeout = node_timeout_ms;
    config.cluster.config_file.clear();
    if place >= shape.holders() {
        config = config.into_sentinel();
        config.lock_history = false;
    }
    let mut engine = Engine::new(config, seed ^ (place as u64 + 1).wrapping_mul(0xd134_2543_de82_ef95), NOW);
    engine.set_host(Arc::new(Nowhere));
    engine.begin_as_node().expect("it has no file");
    engine.begin_as_sentinel();
    engine
}
