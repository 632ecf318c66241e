//! Sentinels as separate processes.

use lockwheel_tests::client::Client;
use lockwheel_tests::program;
use lockwheel_tests::redis_server::{Kind, RealServer, free_port};
use lockwheel_tests::reply::Reply;
use lockwheel_tests::shapes::until;
use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// The program of the sentinel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    Ours,
    Redis,
}

/// A sentinel. Dropping it kills the process.
#[derive(Debug)]
pub(crate) struct Sentinel {
    whose: Whose,
    child: Child,
    port: u16,
    directory: PathBuf,
}

impl Sentinel {
    /// Starts a sentinel with these lines of configuration.
    pub(crate) fn start(whose: Whose, lines: &str) -> Sentinel {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("lockwheel-sentinel-{}-{number}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&directory).expect("it can be made");
        let port = free_port();
        let text = format!("port {port}\nbind 127.0.0.1\n{lines}\n");
        std::fs::write(directory.join("sentinel.conf"), text).expect("it can be written");
        let child = spawn(whose, &directory);
        let mut sentinel = Sentinel { whose, child, port, directory };
        sentinel.wait_until_ready();
        sentinel
    }

    fn wait_until_ready(&mut self) {
        while TcpStream::connect(self.addr()).is_err() {
            let ended = self.child.try_wait().expect("it is ours");
            assert!(ended.is_none(), "{:?} did not start: {}", self.whose, self.file());
            std::thread::yield_now();
        }
    }

    /// Kills the sentinel and starts it again with its written configuration.
    pub(crate) fn restart(&mut self) {
        self.kill();
        self.child = spawn(self.whose, &self.directory);
        self.wait_until_ready();
    }

    pub(crate) fn kill(&mut self) {
        let _it_has_ended = self.child.kill();
        let _it_has_ended = self.child.wait();
    }

    pub(crate) fn addr(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn client(&self) -> Client {
        Client::connect(self.addr())
    }

    /// The sentinel's configuration file.
    pub(crate) fn file(&self) -> String {
        std::fs::read_to_string(self.directory.join("sentinel.conf")).expect("it is there")
    }

    /// The port of the master `m`, according to the sentinel.
    pub(crate) fn master_port(&self) -> Option<u16> {
        let reply = self.client().line("SENTINEL GET-MASTER-ADDR-BY-NAME m");
        let port = reply.into_elements()?.pop()?;
        std::str::from_utf8(port.as_bytes()?).ok()?.parse().ok()
    }

    /// The fields of one or of several servers, by name.
    pub(crate) fn fields(&self, request: &str) -> Vec<BTreeMap<String, String>> {
        let reply = self.client().line(request);
        let all = reply.clone().into_elements().unwrap_or_else(|| panic!("{request}: {reply:?}"));
        let mut all: Vec<BTreeMap<String, String>> = all.into_iter().map(pairs).collect();
        all.sort_by_key(|fields| fields.get("name").cloned());
        all
    }
}

fn pairs(reply: Reply) -> BTreeMap<String, String> {
    let words = reply.into_elements().unwrap_or_default();
    let words: Vec<String> = words
        .iter()
        .map(|word| String::from_utf8_lossy(word.as_bytes().unwrap_or_default()).into_owned())
        .collect();
    words.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect()
}

fn spawn(whose: Whose, directory: &PathBuf) -> Child {
    let program = match whose {
        Whose::Ours => program::path(),
        Whose::Redis => Kind::Redis.find().expect("it was found before"),
    };
    let mut command = Command::new(program);
    command.arg("sentinel.conf").arg("--sentinel").current_dir(directory);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().expect("it starts")
}

impl Drop for Sentinel {
    fn drop(&mut self) {
        self.kill();
        let _gone = std::fs::remove_dir_all(&self.directory);
    }
}

/// A master with two replicas.
pub(crate) struct Servers {
    /// The master. `None` once it has been killed.
    pub(crate) master: Option<RealServer>,
    pub(crate) replicas: [RealServer; 2],
}

impl Servers {
    /// Starts the servers. Returns `None` if there is no redis-server.
    pub(crate) fn start() -> Option<Servers> {
        let delay = ["--repl-diskless-sync-delay", "0"];
        let master = RealServer::start(Kind::Redis, &delay)?;
        let port = master.port().to_string();
        let arguments = [&delay[..], &["--replicaof", "127.0.0.1", &port]].concat();
        let replica = || RealServer::start(Kind::Redis, &arguments).expect("it was there before");
        let servers = Servers { replicas: [replica(), replica()], master: Some(master) };
        until("the replicas are connected", || {
            servers.replicas.iter().all(|replica| {
                let info = Client::connect(replica.addr()).line("INFO replication");
                String::from_utf8_lossy(info.as_bytes().unwrap_or_default()).contains("master_link_status:up")
            })
        });
        Some(servers)
    }

    /// The port of the first master.
    pub(crate) fn master_port(&self) -> u16 {
        self.master.as_ref().map_or(0, RealServer::port)
    }

    /// The configuration lines with which a sentinel watches the servers.
    pub(crate) fn lines(&self, quorum: u32) -> String {
        let port = self.master_port();
        format!(
            "sentinel monitor m 127.0.0.1 {port} {quorum}\nsentinel down-after-milliseconds m 1500\n\
             sentinel failover-timeout m 6000"
        )
    }
}
