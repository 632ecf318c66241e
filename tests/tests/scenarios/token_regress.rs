//! Token-regress: the counter of tokens is lost, and what is written to has seen higher ones.

use crate::pair::{LAG, Pair};
use crate::stage::{LOCK, Stage, check, field, redisson_4_7};
use lockwheel_tests::reply::Reply;
use lockwheel_tests::steered::Setup;

/// What the holders write to, apart from the servers of the lock; it has seen the token of alice.
fn stock(token: i64) -> Stage {
    let mut stock = Stage::new();
    stock.says(&format!("LOCK.FENCE stock {token}"), "+OK");
    stock
}

/// Alice is the fourth; the heir, which has the lock and not the counter, begins anew.
#[test]
fn token_regress_is_found_by_what_is_written_to() {
    let mut pair = Pair::new();
    for _ in 0..3 {
        pair.master.line(&format!("LOCK.ACQUIRE {LOCK} alice PX 600000"));
        check(&mut pair.master, &format!("LOCK.RELEASE {LOCK} alice"), ":0");
    }
    let line = format!("LOCK.ACQUIRE {LOCK} alice PX 600000");
    assert_eq!(field(&mut pair.master, &line, "token"), Reply::Int(4));
    let mut stock = stock(4);
    pair.advance(LAG);
    check(&mut pair.heir, "FAULT.FAILOVER TOKENS", "+OK");
    check(&mut pair.heir, &format!("LOCK.RELEASE {LOCK} alice"), ":0");
    let line = format!("LOCK.ACQUIRE {LOCK} bob PX 600000");
    assert_eq!(field(&mut pair.heir, &line, "token"), Reply::Int(1));
    stock.says("LOCK.FENCE stock 1", "-STALE token 1 below 4");
    check(&mut pair.heir, &format!("LOCK.RELEASE {LOCK} bob"), ":0");
}

/// Redisson's counter is a key. Its last steps are lost with the tail, and two holders have one token: to what is
/// written to, the second is the first.
#[test]
fn token_regress_gives_a_token_twice_with_redissons_fenced_lock() {
    let Some(jvm) = redisson_4_7() else { return };
    let mut pair = Pair::new();
    let ports = pair.ports();
    let clients =
        [("alice", ports[0]), ("bob", ports[1])].map(|(name, port)| jvm.client(name, port, Setup::default()));
    let [alice, bob] = [&clients[0], &clients[1]].map(|client| client.thread("worker"));
    alice.does(&format!("fenced-lock {LOCK} 60000 600000"), "1");
    let mut stock = stock(1);
    pair.fails_over();
    bob.does(&format!("fenced-lock {LOCK} 60000 600000"), "1");
    stock.says("LOCK.FENCE stock 1", "+OK");
    let names = [&alice, &bob].map(|thread| thread.owner());
    for name in &names {
        check(&mut pair.heir, &format!("LOCK.ENTER {LOCK} {name}"), ":1");
    }
    // Two hold it by what their servers say, and both have begun to work.
    pair.is_found_at_heir(&["violation mutual-exclusion", "violation mutual-exclusion"]);
}
