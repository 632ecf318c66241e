//! Pairs of servers, a master and its replica.

use lockwheel_tests::check::Endpoint;
use lockwheel_tests::client::Client;
use lockwheel_tests::ours;
use lockwheel_tests::redis_server::{Kind, RealServer};
use lockwheel_tests::rng::Rng;
use lockwheel_tests::state::Snapshot;

/// A server of either kind.
pub(crate) type AnyServer = Box<dyn Endpoint>;

/// The kinds of the master and of the replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Makes {
    /// Both are ours.
    Ours,
    /// A real one follows ours.
    RealReplica,
    /// Ours follows a real one.
    RealMaster,
}

impl Makes {
    pub(crate) const ALL: [Makes; 3] = [Makes::Ours, Makes::RealReplica, Makes::RealMaster];

    /// Starts a master and a server that is to follow it. Returns nothing if there is no real server on this machine.
    pub(crate) fn start(self) -> Option<Pair> {
        let real = || RealServer::start(Kind::Redis, &["--repl-diskless-sync-delay", "0"]);
        let our = || Box::new(ours::server()) as AnyServer;
        let (master, replica) = match self {
            Makes::Ours => (our(), our()),
            Makes::RealReplica => (our(), Box::new(real()?) as AnyServer),
            Makes::RealMaster => (Box::new(real()?) as AnyServer, our()),
        };
        Some(Pair::new(master, replica))
    }
}

/// A master and a replica, with a client of each.
pub(crate) struct Pair {
    pub(crate) master: Client,
    pub(crate) replica: Client,
    pub(crate) servers: (AnyServer, AnyServer),
}

impl Pair {
    pub(crate) fn new(master: AnyServer, replica: AnyServer) -> Pair {
        let (one, other) = (Client::connect(master.addr()), Client::connect(replica.addr()));
        Pair { master: one, replica: other, servers: (master, replica) }
    }

    /// Makes the replica follow the master. Returns once it has all data.
    #[track_caller]
    pub(crate) fn follow(&mut self) -> &mut Self {
        let port = self.servers.0.addr().port();
        assert_eq!(self.replica.line(&format!("REPLICAOF 127.0.0.1 {port}")).to_string(), "+OK");
        self.settle()
    }

    /// Waits until the replica has all data that the master has sent.
    #[track_caller]
    pub(crate) fn settle(&mut self) -> &mut Self {
        // WAIT covers the writes of this client.
        self.ask_master("SET settled 1");
        assert_eq!(self.master.line("WAIT 1 0").to_string(), ":1");
        self
    }

    pub(crate) fn ask_master(&mut self, line: &str) -> String {
        self.master.line(line).to_string()
    }

    pub(crate) fn ask_replica(&mut self, line: &str) -> String {
        self.replica.line(line).to_string()
    }

    /// Requires that both have the same data.
    #[track_caller]
    pub(crate) fn check_same(&mut self) -> &mut Self {
        self.settle();
        let digest = self.ask_master("DEBUG DIGEST");
        if self.ask_replica("DEBUG DIGEST") != digest {
            let mut differences = Vec::new();
            for db in 0..16 {
                let both = [&mut self.master, &mut self.replica];
                let [one, other] = both.map(|client| {
                    client.line(&format!("SELECT {db}"));
                    Snapshot::read(client)
                });
                differences.extend(one.differences(&other).iter().map(|line| format!("{db}: {line}")));
            }
            panic!("{}", differences.join("\n"));
        }
        self
    }
}

/// A text that cannot be compressed.
pub(crate) fn noise(len: usize, seed: u64) -> String {
    let mut rng = Rng::new(seed);
    (0..len).map(|_| char::from(b'0' + rng.below(64) as u8)).filter(|letter| *letter != '\\').collect()
}

/// A field of INFO.
#[track_caller]
pub(crate) fn info(client: &mut Client, section: &str, field: &str) -> String {
    let text = client.cmd(&["INFO", section]);
    let text = String::from_utf8_lossy(text.as_bytes().expect("INFO is a text")).into_owned();
    let found = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    found.unwrap_or_else(|| panic!("no {field} in {text}")).to_owned()
}
