//! Several servers in this process, on one clock: a master with its replicas.

use super::error::StartError;
use super::handle::Handle;
use super::instance::{Builder, Server};
use crate::net::{self, OsClock};
use lockwheel_engine::Engine;
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
        let Shape::Replicas(replicas) = self.shape;
        let clock = OsClock::new();
        let first = Server::start(self.each.clone(), clock)?;
        let mut servers = vec![first];
        for _ in 0..replicas {
            servers.push(Server::start(self.each.clone().beside_another(), clock)?);
        }
        let shared: Vec<_> = servers.iter().map(|server| server.handle().shared).collect();
        let network = net::Topology::join(&shared, servers.iter().map(Server::port).collect());
        let topology = Topology { servers };
        topology.replicate();
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
