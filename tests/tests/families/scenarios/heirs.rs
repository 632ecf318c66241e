//! Servers of one process whose master is killed while its replicas lag far behind. Sentinels, or the other masters of
//! a cluster, promote a replica.

use crate::scenarios::stage::{LOCK, check};
use lockwheel::{Time, Topology};
use lockwheel_tests::client::Client;
use lockwheel_tests::steered::{self, Call, Jvm, Outcome, Replicas, Setup, Thread};
use lockwheel_tests::{ours, verdict};
use std::time::Duration;

/// The lag of the replicas: longer than a failover takes on the manual clock. A lease is longer still.
const LAG: Duration = Duration::from_secs(600);
pub(crate) const LEASE_MS: u64 = 3_600_000;

/// A time that suffices to find that a server is down, and to agree on the failover.
const FAILOVER_MS: u64 = 120_000;

/// The time for which Redisson waits for replicas.
pub(crate) const WAIT_MS: u64 = 1_000;

/// Two owners hold the lock according to their servers, and both have begun to work.
pub(crate) const TWICE: [&str; 2] = ["violation mutual-exclusion"; 2];

/// The servers that choose the new master.
#[derive(Clone, Copy, Debug)]
pub(crate) enum By {
    /// Three sentinels, which choose among two replicas.
    Sentinels,
    /// The other masters of a cluster, in which each has one replica.
    Cluster,
}

impl By {
    fn start(self) -> Topology {
        let builder = ours::builder().time(Time::Manual).lock_history(true);
        let topology = match self {
            By::Sentinels => builder.sentinels(3).replicas(2),
            By::Cluster => builder.cluster(3, 1),
        };
        topology.lag(LAG).start().expect("they start")
    }
}

/// The servers, and a connection to the master that has the lock.
pub(crate) struct Realm {
    by: By,
    topology: Topology,
    /// The master's index.
    place: usize,
    pub(crate) master: Client,
}

impl Realm {
    pub(crate) fn new(by: By) -> Realm {
        let topology = by.start();
        let place = match by {
            By::Sentinels => 0,
            By::Cluster => usize::try_from(slot(&topology) * 3 / 16_384).expect("there are three"),
        };
        let master = Client::connect_resp3(topology.servers()[place].addr());
        Realm { by, topology, place, master }
    }

    /// A client of Redisson of this name.
    #[track_caller]
    pub(crate) fn redisson<'a>(&self, jvm: &'a Jvm, name: &str, replicas: Replicas) -> steered::Client<'a> {
        let setup = Setup { replicas, ..Setup::default() };
        let ports: Vec<u16> = self.topology.servers().iter().map(lockwheel::Server::port).collect();
        match self.by {
            By::Sentinels => jvm.client_by_sentinel(name, self.topology.sentinels()[0].port(), setup),
            By::Cluster => jvm.client_of_cluster(name, &ports, setup),
        }
    }

    /// Another connection to the master.
    pub(crate) fn connection(&self) -> Client {
        Client::connect_resp3(self.topology.servers()[self.place].addr())
    }

    /// Lets a client wait for the replicas until the timeout.
    #[track_caller]
    pub(crate) fn times_out(&mut self) {
        check(&mut self.master, "AWAIT.BLOCKED 1", ":1");
        turn(&mut self.master, WAIT_MS);
    }

    /// Returns the outcome of a call that waits for the replicas this number of times.
    #[track_caller]
    pub(crate) fn outcome_after_timeouts(&mut self, call: Call, times: usize) -> Outcome {
        (0..times).for_each(|_| self.times_out());
        call.outcome()
    }

    /// A server that exists before and after the failover, and keeps its role.
    fn witness(&self) -> Client {
        Client::connect(match self.by {
            By::Sentinels => self.topology.sentinels()[0].addr(),
            By::Cluster => self.topology.servers()[(self.place + 1) % 3].addr(),
        })
    }

    /// Kills the master. Its watchers detect that by the clock, and promote a replica as it is. Returns a connection to
    /// the new master. No replica lags from then on.
    #[track_caller]
    pub(crate) fn inherited(&self) -> Client {
        let mut replica = Client::connect(self.topology.servers()[self.heirs()[0]].addr());
        check(&mut replica, &format!("FAULT.DOWN {}", self.place), "+OK");
        turn(&mut self.witness(), FAILOVER_MS);
        let heir = self.named();
        let mut heir = Client::connect_resp3(self.topology.servers()[heir].addr());
        assert!(heir.line("ROLE").to_string().contains("\"master\""));
        check(&mut heir, "FAULT.LAG 0", "+OK");
        heir
    }

    /// Promotes a replica with all data, which counts grants anew. Returns a connection to it.
    #[track_caller]
    pub(crate) fn inherited_without_tokens(&self) -> Client {
        let heir = self.heirs()[0];
        let mut client = Client::connect(self.topology.servers()[heir].addr());
        check(&mut client, &format!("FAULT.FAILOVER {heir} TOKENS"), "+OK");
        assert_eq!(self.named(), heir);
        Client::connect_resp3(self.topology.servers()[heir].addr())
    }

    /// The indexes of the servers that may become the master.
    fn heirs(&self) -> Vec<usize> {
        match self.by {
            By::Sentinels => vec![1, 2],
            By::Cluster => vec![self.place + 3],
        }
    }

    /// The index of the server that clients learn as the new master.
    fn named(&self) -> usize {
        let line = match self.by {
            By::Sentinels => "SENTINEL GET-MASTER-ADDR-BY-NAME mymaster".to_owned(),
            By::Cluster => format!("GET {LOCK}"),
        };
        let told = self.witness().line(&line).to_string();
        let is_named = |at: &usize| told.contains(&self.topology.servers()[*at].port().to_string());
        self.heirs().into_iter().find(is_named).unwrap_or_else(|| panic!("{line}: {told}"))
    }
}

fn slot(topology: &Topology) -> i64 {
    let mut client = Client::connect(topology.servers()[0].addr());
    client.line(&format!("CLUSTER KEYSLOT {LOCK}")).as_int().expect("a number")
}

/// Advances the clock of all servers.
#[track_caller]
pub(crate) fn turn(client: &mut Client, ms: u64) {
    let turned = client.line(&format!("CLOCK.ADVANCE {ms}"));
    assert!(!turned.is_error(), "{turned}");
}

/// An owner takes the lock natively and begins to work.
#[track_caller]
pub(crate) fn works(client: &mut Client, owner: &str) {
    let line = format!("LOCK.ACQUIRE {LOCK} {owner} PX {LEASE_MS}");
    let reply = client.line(&line);
    assert!(reply.member("token").is_some(), "{line}: {reply}");
    enters(client, owner);
}

/// An owner that believes to hold the lock begins to work.
#[track_caller]
pub(crate) fn enters(client: &mut Client, owner: &str) {
    check(client, &format!("LOCK.ENTER {LOCK} {owner}"), ":1");
}

/// Lets a thread ask whether it holds the lock, until its client has found the new master.
#[track_caller]
pub(crate) fn sees_lock_held(thread: &Thread<'_>, expected: &str) {
    let mut asked = std::iter::repeat_with(|| thread.calls(&format!("held {LOCK}")));
    assert_eq!(asked.find_map(Result::ok).as_deref(), Some(expected));
}

/// Requires these findings in the history of all servers: level and invariant of each.
#[track_caller]
pub(crate) fn is_found(client: &mut Client, expected: &[&str]) {
    let found = verdict::findings(client);
    assert_eq!(found, expected, "{}", client.line("LOCK.VERIFY"));
}
