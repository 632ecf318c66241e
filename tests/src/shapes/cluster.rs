//! A cluster of three masters, with replicas or without, which know of each other from their files.

use super::process::{Make, Process, attempts, free_ports, until};
use crate::client::Client;
use std::path::Path;

/// The slots of the masters.
const SLOTS: [&str; 3] = ["0-5460", "5461-10922", "10923-16383"];

/// Its nodes: the masters first, then the replicas, the first master's first.
#[derive(Debug)]
pub struct Cluster {
    nodes: Vec<Process>,
}

impl Cluster {
    /// Starts it, each master with so many replicas; `None` without the program.
    pub fn start(make: Make, replicas: usize) -> Option<Cluster> {
        let program = make.program()?;
        let cluster = attempts(|| Self::try_start(&program, replicas));
        until("it serves requests", || {
            cluster.nodes.iter().all(|node| node.says("CLUSTER INFO").contains("cluster_state:ok"))
        });
        until("the replicas have what the masters have", || {
            let mut replicas = cluster.nodes[SLOTS.len()..].iter();
            replicas.all(|node| node.says("INFO replication").contains("master_link_status:up"))
        });
        Some(cluster)
    }

    fn try_start(program: &Path, replicas: usize) -> Option<Cluster> {
        let ports = free_ports(SLOTS.len() * (1 + replicas));
        let start = |me: usize| {
            let more = ["--cluster-enabled", "yes", "--cluster-node-timeout", "2000"];
            let arguments = Process::arguments(ports[me], &more);
            Process::start(program, ports[me], arguments, Some(("nodes.conf", &file(&ports, me))))
        };
        let nodes = (0..ports.len()).map(start).collect::<Option<Vec<_>>>()?;
        Some(Cluster { nodes })
    }

    /// Its nodes.
    pub fn nodes(&self) -> &[Process] {
        &self.nodes
    }

    /// One of its nodes.
    pub fn node(&mut self, at: usize) -> &mut Process {
        &mut self.nodes[at]
    }

    /// The ports of its nodes.
    pub fn ports(&self) -> Vec<u16> {
        self.nodes.iter().map(Process::port).collect()
    }

    /// A connection to a node.
    #[track_caller]
    pub fn client(&self, node: usize) -> Client {
        self.nodes[node].client()
    }

    /// The name of a node.
    pub fn id(&self, node: usize) -> String {
        id(node)
    }
}

/// The name of a node.
fn id(node: usize) -> String {
    format!("{:040x}", 0xa0 + node)
}

/// The file that tells a node of all.
fn file(ports: &[u16], me: usize) -> String {
    let line = |at: usize| {
        let (port, myself) = (ports[at], if at == me { "myself," } else { "" });
        let (pong, master) = (u8::from(at != me), at % SLOTS.len());
        let part = match SLOTS.get(at) {
            Some(slots) => format!("master - 0 {pong} {} connected {slots}", at + 1),
            None => format!("slave {} 0 {pong} {} connected", id(master), master + 1),
        };
        format!("{} 127.0.0.1:{port}@{} {myself}{part}\n", id(at), port + 10_000)
    };
    let lines: String = (0..ports.len()).map(line).collect();
    lines + "vars currentEpoch 3 lastVoteEpoch 0\n"
}
