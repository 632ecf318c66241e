//! Permits of a semaphore that two servers give out independently.

use crate::topology::sentinels::text;
use lockwheel::{Level, Time, Topology};
use lockwheel_tests::client::Client;
use lockwheel_tests::ours;

/// The scripts of Redisson's `RSemaphore` and `RPermitExpirableSemaphore` that take permits, and that return one.
const TAKE: &str = "local value = redis.call('get', KEYS[1]); \
     if (value ~= false and tonumber(value) >= tonumber(ARGV[1])) then \
     local val = redis.call('decrby', KEYS[1], ARGV[1]); return 1; end; return 0;";
const GIVE: &str =
    "local value = redis.call('incrby', KEYS[1], ARGV[1]); redis.call('publish', KEYS[2], value); ";
const TAKE_ID: &str = "local value = redis.call('get', KEYS[1]); \
     if (value ~= false and tonumber(value) >= tonumber(ARGV[1])) then redis.call('decrby', KEYS[1], ARGV[1]); \
     redis.call('zadd', KEYS[2], ARGV[2], ARGV[4]); return ARGV[4]; end; return nil;";
const CHANNEL: &str = "redisson_sc:{s}";

/// A master and its replica on a manual clock, with a history, and a client of each.
struct Servers {
    topology: Topology,
    clients: Vec<Client>,
}

impl Servers {
    fn new() -> Self {
        let builder = ours::builder().time(Time::Manual).lock_history(true);
        let topology = builder.replicas(1).start().expect("they start");
        let clients = topology.servers().iter().map(|server| Client::connect(server.addr())).collect();
        Servers { topology, clients }
    }

    fn ask(&mut self, server: usize, line: &str) -> String {
        text(&mut self.clients[server], line)
    }

    /// The replica works independently; its clients must connect anew.
    fn promote(&mut self) {
        self.ask(1, "REPLICAOF NO ONE");
        self.clients[1] = Client::connect(self.topology.servers()[1].addr());
    }

    fn take(&mut self, server: usize, line: &str) {
        let told = self.ask(server, line);
        assert!(told.contains("permits"), "{line}: {told}");
    }

    fn run(&mut self, server: usize, script: &str, words: &[&str]) -> String {
        self.clients[server].cmd(&[&["EVAL", script], words].concat()).to_string()
    }

    fn wall_ms(&mut self) -> i64 {
        let time = self.clients[0].line("TIME").into_elements().expect("two numbers");
        let [seconds, micros] = [0, 1].map(|at| time[at].to_string().trim_matches('"').parse::<i64>());
        seconds.expect("seconds") * 1_000 + micros.expect("microseconds") / 1_000
    }

    /// Requires these findings above habits: the owners, and the end of each text.
    #[track_caller]
    fn check(&self, expected: &[(&[&str], &str)]) {
        let verdict = self.topology.servers()[1].verify(Level::Suspect, None);
        let found = verdict.expect("it is on").findings;
        let is_it = found.len() == expected.len()
            && found.iter().zip(expected).all(|(found, (owners, text))| {
                found.invariant == "permits-bound" && found.owners == *owners && found.text.contains(text)
            });
        assert!(is_it, "{found:?}");
    }
}

#[test]
fn permits_granted_by_two_masters_exceed_the_semaphore() {
    let mut servers = Servers::new();
    servers.ask(0, "SEM.INIT s 2");
    servers.take(0, "SEM.ACQUIRE s first");
    servers.promote();
    servers.take(1, "SEM.ACQUIRE s second");
    servers.check(&[]);
    servers.take(0, "SEM.ACQUIRE s third");
    servers.check(&[(
        &["first", "second", "third"],
        "s: 1 more permits than the total have been given out: 1 on ",
    )]);
}

#[test]
fn a_leased_permit_of_a_lost_master_counts_until_its_lease_ends() {
    for (elapsed_ms, is_out) in [(99, true), (100, false)] {
        for options in ["PX 100", "IDS PX 100", "SESSION PX 100"] {
            let mut servers = Servers::new();
            servers.ask(0, "SEM.INIT s 1");
            servers.promote();
            servers.take(0, &format!("SEM.ACQUIRE s first {options}"));
            servers.ask(1, "FAULT.DOWN 0");
            servers.ask(1, &format!("CLOCK.ADVANCE {elapsed_ms}"));
            servers.take(1, "SEM.ACQUIRE s second");
            let expected: &[(&[&str], &str)] =
                if is_out { &[(&["first", "second"], "1 more permits than the total")] } else { &[] };
            servers.check(expected);
        }
    }
}

#[test]
fn a_failover_without_losses_exceeds_no_semaphore() {
    let mut servers = Servers::new();
    servers.ask(0, "SEM.INIT s 3");
    servers.take(0, "SEM.ACQUIRE s first IDS PX 1000");
    servers.run(0, TAKE, &["1", "s", "1"]);
    servers.ask(0, "FAULT.DOWN 0");
    servers.promote();
    servers.take(1, "SEM.ACQUIRE s second");
    assert_eq!(servers.ask(1, "SEM.ACQUIRE s third"), "(nil)");
    assert_eq!(servers.run(1, GIVE, &["2", "s", CHANNEL, "1"]), "(nil)");
    servers.take(1, "SEM.ACQUIRE s third");
    servers.ask(1, "CLOCK.ADVANCE 1000");
    servers.take(1, "SEM.ACQUIRE s fourth IDS PX 1000");
    servers.ask(1, "SEM.RELEASE s second");
    servers.take(1, "SEM.ACQUIRE s fifth");
    servers.check(&[]);
}

/// The replica does not know the holders.
#[test]
fn permits_granted_by_a_demoted_master_still_count() {
    let mut servers = Servers::new();
    servers.ask(0, "SEM.INIT s 1");
    servers.promote();
    servers.take(0, "SEM.ACQUIRE s first");
    let port = servers.topology.servers()[1].port();
    servers.ask(0, &format!("REPLICAOF 127.0.0.1 {port}"));
    servers.take(1, "SEM.ACQUIRE s second");
    servers.check(&[(&["first", "second"], "1 more permits than the total")]);
    // The master role moves back.
    servers.ask(0, "REPLICAOF NO ONE");
    servers.clients[0] = Client::connect(servers.topology.servers()[0].addr());
    assert_eq!(servers.ask(0, "SEM.ACQUIRE s third"), "(nil)");
    servers.check(&[(&["first", "second"], "1 more permits than the total")]);
}

#[test]
fn permits_that_redisson_takes_from_two_masters_are_found() {
    let mut servers = Servers::new();
    servers.ask(0, "SEM.INIT s 1");
    servers.promote();
    for server in [0, 1] {
        assert_eq!(servers.run(server, TAKE, &["1", "s", "1"]), ":1");
    }
    servers.check(&[(&[], "1 more permits than the total")]);
    // One server's client returns the permit, and another takes it there.
    servers.run(0, GIVE, &["2", "s", CHANNEL, "1"]);
    servers.ask(1, "SEM.INIT s 1");
    servers.check(&[(&[], "1 more permits than the total")]);
}

#[test]
fn permits_of_redisson_count_until_their_leases_end() {
    for (elapsed_ms, is_out) in [(99, true), (100, false)] {
        let mut servers = Servers::new();
        servers.ask(0, "SEM.INIT s 1");
        servers.promote();
        let now = servers.wall_ms() + 3_600_000;
        let take = |servers: &mut Servers, server: usize, id: &str| {
            let (end, now) = ((now + 100).to_string(), now.to_string());
            let words = ["3", "s", "{s}:timeout", CHANNEL, "1", &end, &now, id];
            assert_eq!(servers.run(server, TAKE_ID, &words), format!("{id:?}"));
        };
        take(&mut servers, 0, "one");
        servers.ask(1, "FAULT.DOWN 0");
        servers.ask(1, &format!("CLOCK.ADVANCE {elapsed_ms}"));
        take(&mut servers, 1, "other");
        servers.check(if is_out { &[(&[], "1 more permits than the total")] } else { &[] });
        let entries = servers.topology.servers()[1].history().entries(&lockwheel::Filter::all().key("s"));
        let leases: Vec<Option<i64>> =
            entries.expect("it is on").entries.iter().map(|entry| entry.ttl_ms).collect();
        assert_eq!(leases, [None, Some(100), Some(100)]);
    }
}
