//! Several servers in this process on one clock: a master with replicas, sentinels that watch them, or a cluster.

use super::error::StartError;
use super::handle::Handle;
use super::instance::{Builder, Server};
use crate::net::{self, OsClock};
use lockwheel_engine::Engine;
use lockwheel_engine::cluster::{ClusterPlan, PlannedAddress};
use std::time::Duration;

/// The configuration of servers to be started together.
#[derive(Clone, Debug)]
pub struct TopologyBuilder {
    each: Builder,
    shape: Shape,
    lag: Duration,
}

/// The shape of a topology. A cluster has this number of replicas for each master.
#[derive(Clone, Copy, Debug)]
enum Shape {
    Replicas(usize),
    Sentinel { replicas: usize, sentinels: usize },
    Cluster { masters: usize, replicas: usize },
}

impl Shape {
    /// Returns the number of servers, at the front of the list, that begin as masters.
    fn masters(self) -> usize {
        match self {
            Shape::Replicas(_) | Shape::Sentinel { .. } => 1,
            Shape::Cluster { masters, .. } => masters,
        }
    }

    /// Returns the number of servers, at the front of the list, that hold data.
    fn holders(self) -> usize {
        let (Shape::Replicas(replicas) | Shape::Sentinel { replicas, .. } | Shape::Cluster { replicas, .. }) =
            self;
        self.masters() * (1 + replicas)
    }

    /// Returns the number of sentinels, which are at the end of the list.
    fn sentinels(self) -> usize {
        if let Shape::Sentinel { sentinels, .. } = self { sentinels } else { 0 }
    }
}

/// The error if a server has no plain port, which identifies it to the others.
const NO_PLAIN_PORT: &str = "The servers of a topology reach one another without TLS: \
     beside --tls-port, --tls-port-file or --unixsocket they need a --port or a --port-file";

/// The error if the ports run out. Each server of a topology announces the port after that of its predecessor.
const NO_PORT_LEFT: &str = "The servers of a topology have consecutive ports where these are announced: the last would \
     be behind 65535";

/// The name under which sentinels know the master.
const MASTER_NAME: &str = "mymaster";

/// Servers in this process on one clock, ended by dropping this value. A message between them arrives before the client
/// that caused it gets its reply.
#[derive(Debug)]
pub struct Topology {
    servers: Vec<Server>,
    shape: Shape,
}

impl Builder {
    /// Configures a master with the port and `count` replicas with free ones, in this process and on one clock.
    ///
    /// ```
    /// use lockwheel::{Reply, Server};
    ///
    /// let topology = Server::builder().port(0).replicas(2).start()?;
    /// topology.servers()[0].command(&["SET", "k", "v"])?;
    /// for replica in &topology.servers()[1..] {
    ///     assert_eq!(replica.command(&["GET", "k"])?, Reply::Text(b"v".to_vec()));
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn replicas(self, count: usize) -> TopologyBuilder {
        TopologyBuilder { each: self, shape: Shape::Replicas(count), lag: Duration::ZERO }
    }

    /// Configures a master, a replica (or [`TopologyBuilder::replicas`]) and `count` sentinels, in this process and on
    /// one clock. The sentinels watch the servers as `mymaster`, with a majority as the quorum, and know all servers
    /// from the start, without a file. The port is the master's; the others choose free ones.
    ///
    /// ```
    /// use lockwheel::{Reply, Server};
    ///
    /// let topology = Server::builder().port(0).sentinels(3).replicas(2).start()?;
    /// let told = topology.sentinels()[0].command(&["SENTINEL", "CKQUORUM", "mymaster"])?;
    /// assert!(matches!(told, Reply::Text(text) if text.starts_with(b"OK 3 usable Sentinels.")));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sentinels(self, count: usize) -> TopologyBuilder {
        let shape = Shape::Sentinel { replicas: 1, sentinels: count };
        TopologyBuilder { each: self, shape, lag: Duration::ZERO }
    }

    /// Configures a cluster of `masters` masters (at least one), each with `replicas` replicas, in this process and on
    /// one clock. The port is the first master's; the others choose free ones. [`Topology::servers`] lists the masters,
    /// then the first replica of each, and so on. All nodes know each other from the start, without a file.
    ///
    /// ```
    /// use lockwheel::Server;
    ///
    /// let topology = Server::builder().port(0).cluster(3, 1).start()?;
    /// let [first, _, third, ..] = topology.servers() else { unreachable!() };
    /// let moved = first.command(&["GET", "foo"]).unwrap_err();
    /// assert_eq!(moved.to_string(), format!("MOVED 12182 {}", third.addr()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn cluster(self, masters: usize, replicas: usize) -> TopologyBuilder {
        let shape = Shape::Cluster { masters: masters.max(1), replicas };
        TopologyBuilder { each: self, shape, lag: Duration::ZERO }
    }
}

impl TopologyBuilder {
    /// Delays replication, in whole milliseconds of the common clock. Writes that a promoted replica has not received
    /// are lost. By default a write arrives before its client gets the reply.
    pub fn lag(mut self, lag: Duration) -> Self {
        self.lag = lag;
        self
    }

    /// Sets the number of replicas of each master.
    pub fn replicas(mut self, count: usize) -> Self {
        let (Shape::Replicas(replicas) | Shape::Sentinel { replicas, .. } | Shape::Cluster { replicas, .. }) =
            &mut self.shape;
        *replicas = count;
        self
    }

    /// Starts all servers. Replication, monitoring or the cluster is set up when this function returns.
    ///
    /// # Errors
    /// Returns a [`StartError`] if one of the servers cannot be started. No server runs then.
    pub fn start(self) -> Result<Topology, StartError> {
        let shape = self.shape;
        let clock = OsClock::new();
        let each = match shape {
            Shape::Cluster { .. } => self.each.in_cluster(),
            Shape::Replicas(_) | Shape::Sentinel { .. } => self.each,
        };
        let mut servers = Vec::new();
        let count = shape.holders() + shape.sentinels();
        if !each.has_ports_for(shape.holders(), count) {
            return Err(StartError::Topology(NO_PORT_LEFT));
        }
        for place in 0..count {
            let one = each.clone().at_place(place).closed();
            let one = if place < shape.holders() { one } else { one.into_sentinel() };
            let started = Server::start(one, clock)?;
            if started.port() == 0 {
                return Err(StartError::Topology(NO_PLAIN_PORT));
            }
            servers.push(started);
        }
        let shared: Vec<_> = servers.iter().map(|server| server.handle().shared).collect();
        let ports: Vec<u16> = servers.iter().map(Server::port).collect();
        if let Shape::Cluster { masters, .. } = shape {
            let plan =
                ClusterPlan::new(masters, &ports, each.seed_or_random())
                    .at(servers[0].addr().ip())
                    .announcing(shared.iter().map(|shared| {
                        shared.with_engine(|engine| PlannedAddress::announced_by(&engine.config))
                    }));
            for (at, shared) in shared.iter().enumerate() {
                shared.with_engine(|engine| engine.join_cluster(&plan, at));
            }
        }
        let network = net::Topology::join(&shared, ports);
        let topology = Topology { servers, shape };
        match shape {
            Shape::Cluster { .. } => {
                [Engine::contact_nodes, Engine::tell_nodes].into_iter().for_each(|step| {
                    shared.iter().for_each(|shared| shared.with_engine(step));
                })
            }
            Shape::Replicas(_) | Shape::Sentinel { .. } => topology.replicate(),
        }
        topology.watch();
        network.set_lag(i64::try_from(self.lag.as_millis()).unwrap_or(i64::MAX));
        topology.servers.iter().for_each(Server::let_clients_in);
        Ok(topology)
    }
}

impl Topology {
    /// Returns all servers: the masters first, then their replicas, then the sentinels.
    pub fn servers(&self) -> &[Server] {
        &self.servers
    }

    /// Returns the servers that are sentinels.
    pub fn sentinels(&self) -> &[Server] {
        &self.servers[self.shape.holders()..]
    }

    /// Returns each server with its role at the start: `master`, `replica` or `sentinel`.
    pub fn roles(&self) -> impl Iterator<Item = (&'static str, &Server)> {
        let role = |place| match place {
            place if place < self.shape.masters() => "master",
            place if place < self.shape.holders() => "replica",
            _ => "sentinel",
        };
        self.servers.iter().enumerate().map(move |(place, server)| (role(place), server))
    }

    /// Waits until a signal or the process ends one of the servers, or until clients have ended all by SHUTDOWN.
    pub fn wait(&self) {
        for server in &self.servers {
            server.wait();
            if !server.is_shut_down() {
                return;
            }
        }
    }

    /// Ends all servers, as [`Server::stop`] does.
    pub fn stop(self, patience: Duration) {
        self.servers.into_iter().for_each(|server| server.stop(patience));
    }

    /// Returns a handle to the common clock and to the locks of the first server.
    pub fn handle(&self) -> Handle {
        self.servers[0].handle()
    }

    fn replicate(&self) {
        let (host, port) = (self.servers[0].addr().ip().to_string(), self.servers[0].port());
        for replica in &self.servers[1..self.shape.holders()] {
            replica.handle().shared.with_engine(|engine| engine.begin_as_replica_of(&host, port));
        }
    }

    /// Makes the sentinels watch all servers and know each other.
    fn watch(&self) {
        let host = self.servers[0].addr().ip().to_string();
        let place = |(at, server): (usize, &Server)| {
            // Sentinels use the real address of a master, but the announced address of a replica.
            let (ip, port) = match at {
                0 => (String::new(), 0),
                _ => server.handle().shared.with_engine(|engine| {
                    let parameters = &engine.config.replication;
                    (parameters.announce_ip.clone(), parameters.announce_port)
                }),
            };
            let ip = if ip.is_empty() { host.clone() } else { ip };
            (ip, if port == 0 { server.port() } else { port }.to_string())
        };
        let holders: Vec<(String, String)> =
            self.servers[..self.shape.holders()].iter().enumerate().map(place).collect();
        let id = |sentinel: &Server| {
            let id = sentinel
                .handle()
                .shared
                .with_engine(|engine| engine.sentinel().map(|sentinel| sentinel.id().to_owned()));
            (sentinel.port().to_string(), id.unwrap_or_default())
        };
        let ids: Vec<(String, String)> = self.sentinels().iter().map(id).collect();
        let quorum = (ids.len() / 2 + 1).to_string();
        for (own, sentinel) in self.sentinels().iter().enumerate() {
            let mut lines = vec![vec!["monitor", MASTER_NAME, &holders[0].0, &holders[0].1, &quorum]];
            lines.extend(holders[1..].iter().map(|(ip, port)| vec!["known-replica", MASTER_NAME, ip, port]));
            let others = ids.iter().enumerate().filter(|(place, _)| *place != own);
            lines.extend(others.map(|(_, (port, id))| vec!["known-sentinel", MASTER_NAME, &host, port, id]));
            let login =
                sentinel.handle().shared.with_engine(|engine| engine.config.replication.login_lines());
            lines.extend(login.iter().map(|(name, value)| vec![*name, MASTER_NAME, value]));
            let lines: Vec<&[&str]> = lines.iter().map(Vec::as_slice).collect();
            sentinel.handle().shared.with_engine(|engine| engine.watch(&lines));
        }
    }
}
