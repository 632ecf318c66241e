//! A random walk over faults, resets and turns of the clock, of a cluster in one process. However it went: once the
//! faults have ended and time has passed, the cluster is whole.

use lockwheel_tests::rng::Rng;
use lockwheel_tests::simulated_topology::{Shape, SimulatedTopology};
use std::collections::{BTreeMap, BTreeSet};

/// Masters of the cluster, and replicas of each.
const MASTERS: usize = 3;
const REPLICAS: usize = 1;
/// Slots of a cluster.
const SLOTS: usize = 16_384;
/// After how long a silence a node may have failed, in milliseconds: short, so that few ticks pass.
const NODE_TIMEOUT_MS: i64 = 1000;
/// Turns of a second until the cluster must be whole: failovers begin anew after four times that silence.
const TURNS_TO_HEAL: usize = 30;

pub(super) struct Walk {
    seed: u64,
    servers: SimulatedTopology,
    rng: Rng,
    clients: Vec<Option<usize>>,
    /// All requests and their answers.
    history: Vec<String>,
    pub(super) resets: usize,
    pub(super) failovers: usize,
}

impl Walk {
    pub(super) fn new(seed: u64) -> Self {
        let shape = Shape::Cluster(MASTERS, REPLICAS);
        let (servers, rng) =
            (SimulatedTopology::with_node_timeout(shape, seed, NODE_TIMEOUT_MS), Rng::new(seed));
        let clients = vec![None; shape.servers()];
        Walk { seed, servers, rng, clients, history: Vec::new(), resets: 0, failovers: 0 }
    }

    fn count(&self) -> usize {
        self.clients.len()
    }

    /// Asks a server. Empty: it is down, or has cut off the client.
    pub(super) fn ask(&mut self, node: usize, line: &str) -> String {
        let known = self.clients[node].filter(|client| self.servers.is_connected(*client));
        let client = known.unwrap_or_else(|| self.servers.connect(node));
        self.clients[node] = Some(client);
        let answer = self.servers.ask(client, line);
        let shown: String = answer.chars().take(100).collect();
        self.history.push(format!("{node} {line}: {}", shown.escape_debug()));
        answer
    }

    pub(super) fn step(&mut self) {
        let (count, node) = (self.count(), self.rng.below(self.count()));
        let (other, third) = (self.rng.below(count), self.rng.below(count));
        match self.rng.below(100) {
            0..30 => {
                let most = *self.rng.pick(&[10, 100, 1000, 5000]);
                let ms = self.rng.below(most) + 1;
                self.ask(node, &format!("CLOCK.ADVANCE {ms}"));
            }
            30..42 => _ = self.ask(node, &format!("FAULT.PARTITION NODES {other}")),
            42..50 => _ = self.ask(node, &format!("FAULT.PARTITION NODES {other} FROM {third}")),
            50..62 => {
                let answer = self.ask(node, &format!("FAULT.FAILOVER {other}"));
                self.failovers += usize::from(answer == "+OK\r\n");
            }
            62..66 => _ = self.ask(node, "FAULT.HEAL"),
            66..70 => _ = self.ask(node, &format!("FAULT.DOWN {other} {}", third * 500 + 1)),
            70..73 => _ = self.ask(node, &format!("FAULT.UP {other}")),
            73..77 => {
                let ms = *self.rng.pick(&[0, 5, 700]);
                self.ask(node, &format!("FAULT.LAG {ms}"));
            }
            77..81 => {
                let word = *self.rng.pick(&["", " FORCE", " TAKEOVER"]);
                self.ask(node, &format!("CLUSTER FAILOVER{word}"));
            }
            81..86 => _ = self.ask(node, &format!("SET key{third} {other}")),
            _ => {
                let answer = self.ask(node, "CONTROL.RESET");
                self.resets += usize::from(answer == "+OK\r\n");
            }
        }
    }

    /// All faults end, and time passes, until the cluster is whole.
    ///
    /// # Panics
    /// If it does not become so.
    pub(super) fn heal(&mut self) {
        for node in 0..self.count() {
            self.ask(node, "FAULT.HEAL");
            for other in 0..self.count() {
                self.ask(node, &format!("FAULT.UP {other}"));
            }
            self.ask(node, "FAULT.LAG 0");
        }
        for turn in 0..TURNS_TO_HEAL {
            self.ask(0, "CLOCK.ADVANCE 1000");
            // A state that is found at once may not last.
            if turn > 3 && self.problem().is_none() {
                return;
            }
        }
        if let Some(problem) = self.problem() {
            panic!("{problem}\nseed {}\n{}", self.seed, self.history.join("\n"));
        }
    }

    /// The reason why the cluster is not whole. In a whole one all nodes agree on the owners of slots, each slot has an
    /// owner, and each replica follows a master.
    fn problem(&mut self) -> Option<String> {
        let mut views = BTreeSet::new();
        for node in 0..self.count() {
            let info = self.ask(node, "CLUSTER INFO");
            if !info.contains("cluster_state:ok") {
                return Some(format!("{node}: {info}"));
            }
            let info = self.ask(node, "INFO replication");
            if !info.contains("role:master") && !info.contains("master_link_status:up") {
                return Some(format!("{node}: {info}"));
            }
            views.insert(self.view(node));
        }
        if views.len() != 1 {
            return Some(format!("nodes do not agree: {views:#?}"));
        }
        let view = views.pop_first()?;
        let slots: usize = view.values().map(|(_, slots)| slots).sum();
        let masters = view.iter().filter(|(_, (master, _))| master.is_empty());
        let masters: BTreeSet<&String> = masters.map(|(id, _)| id).collect();
        let follows = |master: &String| master.is_empty() || masters.contains(master);
        let is_whole =
            slots == SLOTS && masters.len() == MASTERS && view.values().all(|(master, _)| follows(master));
        (!is_whole).then(|| format!("not whole: {view:#?}"))
    }

    /// By name of each node its master, if it is a replica, and how many slots it has.
    fn view(&mut self, node: usize) -> BTreeMap<String, (String, usize)> {
        let answer = self.ask(node, "CLUSTER NODES");
        let lines = answer.lines().filter(|line| line.contains("connected"));
        lines
            .map(|line| {
                let words: Vec<&str> = line.split(' ').collect();
                let master = if words[2].contains("slave") { words[3] } else { "" };
                let slots = words[8..].iter().map(|range| match range.split_once('-') {
                    Some((first, last)) => {
                        let number =
                            |text: &str| text.parse::<usize>().expect("a range of slots has two numbers");
                        number(last) - number(first) + 1
                    }
                    None => 1,
                });
                (words[0].to_owned(), (master.to_owned(), slots.sum()))
            })
            .collect()
    }
}
