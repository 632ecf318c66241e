//! A master of one process and a lagging replica, which takes over.

use crate::scenarios::stage::check;
use lockwheel::{Time, Topology};
use lockwheel_tests::client::Client;
use lockwheel_tests::ours;
use lockwheel_tests::verdict;
use std::time::Duration;

/// The lag of the replica, in milliseconds: longer than Redisson waits for it.
pub(crate) const LAG: u64 = 5_000;

/// Both servers on a manual clock, and the connection to each that controls it.
pub(crate) struct Pair {
    pub(crate) topology: Topology,
    pub(crate) master: Client,
    pub(crate) heir: Client,
}

impl Pair {
    pub(crate) fn new() -> Pair {
        let builder = ours::builder().time(Time::Manual).replicas(1).lag(Duration::from_millis(LAG));
        let topology = builder.start().expect("they start");
        let [master, heir] = topology.servers() else { panic!("there are two") };
        let [mut master, mut heir] = [master, heir].map(|server| Client::connect_resp3(server.addr()));
        for client in [&mut master, &mut heir] {
            check(client, "CONFIG SET lock-history yes", "+OK");
        }
        Pair { topology, master, heir }
    }

    /// The ports, the master's first.
    pub(crate) fn ports(&self) -> Vec<u16> {
        self.topology.servers().iter().map(lockwheel::Server::port).collect()
    }

    /// Promotes the replica as it is: writes that have not reached it are lost.
    #[track_caller]
    pub(crate) fn fails_over(&mut self) {
        check(&mut self.heir, "REPLICAOF NO ONE", "+OK");
    }

    /// Advances the clock of both.
    #[track_caller]
    pub(crate) fn advance(&mut self, ms: u64) {
        let reply = self.master.line(&format!("CLOCK.ADVANCE {ms}"));
        assert!(!reply.is_error(), "{reply}");
    }

    /// Requires these findings in the new master's history: level and invariant of each.
    #[track_caller]
    pub(crate) fn is_found_at_successor(&mut self, expected: &[&str]) {
        let found = verdict::findings(&mut self.heir);
        assert_eq!(found, expected, "{}", self.heir.line("LOCK.VERIFY"));
    }
}
