//! The three classic ways to get a lock wrong, each shown on a manual clock. The same shop is then shown with a correct
//! lock, and the findings of LOCK.VERIFY for each.

use lockwheel::Server;
use lockwheel_tests::client::Client;
use lockwheel_tests::ours::manual_server;
use lockwheel_tests::verdict;
use std::time::Duration;

/// A script that gives the lock back only if it is still the caller's.
const COMPARE_AND_DELETE: &str =
    "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end";

/// A shop with one item, and a customer at its counter.
struct Customer {
    name: &'static str,
    connection: Client,
    /// The stock as this customer last read it.
    seen: u32,
}

impl Customer {
    fn come(server: &Server, name: &'static str) -> Customer {
        Customer { name, connection: Client::connect(server.addr()), seen: 0 }
    }

    #[track_caller]
    fn check(&mut self, line: &str, expected: &str) {
        assert_eq!(self.connection.line(line).to_string(), expected, "{}: {line}", self.name);
    }

    /// Tries to take the lock by `SET NX` and these options.
    #[track_caller]
    fn takes(&mut self, options: &str, taken: bool) {
        let line = format!("SET lock {} NX {options}", self.name);
        self.check(&line, if taken { "+OK" } else { "(nil)" });
    }

    /// Reads the stock: the critical section begins.
    fn reads_stock(&mut self) {
        self.connection.line(&format!("LOCK.ENTER lock {}", self.name));
        let reply = self.connection.line("GET stock").to_string();
        self.seen = reply.trim_matches('"').parse().expect("the stock is a number");
    }

    /// Buys one item of the stock that this customer read.
    #[track_caller]
    fn buys(&mut self) {
        assert!(self.seen > 0, "{} saw that there is none", self.name);
        let line = format!("SET stock {}", self.seen - 1);
        self.check(&line, "+OK");
        self.connection.line("INCR sold");
        self.connection.line(&format!("LOCK.LEAVE lock {}", self.name));
    }

    #[track_caller]
    fn compares_and_deletes(&mut self, deleted: u32) {
        let name = self.name;
        let reply = self.connection.cmd(&["EVAL", COMPARE_AND_DELETE, "1", "lock", name]);
        assert_eq!(reply.to_string(), format!(":{deleted}"), "{name} gives the lock back");
    }
}

/// The shop's server, and three customers.
fn shop() -> (Server, [Customer; 3]) {
    let server = manual_server();
    let mut keeper = Client::connect(server.addr());
    for line in ["CONFIG SET lock-history yes", "MSET stock 1 sold 0"] {
        assert_eq!(keeper.line(line).to_string(), "+OK", "{line}");
    }
    let customers = ["alice", "bob", "carol"].map(|name| Customer::come(&server, name));
    (server, customers)
}

#[track_caller]
fn advance(server: &Server, millis: u64) {
    server.advance(Duration::from_millis(millis)).expect("the clock does not overflow");
}

/// Requires these findings in the history of all events.
#[track_caller]
fn is_found(server: &Server, expected: &[&str]) {
    assert_eq!(verdict::findings(&mut Client::connect_resp3(server.addr())), expected);
}

#[test]
fn a_lock_without_a_ttl_outlives_a_crash() {
    let (server, [mut alice, mut bob, _]) = shop();
    alice.takes("", true);
    drop(alice);
    for _ in 0..10 {
        advance(&server, 365 * 24 * 3_600_000);
        bob.takes("", false);
    }
    bob.check("MGET stock sold", r#"["1", "0"]"#);
}

#[test]
fn a_lock_with_a_ttl_is_free_at_its_end_after_a_crash() {
    let (server, [mut alice, mut bob, _]) = shop();
    alice.takes("PX 30000", true);
    drop(alice);
    advance(&server, 29_999);
    bob.takes("PX 30000", false);
    advance(&server, 1);
    bob.takes("PX 30000", true);
    bob.reads_stock();
    bob.buys();
    bob.check("MGET stock sold", r#"["0", "1"]"#);
    is_found(&server, &[]);
}

#[test]
fn a_ttl_shorter_than_the_work_sells_twice() {
    let (server, [mut alice, mut bob, _]) = shop();
    alice.takes("PX 1000", true);
    alice.reads_stock();
    advance(&server, 1_500);
    bob.takes("PX 1000", true);
    bob.reads_stock();
    bob.buys();
    alice.buys();
    bob.check("MGET stock sold", r#"["0", "2"]"#);
    is_found(&server, &["violation mutual-exclusion"]);
}

#[test]
fn a_lease_renewed_during_the_work_sells_once() {
    let (server, [mut alice, mut bob, _]) = shop();
    alice.connection.line("LOCK.ACQUIRE lock alice PX 1000");
    alice.reads_stock();
    for _ in 0..3 {
        advance(&server, 500);
        alice.check("LOCK.RENEW 1 lock alice PX 1000", "[:1]");
        bob.check("LOCK.ACQUIRE lock bob PX 1000", "(nil)");
    }
    alice.buys();
    bob.connection.send_line("LOCK.ACQUIRE lock bob PX 1000 BLOCK 0");
    alice.check("AWAIT.BLOCKED 1 KEY lock", ":1");
    alice.check("LOCK.RELEASE lock alice", ":0");
    bob.connection.read_reply();
    bob.reads_stock();
    assert_eq!(bob.seen, 0, "bob sees what alice has done");
    bob.check("MGET stock sold", r#"["0", "1"]"#);
    is_found(&server, &[]);
}

#[test]
fn deleting_the_lock_of_another_sells_twice() {
    let (server, [mut alice, mut bob, mut carol]) = shop();
    alice.takes("PX 1000", true);
    advance(&server, 1_000);
    bob.takes("PX 1000", true);
    bob.reads_stock();
    // Alice, who is late, deletes a lock that is no longer hers.
    alice.check("DEL lock", ":1");
    carol.takes("PX 1000", true);
    carol.reads_stock();
    carol.buys();
    bob.buys();
    bob.check("MGET stock sold", r#"["0", "2"]"#);
    is_found(&server, &["violation release-by-holder", "violation mutual-exclusion"]);
}

#[test]
fn comparing_before_deleting_sells_once() {
    let (server, [mut alice, mut bob, mut carol]) = shop();
    alice.takes("PX 1000", true);
    advance(&server, 1_000);
    bob.takes("PX 1000", true);
    bob.reads_stock();
    alice.compares_and_deletes(0);
    carol.takes("PX 1000", false);
    bob.buys();
    bob.compares_and_deletes(1);
    carol.takes("PX 1000", true);
    carol.reads_stock();
    assert_eq!(carol.seen, 0, "carol sees what bob has done");
    carol.check("MGET stock sold", r#"["0", "1"]"#);
    is_found(&server, &["suspect mutual-exclusion"]);
}
