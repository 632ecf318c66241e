//! A random walk over faults, resets and advances of the clock, of servers in one process. However it went, the servers
//! are whole once the faults have ended and time has passed.

use lockwheel_tests::rng::Rng;
use lockwheel_tests::simulated_topology::{Shape, SimulatedTopology};
use std::collections::{BTreeMap, BTreeSet};

/// The slots of a cluster.
const SLOTS: usize = 16_384;
/// The silence after which a server may count as failed, in milliseconds: short, so that few ticks pass.
const SILENCE_MS: i64 = 1000;
/// The time after which a sentinel gives up a failover, in milliseconds.
const FAILOVER_MS: i64 = 4000;
/// Advances of a second until the servers must be whole. Failovers begin anew after four times that silence. A link
/// between servers that has become a black hole is cut after `repl-timeout`, a minute.
const TURNS_TO_HEAL: usize = 100;
/// The number of rules at a time.
const RULES: usize = 4;
/// Commands of clients and of other servers that rules name.
const COMMANDS: [&str; 8] = ["ping", "psync", "replconf", "info", "publish", "set", "cluster", "subscribe"];

pub(super) struct Walk {
    seed: u64,
    shape: Shape,
    servers: SimulatedTopology,
    rng: Rng,
    clients: Vec<Option<usize>>,
    /// All requests and their answers.
    history: Vec<String>,
    /// The nodes of a cluster that may have taken over from their masters without being elected.
    took_over: BTreeSet<usize>,
    pub(super) resets: usize,
    pub(super) failovers: usize,
    /// The number of times rules have acted.
    pub(super) hits: usize,
}

impl Walk {
    pub(super) fn new(shape: Shape, seed: u64) -> Self {
        let (servers, rng) = (SimulatedTopology::with_node_timeout(shape, seed, SILENCE_MS), Rng::new(seed));
        let clients = vec![None; shape.servers()];
        let history = Vec::new();
        let (took_over, resets, failovers, hits) = (BTreeSet::new(), 0, 0, 0);
        let mut walk =
            Walk { seed, shape, servers, rng, clients, history, took_over, resets, failovers, hits };
        for sentinel in walk.sentinels() {
            for (name, ms) in [("down-after-milliseconds", SILENCE_MS), ("failover-timeout", FAILOVER_MS)] {
                let set = walk.ask(sentinel, &format!("SENTINEL SET mymaster {name} {ms}"));
                assert_eq!(set, "+OK\r\n");
            }
        }
        walk
    }

    fn sentinels(&self) -> std::ops::Range<usize> {
        self.shape.holders()..self.shape.servers()
    }

    /// Sends a request to a server. The answer is empty if the server is down, has disconnected the client, or a rule
    /// is in the way.
    pub(super) fn ask(&mut self, node: usize, line: &str) -> String {
        let known = self.clients[node].filter(|client| self.servers.is_connected(*client));
        let client = known.unwrap_or_else(|| self.servers.connect(node));
        let answer = self.servers.ask(client, line);
        // Requests behind one that waits are not processed.
        self.clients[node] = Some(client).filter(|_| !answer.is_empty());
        let shown: String = answer.chars().take(100).collect();
        self.history.push(format!("{node} {line}: {}", shown.escape_debug()));
        answer
    }

    pub(super) fn step(&mut self) {
        let (all, holders) = (self.shape.servers(), self.shape.holders());
        let (node, ruled) = (self.rng.below(holders), self.rng.below(holders));
        let (other, third) = (self.rng.below(all), self.rng.below(all));
        match self.rng.below(120) {
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
            77..81 => self.ask_to_fail_over(node),
            81..86 => _ = self.ask(node, &format!("SET key{third} {other}")),
            86..104 => self.add_rule(ruled),
            104..107 => _ = self.ask(ruled, &format!("FAULT.GO r{}", third % RULES)),
            107..110 => _ = self.ask(ruled, "FAULT.CLEAR"),
            _ => {
                let answer = self.ask(node, "CONTROL.RESET");
                self.resets += usize::from(answer == "+OK\r\n");
            }
        }
    }

    fn ask_to_fail_over(&mut self, node: usize) {
        if let Shape::Sentinel(..) = self.shape {
            let sentinels = self.sentinels();
            let sentinel = sentinels.start + self.rng.below(sentinels.len());
            self.ask(sentinel, "SENTINEL FAILOVER mymaster");
        } else {
            let word = *self.rng.pick(&["", " FORCE", " TAKEOVER"]);
            let answer = self.ask(node, &format!("CLUSTER FAILOVER{word}"));
            // Without an answer, the request may be executed later: a rule delays it.
            if word == " TAKEOVER" && !answer.starts_with('-') {
                self.took_over.insert(node);
            }
        }
    }

    /// A rule on requests of clients and other servers to a server.
    fn add_rule(&mut self, node: usize) {
        let name = self.rng.below(RULES);
        let command = match self.rng.below(3) {
            0 => String::new(),
            _ => format!(" ON {}", self.rng.pick(&COMMANDS)),
        };
        let limits = *self.rng.pick(&["", " TIMES 1", " TIMES 5", " PROB 0.5", " SKIP 2"]);
        let ms = *self.rng.pick(&[1, 50, 900, 4000]);
        let action = match self.rng.below(9) {
            0 | 1 => format!("DELAY {ms}"),
            2 => format!("DELAYREPLY {ms}"),
            3 => "HOLD".to_owned(),
            4 => "HOLDREPLY".to_owned(),
            5 => "DROPREQUEST".to_owned(),
            6 => format!("DROPREPLY CLOSEAFTER {ms}"),
            7 => "CLOSE".to_owned(),
            _ => "ERROR \"ERR a rule says so\"".to_owned(),
        };
        self.ask(node, &format!("FAULT.DEL r{name}"));
        self.ask(node, &format!("FAULT.ADD r{name}{command}{limits} DO {action}"));
    }

    /// The number of times the rules of a server have acted.
    fn hits_at(&mut self, node: usize) -> usize {
        let told = self.ask(node, "FAULT.LIST");
        let lines: Vec<&str> = told.lines().collect();
        let hits =
            lines.windows(2).filter(|pair| pair[0] == "hits").filter_map(|pair| pair[1].strip_prefix(':'));
        hits.filter_map(|number| number.parse::<usize>().ok()).sum()
    }

    /// Ends all faults, and lets time pass until the servers are whole.
    ///
    /// # Panics
    /// Panics if they do not become whole.
    pub(super) fn heal(&mut self) {
        for node in 0..self.shape.holders() {
            self.ask(node, "FAULT.HEAL");
            for other in 0..self.shape.servers() {
                self.ask(node, &format!("FAULT.UP {other}"));
            }
            self.ask(node, "FAULT.LAG 0");
        }
        for node in 0..self.shape.holders() {
            self.hits += self.hits_at(node);
            self.ask(node, "FAULT.CLEAR");
        }
        let mut problem = self.pass_until_whole();
        if problem.is_some() && self.sentinels_share_an_epoch() {
            // A sentinel that knows no replica which it could promote refuses.
            self.sentinels().find(|&sentinel| self.ask(sentinel, "SENTINEL FAILOVER mymaster") == "+OK\r\n");
            problem = self.pass_until_whole();
        }
        if let Some(problem) = problem {
            panic!("{problem}\n{:?}, seed {}\n{}", self.shape, self.seed, self.history.join("\n"));
        }
    }

    /// Lets time pass until the servers are whole. Returns the reason if they do not become so.
    fn pass_until_whole(&mut self) -> Option<String> {
        for turn in 0..TURNS_TO_HEAL {
            self.ask(0, "CLOCK.ADVANCE 1000");
            // A state that is reached at once may not last.
            if turn > 3 && self.problem().is_none() {
                return None;
            }
        }
        self.problem()
    }

    /// Whether two sentinels name different masters in one epoch, so that neither follows the other.
    ///
    /// A requested failover takes the sentinel's next epoch without votes. Two sentinels that are isolated from each
    /// other may take the same epoch, as in Redis. Another failover has a later epoch.
    fn sentinels_share_an_epoch(&mut self) -> bool {
        let mut masters: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for sentinel in self.sentinels() {
            let told = self.ask(sentinel, "SENTINEL MASTER mymaster");
            let words: Vec<&str> = told.lines().collect();
            let field = |name| {
                let at = words.iter().position(|word| *word == name)?;
                words.get(at + 2).map(|value| (*value).to_owned())
            };
            if let (Some(epoch), Some(port)) = (field("config-epoch"), field("port")) {
                masters.entry(epoch).or_default().insert(port);
            }
        }
        masters.values().any(|ports| ports.len() > 1)
    }

    /// The reason why the servers are not whole.
    fn problem(&mut self) -> Option<String> {
        match self.shape {
            Shape::Cluster(masters, _) => self.problem_of_cluster(masters),
            _ => self.problem_of_watched(),
        }
    }

    /// In whole servers, all sentinels name one master, which is the only one, and all others replicate it.
    fn problem_of_watched(&mut self) -> Option<String> {
        let named = |walk: &mut Self, node| walk.ask(node, "SENTINEL GET-MASTER-ADDR-BY-NAME mymaster");
        let names: BTreeSet<String> = self.sentinels().map(|node| named(self, node)).collect();
        if names.len() != 1 {
            return Some(format!("sentinels do not agree: {names:?}"));
        }
        let name = names.first()?;
        let port = name.lines().nth(4).unwrap_or_default();
        let mut masters = 0;
        for node in 0..self.shape.holders() {
            let info = self.ask(node, "INFO replication");
            let is_right = match info.contains("role:master") {
                true => self.servers.port(node).to_string() == port,
                false => {
                    info.contains(&format!("master_port:{port}\r\n"))
                        && info.contains("master_link_status:up")
                }
            };
            masters += usize::from(info.contains("role:master"));
            if !is_right {
                return Some(format!("{node}, where sentinels name {port}: {info}"));
            }
        }
        (masters != 1).then(|| format!("{masters} masters"))
    }

    /// In a whole cluster, all nodes agree on the owners of slots, each slot has an owner, and each replica follows a
    /// master. A node may have taken over from a master whose slots already had another owner. It is then a master
    /// without slots, as in Redis.
    fn problem_of_cluster(&mut self, masters_wanted: usize) -> Option<String> {
        let mut views = BTreeSet::new();
        for node in 0..self.shape.servers() {
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
        let has_slots = |id: &&&String| view.get(**id).is_some_and(|(_, slots)| *slots > 0);
        let owners = masters.iter().filter(has_slots).count();
        let follows = |master: &String| master.is_empty() || masters.contains(master);
        let is_whole = slots == SLOTS
            && owners == masters_wanted
            && masters.len() <= owners + self.took_over.len()
            && view.values().all(|(master, _)| follows(master));
        (!is_whole).then(|| format!("not whole: {view:#?}"))
    }

    /// For each node, by name: its master, if it is a replica, and its number of slots.
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
