//! One random play: its steps, and the checks after each.

use super::states::{Compared, State, States, TAGS, keys, leased};
use lockwheel_tests::rng::Rng;
use lockwheel_tests::simulated_topology::{Shape, SimulatedTopology};
use std::collections::BTreeSet;

/// Advances of ten seconds until all agree. A sentinel whose failover has failed begins another one after twice
/// `failover-timeout`, which is six minutes, and must then be elected.
const TURNS_TO_HEAL: usize = 60;

/// The record of a play.
pub(super) struct Told {
    /// Every request and its answer, and the history of locks at the end.
    pub(super) history: String,
    /// The number of comparisons of a replica with its master, and the number of those with a lagging replica.
    pub(super) compared: usize,
    pub(super) behind: usize,
    /// The number of waits that confirmed a write at a replica.
    pub(super) waits: usize,
    /// The number of changes of the master.
    pub(super) failovers: usize,
}

/// A client that waits until replicas have its write.
struct Waiting {
    client: usize,
    node: usize,
    token: String,
    tag: &'static str,
    /// The replication id of its server's data.
    id: String,
}

/// A server's report on its replication.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Role {
    is_master: bool,
    id: String,
    offset: i64,
}

pub(super) struct Play {
    shape: Shape,
    seed: u64,
    servers: SimulatedTopology,
    rng: Rng,
    /// A client for each server, while the server accepts clients.
    clients: Vec<Option<usize>>,
    killed: BTreeSet<usize>,
    /// The servers that hang.
    hung: BTreeSet<usize>,
    waiting: Vec<Waiting>,
    states: States,
    masters: BTreeSet<usize>,
    step: usize,
    told: Told,
}

impl Play {
    pub(super) fn new(shape: Shape, seed: u64) -> Self {
        let servers = SimulatedTopology::new(shape, seed);
        let told = Told { history: String::new(), compared: 0, behind: 0, waits: 0, failovers: 0 };
        let mut play = Play {
            shape,
            seed,
            servers,
            rng: Rng::new(seed),
            clients: vec![None; shape.servers()],
            killed: BTreeSet::new(),
            hung: BTreeSet::new(),
            waiting: Vec::new(),
            states: States::default(),
            masters: BTreeSet::new(),
            step: 0,
            told,
        };
        if let Shape::Cluster(..) = shape {
            // A server's data are read whether its cluster is up or not.
            for node in 0..shape.holders() {
                let set = play.ask(node, "CONFIG SET cluster-allow-reads-when-down yes");
                assert_eq!(set.as_deref(), Some("+OK\r\n"));
            }
        }
        play.compare_servers();
        play.told.failovers = 0;
        play
    }

    /// Sends a request to a server. Returns `None` if the server is killed or hangs, or has disconnected its client
    /// instead of answering.
    fn ask(&mut self, node: usize, line: &str) -> Option<String> {
        let client = self.client(node)?;
        let answer = self.servers.ask(client, line);
        self.note(node, line, &answer);
        (!answer.is_empty()).then_some(answer)
    }

    fn note(&mut self, node: usize, line: &str, answer: &str) {
        self.told.history.push_str(&format!("{} {node} {line}: {}\n", self.step, answer.escape_debug()));
    }

    /// The client of a server.
    fn client(&mut self, node: usize) -> Option<usize> {
        if self.killed.contains(&node) || self.hung.contains(&node) {
            return None;
        }
        if let Some(client) = self.clients[node].filter(|client| self.servers.is_connected(*client)) {
            return Some(client);
        }
        let client = self.new_client(node);
        self.clients[node] = Some(client);
        Some(client)
    }

    fn new_client(&mut self, node: usize) -> usize {
        let client = self.servers.connect(node);
        if matches!(self.shape, Shape::Cluster(..)) {
            let answer = self.servers.ask(client, "READONLY");
            assert_eq!(answer, "+OK\r\n", "{node}\n{}", self.last_lines());
        }
        client
    }

    /// A server that was not killed and does not hang: of those that hold data, or of all.
    fn someone(&mut self, count: usize) -> usize {
        loop {
            let node = self.rng.below(count);
            if !self.killed.contains(&node) && !self.hung.contains(&node) {
                return node;
            }
        }
    }

    /// Performs one event, then checks all servers.
    pub(super) fn step(&mut self) {
        self.step += 1;
        match self.rng.below(100) {
            0..55 => self.write(),
            55..65 => self.wait(),
            65..82 => self.pass(),
            82..87 => self.lag(),
            87..91 => self.part(),
            91..93 => self.heal_now(),
            93..95 => self.kill_or_raise(),
            95..97 => self.hang_or_resume(),
            _ => self.fail_over(),
        }
        self.compare_servers();
    }

    fn steer(&mut self, line: &str) {
        let node = self.someone(self.shape.holders());
        let answer = self.ask(node, line);
        assert!(answer.is_none_or(|answer| !answer.starts_with("-ERR unknown")), "{line}");
    }

    fn write(&mut self) {
        let node = self.someone(self.shape.holders());
        let (tag, step) = (*self.rng.pick(&TAGS), self.step);
        let (n, lease_ms) = (self.rng.below(10), self.rng.below(3000) + 1);
        let lines: &[String] = match self.rng.below(9) {
            0 => &[format!("SET {{{tag}}}text {step}")],
            1 => &[format!("HSET {{{tag}}}hash f{n} {step}")],
            2 => &[format!("RPUSH {{{tag}}}list {step}")],
            3 => &[format!("ZADD {{{tag}}}zset {step} m{n}")],
            4 => &[format!("DEL {{{tag}}}text {{{tag}}}list {{{tag}}}other")],
            5 => &[format!("SET {{{tag}}}lease {step} NX PX {lease_ms}")],
            6 => &[format!("LOCK.ACQUIRE {{{tag}}}lock owner{n} PX {lease_ms}")],
            7 => &[
                "MULTI".to_owned(),
                format!("INCR {{{tag}}}number"),
                format!("SET {{{tag}}}other {step} PX {lease_ms}"),
                "EXEC".to_owned(),
            ],
            _ => &[format!(
                "EVAL \"redis.call('incr', KEYS[1]) redis.call('hset', KEYS[2], 'n', ARGV[1])\" 2 \
                 {{{tag}}}number {{{tag}}}hash {step}"
            )],
        };
        for line in lines {
            self.ask(node, line);
        }
    }

    /// A client writes and waits until replicas have the write.
    fn wait(&mut self) {
        let node = self.someone(self.shape.holders());
        let tag = *self.rng.pick(&TAGS);
        let (client, token) = (self.new_client(node), format!("token{}", self.step));
        let line = format!("SADD {{{tag}}}acked {token}");
        let answer = self.servers.ask(client, &line);
        self.note(node, &line, &answer);
        let Some(role) = self.role(node).filter(|role| role.is_master && answer == ":1\r\n") else { return };
        let line = format!("WAIT {} {}", self.rng.below(2) + 1, self.rng.below(500) + 1);
        self.servers.send(client, &line);
        self.note(node, &line, "");
        self.waiting.push(Waiting { client, node, token, tag, id: role.id });
    }

    fn pass(&mut self) {
        let most = match self.shape {
            Shape::Replicas(_) => 1000,
            // Failures are found after thirty and fifteen seconds.
            Shape::Sentinel(..) | Shape::Cluster(..) => *self.rng.pick(&[500, 5000, 40_000]),
        };
        let ms = self.rng.below(most) + 1;
        self.advance(ms);
    }

    /// Advances the clock. While a client waits for replicas, it advances by single milliseconds: the answer of WAIT is
    /// true when it is given, and may no longer be once another replica has taken over.
    fn advance(&mut self, ms: usize) {
        let mut left = ms;
        while left > 0 && !self.waiting.is_empty() {
            self.steer("CLOCK.ADVANCE 1");
            left -= 1;
            let roles: Vec<Option<Role>> = (0..self.shape.holders()).map(|node| self.role(node)).collect();
            self.check_waits(&roles);
        }
        self.steer(&format!("CLOCK.ADVANCE {left}"));
    }

    fn lag(&mut self) {
        let line = match self.rng.below(4) {
            0 => "FAULT.LAG 0".to_owned(),
            1 => "FAULT.LAG".to_owned(),
            _ => format!("FAULT.LAG {}", self.rng.below(400)),
        };
        self.steer(&line);
    }

    fn part(&mut self) {
        let (one, other) = (self.rng.below(self.shape.servers()), self.rng.below(self.shape.servers()));
        let line = match self.rng.below(2) {
            0 => format!("FAULT.PARTITION NODES {one}"),
            _ => format!("FAULT.PARTITION NODES {one} FROM {other}"),
        };
        self.steer(&line);
    }

    /// Heals all faults. The answer comes once no server hangs: by then its client is forgotten.
    fn heal_now(&mut self) {
        let node = self.someone(self.shape.holders());
        let client = self.new_client(node);
        let answer = self.servers.ask(client, "FAULT.HEAL");
        self.note(node, "FAULT.HEAL", &answer);
    }

    fn kill_or_raise(&mut self) {
        let node = self.rng.below(self.shape.servers());
        // One server at a time fails over, and another one is asked.
        match self.killed.first().copied() {
            Some(killed) => self.raise(killed),
            None => {
                let asked = (node + 1) % self.shape.holders();
                if asked != node && self.hung.is_empty() {
                    self.ask(asked, &format!("FAULT.DOWN {node}"));
                    self.killed.insert(node);
                }
            }
        }
    }

    /// Servers hang, one or two at a time, while another one can be asked.
    fn hang_or_resume(&mut self) {
        let node = self.rng.below(self.shape.servers());
        if self.hung.remove(&node) {
            self.servers.resume(node);
            self.note(node, "resumes", "");
            return;
        }
        let is_left = |other: &usize| *other != node && !self.hung.contains(other);
        let left = (0..self.shape.holders()).filter(is_left).count();
        if self.killed.is_empty() && self.hung.len() < 2 && left > 0 {
            self.servers.hang(node);
            self.hung.insert(node);
            self.note(node, "hangs", "");
        }
    }

    fn raise(&mut self, node: usize) {
        self.steer(&format!("FAULT.UP {node}"));
        self.killed.remove(&node);
    }

    fn fail_over(&mut self) {
        let node = self.someone(self.shape.holders());
        match (self.shape, self.rng.below(3)) {
            (Shape::Cluster(..), 0) => _ = self.ask(node, "CLUSTER FAILOVER"),
            (Shape::Cluster(..), 1) => _ = self.ask(node, "CLUSTER FAILOVER FORCE"),
            (Shape::Sentinel(..), 0) => _ = self.ask(self.shape.holders(), "SENTINEL FAILOVER mymaster"),
            _ => self.steer(&format!("FAULT.FAILOVER {node}")),
        }
    }

    /// Compares all servers, and checks the answers to waiting clients.
    fn compare_servers(&mut self) {
        let Some(now_ms) = self.now_ms() else { return };
        let roles: Vec<Option<Role>> = (0..self.shape.holders()).map(|node| self.role(node)).collect();
        for (node, role) in roles.iter().enumerate() {
            if let Some(role) = role.as_ref().filter(|role| role.is_master) {
                let state = self.state(node);
                self.states.note(&role.id, role.offset, state, now_ms);
                self.told.failovers += usize::from(self.masters.insert(node));
            } else {
                self.masters.remove(&node);
            }
        }
        for (node, role) in roles.iter().enumerate() {
            if let Some(role) = role.as_ref().filter(|role| !role.is_master) {
                let state = self.state(node);
                match self.states.compare(&role.id, role.offset, &state, now_ms) {
                    Compared::Same => self.told.compared += 1,
                    Compared::Behind => self.told.behind += 1,
                    Compared::Unknown => {}
                }
            }
        }
        self.check_waits(&roles);
    }

    /// Checks that the answers of WAIT are true.
    fn check_waits(&mut self, roles: &[Option<Role>]) {
        for waiting in std::mem::take(&mut self.waiting) {
            let answer = self.servers.read(waiting.client);
            if answer.is_empty() && self.servers.is_connected(waiting.client) {
                self.waiting.push(waiting);
                continue;
            }
            self.note(waiting.node, "waited", &answer);
            let count = answer.strip_prefix(':').and_then(|text| text.trim_end().parse::<usize>().ok());
            let is_still =
                roles[waiting.node].as_ref().is_some_and(|role| role.is_master && role.id == waiting.id);
            let Some(count) = count.filter(|count| *count > 0 && is_still) else { continue };
            let line = format!("SISMEMBER {{{}}}acked {}", waiting.tag, waiting.token);
            let others: Vec<usize> = (0..self.shape.holders()).filter(|node| *node != waiting.node).collect();
            // A server that hangs now has acknowledged its data before that.
            let mut has =
                |node: usize| self.hung.contains(&node) || self.ask(node, &line).as_deref() == Some(":1\r\n");
            let have = others.into_iter().filter(|node| has(*node)).count();
            assert!(have >= count, "WAIT said {count}, {have} have it:\n{}", self.last_lines());
            self.told.waits += 1;
        }
    }

    fn now_ms(&mut self) -> Option<i64> {
        let node = self.someone(self.shape.holders());
        let answer = self.ask(node, "TIME")?;
        let mut numbers = answer.split("\r\n").filter_map(|line| line.parse::<i64>().ok());
        Some(numbers.next()? * 1000 + numbers.next()? / 1000)
    }

    /// A server's report on itself. `None` if it is killed.
    fn role(&mut self, node: usize) -> Option<Role> {
        let client = self.client(node)?;
        let text = self.servers.ask(client, "INFO replication");
        let field =
            |name: &str| text.split("\r\n").find_map(|line| line.strip_prefix(name)).map(str::to_owned);
        Some(Role {
            is_master: field("role:")? == "master",
            id: field("master_replid:")?,
            offset: field("master_repl_offset:")?.parse().ok()?,
        })
    }

    /// A server's data.
    fn state(&mut self, node: usize) -> State {
        let keys = keys();
        let client = self.client(node).expect("it lets clients in");
        let answer = self.servers.ask(client, &format!("DEBUG DIGEST-VALUE {}", keys.join(" ")));
        let digests: Vec<String> =
            answer.split("\r\n").filter_map(|line| line.strip_prefix('+')).map(str::to_owned).collect();
        assert_eq!(digests.len(), keys.len(), "{answer}");
        let deadline = |key: &String| {
            let answer = self.servers.ask(client, &format!("PEXPIRETIME {key}"));
            answer.strip_prefix(':').and_then(|text| text.trim_end().parse().ok()).unwrap_or(0)
        };
        let deadlines = keys[..leased()].iter().map(deadline).collect();
        State { digests, deadlines }
    }

    /// Ends all faults; then all servers must agree.
    pub(super) fn heal(&mut self) {
        for hung in std::mem::take(&mut self.hung) {
            self.servers.resume(hung);
        }
        if let Some(killed) = self.killed.first().copied() {
            self.raise(killed);
        }
        self.steer("FAULT.HEAL");
        self.steer("FAULT.LAG 0");
        for _ in 0..TURNS_TO_HEAL {
            self.step += 1;
            self.steer("CLOCK.ADVANCE 10000");
            self.compare_servers();
        }
        let roles: Vec<Role> = (0..self.shape.holders()).filter_map(|node| self.role(node)).collect();
        let masters: Vec<&Role> = roles.iter().filter(|role| role.is_master).collect();
        let expected = if let Shape::Cluster(masters, _) = self.shape { masters } else { 1 };
        assert_eq!(masters.len(), expected, "{roles:?}\n{}", self.last_lines());
        for (node, role) in roles.iter().enumerate() {
            let master = roles.iter().position(|other| other.is_master && other.id == role.id);
            let master =
                master.unwrap_or_else(|| panic!("{node} follows nobody: {roles:?}\n{}", self.last_lines()));
            assert_eq!(role.offset, roles[master].offset, "{roles:?}");
            let [own, its] = [node, master].map(|node| self.state(node).digests);
            assert_eq!(own, its, "{node} {master}\n{}", self.last_lines());
        }
    }

    /// The seed, the events of the servers, and the end of the history.
    fn last_lines(&self) -> String {
        let lines: Vec<&str> = self.told.history.lines().collect();
        let faults: Vec<&str> = lines
            .iter()
            .filter(|line| line.contains("FA") || line.contains(" hangs") || line.contains(" resumes"))
            .copied()
            .collect();
        let seed = format!("seed {}", self.seed);
        [seed, faults.join("\n"), lines[lines.len().saturating_sub(40)..].join("\n")].join("\n\n")
    }

    /// Returns the record of the play.
    pub(super) fn into_record(mut self) -> Told {
        for node in 0..self.shape.holders() {
            for line in ["LOCK.HISTORY FORMAT JSON", "INFO replication", "DEBUG DIGEST"] {
                self.ask(node, line);
            }
            if matches!(self.shape, Shape::Cluster(..)) {
                self.ask(node, "CLUSTER NODES");
            }
        }
        self.told
    }
}
