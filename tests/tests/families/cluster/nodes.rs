//! Three nodes of redis-server that redis-cli has joined to a cluster, and three of ours with the same names and slots.

use lockwheel::{Config, Server};
use lockwheel_tests::client::{Client, Protocol, split};
use lockwheel_tests::ours;
use lockwheel_tests::redis_server::{Kind, RealServer, find_in_path, free_port, skip};
use lockwheel_tests::reply::Reply;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// The slots of the nodes.
pub(crate) const SLOTS: [&str; 3] = ["0-5460", "5461-10922", "10923-16383"];

/// Our nodes, which know each other from their files.
pub(crate) struct OurCluster {
    pub(crate) servers: Vec<Server>,
    pub(crate) directories: Vec<PathBuf>,
}

/// A directory for a node.
pub(crate) fn fresh_directory() -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("lockwheel-node-{}-{number}", std::process::id()));
    std::fs::create_dir_all(&path).expect("it can be made");
    path
}

/// A free port for clients that leaves room for the port for nodes, 10000 above.
fn port() -> u16 {
    std::iter::repeat_with(free_port).find(|port| *port < 55_000).expect("one is low enough")
}

/// The parameters of a node of ours.
pub(crate) fn node_config(port: u16, directory: &std::path::Path) -> Config {
    let mut config = Config::default();
    config.port = port;
    config.cluster.enabled = true;
    config.dir = directory.to_string_lossy().into_owned();
    config
}

/// A node of ours with this file. `None` if another process has taken its port.
pub(crate) fn start_node(config: Config, file: &str) -> Option<Server> {
    if !file.is_empty() {
        let path = PathBuf::from(&config.dir).join("nodes.conf");
        std::fs::write(path, file).expect("it can be written");
    }
    Server::builder().config(config).seed(ours::SEED).start().ok()
}

impl OurCluster {
    /// Three nodes with these names.
    pub(crate) fn start(ids: &[String]) -> OurCluster {
        std::iter::repeat_with(|| Self::try_start(ids))
            .take(20)
            .flatten()
            .next()
            .expect("there are free ports")
    }

    fn try_start(ids: &[String]) -> Option<OurCluster> {
        let ports: Vec<u16> = ids.iter().map(|_| port()).collect();
        let mut cluster = OurCluster { servers: Vec::new(), directories: Vec::new() };
        for me in 0..ids.len() {
            let directory = fresh_directory();
            let config = node_config(ports[me], &directory);
            cluster.directories.push(directory);
            cluster.servers.push(start_node(config, &file(ids, &ports, me))?);
        }
        cluster.addresses().into_iter().for_each(|address| until_connected(&mut Client::connect(address)));
        Some(cluster)
    }

    pub(crate) fn addresses(&self) -> Vec<SocketAddr> {
        self.servers.iter().map(Server::addr).collect()
    }
}

impl Drop for OurCluster {
    fn drop(&mut self) {
        for directory in &self.directories {
            let _ = std::fs::remove_dir_all(directory);
        }
    }
}

/// The file of a node of a cluster of masters.
pub(crate) fn file(ids: &[String], ports: &[u16], me: usize) -> String {
    let line = |at: usize| {
        let (id, port, myself) = (&ids[at], ports[at], if at == me { "myself," } else { "" });
        let pong = u8::from(at != me);
        format!(
            "{id} 127.0.0.1:{port}@{} {myself}master - 0 {pong} {} connected {}\n",
            port + 10_000,
            at + 1,
            SLOTS[at]
        )
    };
    let lines: String = (0..ids.len()).map(line).collect();
    lines + "vars currentEpoch 3 lastVoteEpoch 0\n"
}

/// Names for three nodes.
pub(crate) fn names() -> Vec<String> {
    ["a", "b", "c"].map(|letter| letter.repeat(40)).to_vec()
}

/// Both clusters, and connections to each node of them.
pub(crate) struct Both {
    pub(crate) real: Vec<RealServer>,
    pub(crate) ours: OurCluster,
    pub(crate) ids: Vec<String>,
    protocol: Protocol,
    clients: Vec<[Client; 2]>,
}

impl Both {
    /// Starts both clusters. Returns `None` without redis-server and redis-cli.
    pub(crate) fn start(protocol: Protocol) -> Option<Both> {
        if find_in_path("redis-cli").is_none() {
            skip(&["redis-cli"], "redis-cli is not installed");
            return None;
        }
        let start = || {
            let bus = free_port().to_string();
            let options =
                ["--cluster-enabled", "yes", "--cluster-port", &bus, "--cluster-node-timeout", "60000"];
            RealServer::start(Kind::Redis, &options)
        };
        let real: Vec<RealServer> = (0..3).map(|_| start()).collect::<Option<_>>()?;
        let nodes = real.iter().map(|server| format!("127.0.0.1:{}", server.port()));
        let create = Command::new("redis-cli")
            .args(["--cluster", "create", "--cluster-yes"])
            .args(nodes)
            .output()
            .expect("redis-cli starts");
        assert!(create.status.success(), "{}", String::from_utf8_lossy(&create.stdout));
        for server in &real {
            until_ok(&mut Client::connect(server.addr()));
        }
        let id = |server: &RealServer| match Client::connect(server.addr()).line("CLUSTER MYID") {
            Reply::Bulk(id) => String::from_utf8(id).expect("it is text"),
            other => panic!("{other:?}"),
        };
        let ids: Vec<String> = real.iter().map(id).collect();
        let ours = OurCluster::start(&ids);
        let addresses = real.iter().map(RealServer::addr).zip(ours.addresses());
        let connect = |address| Client::connect_with(address, protocol);
        let clients = addresses.map(|(real, ours)| [connect(real), connect(ours)]).collect();
        Some(Both { real, ours, ids, protocol, clients })
    }

    /// Opens one more pair of connections to a node.
    pub(crate) fn connect(&self, node: usize) -> [Client; 2] {
        let addresses = [self.real[node].addr(), self.ours.addresses()[node]];
        addresses.map(|address| Client::connect_with(address, self.protocol))
    }

    /// Sends a line to a node of both. Returns the real one's answer, with neutral ports.
    #[track_caller]
    pub(crate) fn same(&mut self, node: usize, line: &str) -> String {
        self.same_words(node, &split(line))
    }

    #[track_caller]
    pub(crate) fn same_words(&mut self, node: usize, words: &[Vec<u8>]) -> String {
        let [real, ours] = self.answers(node, words).map(|reply| format!("{reply:?}"));
        assert_eq!(real, ours, "{}", lockwheel_tests::pair::typed(words));
        real
    }

    /// Returns the answers of both, with neutral ports.
    pub(crate) fn answers(&mut self, node: usize, words: &[Vec<u8>]) -> [String; 2] {
        let replies = self.clients[node].each_mut().map(|client| format!("{:?}", client.cmd(words)));
        let [real, ours] = replies;
        [self.neutral(&real), self.neutral(&ours)]
    }

    /// A text in which the names of nodes replace their ports.
    pub(crate) fn neutral(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (at, address) in self.ours.addresses().iter().enumerate() {
            for port in [self.real[at].port(), address.port()] {
                text = text.replace(&port.to_string(), &format!("PORT{at}"));
            }
        }
        text
    }
}

/// Waits until a node reports that its cluster serves requests.
pub(crate) fn until_ok(client: &mut Client) {
    while !format!("{:?}", client.line("CLUSTER INFO")).contains("cluster_state:ok") {
        std::thread::yield_now();
    }
}

/// Waits until a node has a connection to each other one.
pub(crate) fn until_connected(client: &mut Client) {
    while format!("{:?}", client.line("CLUSTER NODES")).contains("disconnected") {
        std::thread::yield_now();
    }
}

/// Returns the output of redis-cli, and whether it succeeded.
pub(crate) fn redis_cli(arguments: &[&str]) -> Option<(bool, String)> {
    let Some(program) = find_in_path("redis-cli") else {
        skip(&["redis-cli"], "redis-cli is not installed");
        return None;
    };
    let output = Command::new(program).args(arguments).output().expect("redis-cli starts");
    let text = [output.stdout, output.stderr].concat();
    Some((output.status.success(), String::from_utf8_lossy(&text).into_owned()))
}
