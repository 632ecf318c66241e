//! A cluster of three masters, with or without replicas, whose nodes know each other from their files.

use super::process::{Make, Process, attempts, free_ports, until};
use crate::client::Client;
use std::path::Path;

/// The slots of the masters.
const SLOTS: [&str; 3] = ["0-5460", "5461-10922", "10923-16383"];

/// The number of slots.
const SLOT_COUNT: usize = 16_384;

/// The nodes: the masters first, then the replicas, beginning with those of the first master.
#[derive(Debug)]
pub struct Cluster {
    nodes: Vec<Process>,
}

impl Cluster {
    /// Starts a cluster, with this number of replicas for each master. Returns `None` if the program is missing.
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

    /// Returns the index of the master that owns the slot of a tag.
    pub fn master_of(&self, tag: &str) -> usize {
        let slot = self.client(0).line(&format!("CLUSTER KEYSLOT {tag}")).as_int();
        usize::try_from(slot.expect("a number")).expect("a slot") * SLOTS.len() / SLOT_COUNT
    }

    /// Waits until the replicas have all data of a tag's master.
    pub fn settle(&self, tag: &str) {
        let mut master = self.client(self.master_of(tag));
        assert_eq!(master.line(&format!("SET {{{tag}}}settled 1")).to_string(), "+OK");
        let replicas = self.nodes.len() / SLOTS.len() - 1;
        assert_eq!(master.line(&format!("WAIT {replicas} 0")).to_string(), format!(":{replicas}"));
    }

    /// Stops the replicas of a tag's master, and fills the buffers between the master and them. Later writes reach none
    /// of them. The replicas are not found to be down meanwhile, and may take over however old their data is.
    pub fn fall_behind(&self, tag: &str) {
        for node in &self.nodes {
            set(node, "cluster-node-timeout 60000");
            set(node, "cluster-replica-validity-factor 0");
        }
        let master = self.master_of(tag);
        self.replicas_of(master).for_each(|replica| self.nodes[replica].stand_still());
        self.nodes[master].write_much(tag);
    }

    /// Kills a master and resumes the stopped replicas. Waits until one has taken over and all nodes know it. Returns
    /// the new master's index.
    pub fn replace_master(&mut self, master: usize) -> usize {
        self.nodes[master].kill();
        self.replicas_of(master).for_each(|replica| self.nodes[replica].go_on());
        let others = || self.nodes.iter().enumerate().filter(|(at, _)| *at != master).map(|(_, node)| node);
        others().for_each(|node| set(node, "cluster-node-timeout 2000"));
        let has_its_slots = |line: &str, heir| line.starts_with(&id(heir)) && line.ends_with(SLOTS[master]);
        let names =
            |node: &Process, heir| node.says("CLUSTER NODES").lines().any(|line| has_its_slots(line, heir));
        let mut heir = None;
        until("one of them has taken over, and all know", || {
            heir = self.replicas_of(master).find(|heir| others().all(|node| names(node, *heir)));
            heir.is_some()
        });
        heir.expect("it has been waited for")
    }

    /// The indexes of a master's replicas.
    fn replicas_of(&self, master: usize) -> impl Iterator<Item = usize> + use<> {
        (SLOTS.len() + master..self.nodes.len()).step_by(SLOTS.len())
    }

    /// The name of a node.
    pub fn id(&self, node: usize) -> String {
        id(node)
    }
}

/// Sets a parameter of a node.
fn set(node: &Process, parameter: &str) {
    assert_eq!(node.says(&format!("CONFIG SET {parameter}")), "OK");
}

/// The name of a node.
fn id(node: usize) -> String {
    format!("{:040x}", 0xa0 + node)
}

/// The configuration file that tells a node of all others.
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
