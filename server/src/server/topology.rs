//! Several servers in this process, on one clock: a master with its replicas, a cluster.

use super::error::StartError;
use super::handle::Handle;
use super::instance::{Builder, Server};
use crate::net::{self, OsClock};
use lockwheel_engine::Engine;
use lockwheel_engine::cluster::ClusterPlan;
use std::time::Duration;

/// Servers to be started together.
#[derive(Clone, Debug)]
pub struct TopologyBuilder {
    /// What all of them are like; the port is that of the first.
    each: Builder,
    shape: Shape,
    lag: Duration,
}

/// What the servers are to one another.
#[derive(Clone, Copy, Debug)]
enum Shape {
    /// The first is the master of so many others.
    Replicas(usize),
    /// So many masters of a cluster, each with so many replicas.
    Cluster(usize, usize),
}

/// Servers that run in this process on one clock. What one sends another arrives before the client that has caused it
/// is answered. Dropping it ends all of them.
#[derive(Debug)]
pub struct Topology {
    servers: Vec<Server>,
}

impl Builder {
    /// A master with so many replicas, all in this process and on one clock. The port is the master's; the replicas
    /// choose free ones.
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
}

impl Builder {
    /// A cluster of so many masters, at least one, each with so many replicas, all in this process and on one clock.
    /// The port is the first master's; the others choose free ones. [`Topology::servers`] has the masters first, then
    /// the first replica of each, and so on. Each knows all of them when this has started, and keeps what it knows in
    /// no file.
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
        TopologyBuilder { each: self, shape: Shape::Cluster(masters.max(1), replicas), lag: Duration::ZERO }
    }
}

impl TopologyBuilder {
    /// A replica is told everything so much later, in whole milliseconds of the clock that all share: what it had not
    /// been told when it is promoted is lost. By default it is told before who has changed something is answered.
    pub fn lag(mut self, lag: Duration) -> Self {
        self.lag = lag;
        self
    }

    /// Starts all of them; they are what they are to one another when this returns.
    ///
    /// # Errors
    /// What keeps one of them from starting; then none runs.
    pub fn start(self) -> Result<Topology, StartError> {
        let clock = OsClock::new();
        let (each, others) = match self.shape {
            Shape::Replicas(replicas) => (self.each, replicas),
            Shape::Cluster(masters, replicas) => (self.each.in_cluster(), masters * (1 + replicas) - 1),
        };
        let mut servers = vec![Server::start(each.clone(), clock)?];
        for at in 1..=others {
            let other = each.clone().beside_another();
            let other = if let Shape::Cluster(..) = self.shape { other.with_own_seed(at) } else { other };
            servers.push(Server::start(other, clock)?);
        }
        let shared: Vec<_> = servers.iter().map(|server| server.handle().shared).collect();
        let ports: Vec<u16> = servers.iter().map(Server::port).collect();
        if let Shape::Cluster(masters, _) = self.shape {
            let plan = ClusterPlan::new(masters, &ports, each.seed_or_random());
            for (at, shared) in shared.iter().enumerate() {
                shared.with_engine(|engine| engine.join_cluster(&plan, at));
            }
        }
        let network = net::Topology::join(&shared, ports);
        let topology = Topology { servers };
        match self.shape {
            Shape::Replicas(_) => topology.replicate(),
            Shape::Cluster(..) => [Engine::contact_nodes, Engine::tell_nodes].into_iter().for_each(|step| {
                shared.iter().for_each(|shared| shared.with_engine(step));
            }),
        }
        network.set_lag(i64::try_from(self.lag.as_millis()).unwrap_or(i64::MAX));
        Ok(topology)
    }
}

impl Topology {
    /// The servers; the first master first.
    pub fn servers(&self) -> &[Server] {
        &self.servers
    }

    /// Ends all of them, as [`Server::stop`] does.
    pub fn stop(self, patience: Duration) {
        self.servers.into_iter().for_each(|server| server.stop(patience));
    }

    /// The clock of all, and the locks of the first.
    pub fn handle(&self) -> Handle {
        self.servers[0].handle()
    }

    /// All servers but the first follow it.
    fn replicate(&self) {
        let port = self.servers[0].port().to_string();
        for replica in &self.servers[1..] {
            let _answered = replica.command(&["REPLICAOF", "127.0.0.1", &port]);
            replica.handle().shared.with_engine(Engine::stays_replica);
        }
    }
}
