//! LAG and FAILOVER, RESTART.

use super::Scene;

#[test]
fn a_fail_over_loses_what_was_written_since_the_lag() {
    let mut scene = Scene::new();
    let client = scene.client();
    for line in ["SET stays 1", "SET changes 1 PX 5000", "HSET goes f v", "SELECT 2", "SET there 1"] {
        scene.server.ask(client, line);
    }
    scene.check(client, "SELECT 0", "+OK");
    scene.steer("FAULT.LAG", "+OK");
    scene.check(client, "EVAL \"return redis.call('set', 'new', 1)\" 0", "+OK");
    for line in ["SET changes 2", "DEL goes", "RENAME stays moved", "SELECT 2", "FLUSHDB", "SET other 1"] {
        scene.server.ask(client, line);
    }
    scene.steer("FAULT.FAILOVER", "+OK");
    assert!(!scene.server.is_connected(client));
    scene.steer("MGET stays changes new moved", "*4 $1 1 $1 1 $-1 $-1");
    scene.steer("PTTL changes", ":5000");
    scene.steer("HGETALL goes", "*2 $1 f $1 v");
    scene.steer("SELECT 2", "+OK");
    scene.steer("MGET there other", "*2 $1 1 $-1");
    scene.steer("DBSIZE", ":1");
    // The cache of scripts is the other server's.
    let sha = "e0e1f9fabfc9d4800c877a703b823ac0578ff8db";
    scene.steer(&format!("SCRIPT EXISTS {sha}"), "*1 :0");
}

#[test]
fn only_keys_that_match_lag() {
    let mut scene = Scene::new();
    scene.steer("SET lock:a 1", "+OK");
    scene.steer("FAULT.LAG KEY lock:*", "+OK");
    scene.steer("MSET lock:a 2 lock:b 2 other 2", "+OK");
    scene.steer("FAULT.FAILOVER", "+OK");
    scene.steer("MGET lock:a lock:b other", "*3 $1 1 $-1 $1 2");
    // The new server has no replica that lags.
    scene.steer("SET lock:a 3", "+OK");
    scene.steer("FAULT.FAILOVER", "+OK");
    scene.steer("GET lock:a", "$1 3");
}

#[test]
fn a_lock_that_no_replica_knows_is_granted_again_with_a_higher_token() {
    for (option, token) in [("", ":3"), (" TOKENS", ":1")] {
        let mut scene = Scene::new();
        let [one, other] = [scene.client(), scene.client()];
        assert!(scene.ask(one, "LOCK.ACQUIRE before a PX 1000").contains("token :1"));
        scene.steer("FAULT.LAG", "+OK");
        assert!(scene.ask(one, "LOCK.ACQUIRE lock a PX 1000").contains("token :2"));
        scene.check(other, "LOCK.ACQUIRE lock b PX 1000 BLOCK 0", "");
        scene.steer(&format!("FAULT.FAILOVER{option}"), "+OK");
        assert!(!scene.server.is_connected(other));
        let third = scene.client();
        let answer = scene.ask(third, "LOCK.ACQUIRE lock b PX 1000");
        assert!(answer.contains(&format!("token {token}")), "{option}: {answer}");
        let kept = scene.ask(third, "LOCK.INFO before");
        assert!(kept.contains("$1 a"), "its grant stays: {kept}");
    }
}

#[test]
fn a_restart_leaves_clocks_and_rules_and_lets_nobody_in_for_a_while() {
    let mut scene = Scene::new();
    let [client, exempt] = [scene.client(), scene.client()];
    scene.check(exempt, "FAULT.EXEMPT", "+OK");
    scene.add("rule ON get DO ERROR no");
    scene.advance(1234);
    scene.check(client, "SET k v", "+OK");
    scene.check(client, "EVAL \"return 1\" 0", ":1");
    scene.steer("FAULT.RESTART DOWN 500", "+OK");
    assert!(!scene.server.is_connected(client) && scene.server.is_connected(exempt));
    scene.check(exempt, "DBSIZE", ":0");
    scene.steer("SCRIPT EXISTS e0e1f9fabfc9d4800c877a703b823ac0578ff8db", "*1 :0");
    assert!(scene.ask(scene.steer, "TIME").starts_with("*2 $7 1000001"));
    assert_eq!(scene.field("rule", "hits"), ":0");
    let early = scene.client();
    assert!(!scene.server.is_connected(early));
    scene.advance(499);
    let early = scene.client();
    assert!(!scene.server.is_connected(early));
    scene.advance(1);
    let late = scene.client();
    scene.check(late, "GET k", "-no");
}

#[test]
fn wrong_words_change_nothing() {
    let mut scene = Scene::new();
    scene.steer("SET k v", "+OK");
    for line in [
        "FAULT.LAG k",
        "FAULT.LAG KEY",
        "FAULT.FAILOVER NOW",
        "FAULT.FAILOVER TOKENS TOKENS",
        "FAULT.RESTART DOWN",
        "FAULT.RESTART TOKENS DOWN 1",
        "FAULT.RESTART UP",
    ] {
        scene.steer(line, "-ERR syntax error");
    }
    scene.steer("FAULT.RESTART DOWN x", "-ERR value is not an integer or out of range");
    scene.steer("FAULT.RESTART DOWN -1", "-ERR value is out of range, must be positive");
    scene.steer("GET k", "$1 v");
}
