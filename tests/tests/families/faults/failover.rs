//! LAG and FAILOVER, RESTART.

use super::Scene;
use lockwheel_tests::rng::Rng;

#[test]
fn a_failover_loses_writes_since_the_lag_began() {
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
    // The other server has its own cache of scripts.
    let sha = "e0e1f9fabfc9d4800c877a703b823ac0578ff8db";
    scene.steer(&format!("SCRIPT EXISTS {sha}"), "*1 :0");
}

/// Commands that write a key, or two.
const WRITES: &[&str] = &[
    "SET K v",
    "SET K w PX 9000",
    "DEL K",
    "APPEND K x",
    "INCR K",
    "RPUSH K e",
    "LPOP K",
    "HSET K f v",
    "HDEL K f",
    "SADD K m",
    "SPOP K",
    "ZADD K 1 m",
    "ZREM K m",
    "XADD K 1-1 f v",
    "XTRIM K MAXLEN 0",
    "PEXPIRE K 7000",
    "PERSIST K",
    "RENAME K L",
    "COPY K L REPLACE",
    "MOVE K 1",
    "SORT K ALPHA STORE L",
    "SETBIT K 3 1",
    "PFADD K e",
    "GETEX K PX 100",
    "BITOP NOT L K",
    "FLUSHDB",
    "SWAPDB 0 1",
    "SELECT 1",
    "SELECT 0",
    "LOCK.ACQUIRE K o",
    "LOCK.RELEASE K o",
    "EVAL \"return redis.call('set', KEYS[1], 1)\" 1 K",
];

/// All kinds of writes, with keys that are created, deleted and moved.
#[test]
fn a_failover_restores_the_whole_state_before_the_lag() {
    let keys = ["a", "b", "c", "d"];
    for seed in 0..200 {
        let (mut scene, mut rng) = (Scene::new(), Rng::new(seed));
        let client = scene.client();
        let mut write = |scene: &mut Scene, steps: usize| {
            for _ in 0..steps {
                let [one, other] = [rng.pick(&keys), rng.pick(&keys)];
                let words = rng.pick(WRITES).split(' ').map(|word| match word {
                    "K" => one,
                    "L" => other,
                    word => word,
                });
                scene.ask(client, &words.collect::<Vec<_>>().join(" "));
            }
        };
        write(&mut scene, 30);
        let state = |scene: &mut Scene| {
            let mut shown = String::new();
            for db in 0..2 {
                scene.steer(&format!("SELECT {db}"), "+OK");
                for key in keys {
                    for line in ["DUMP", "PEXPIRETIME"] {
                        shown += &scene.ask(scene.steer, &format!("{line} {key}"));
                    }
                }
                shown += &scene.ask(scene.steer, "DBSIZE");
            }
            shown
        };
        let before = state(&mut scene);
        scene.steer("FAULT.LAG", "+OK");
        write(&mut scene, 60);
        scene.steer("FAULT.FAILOVER", "+OK");
        assert_eq!(state(&mut scene), before, "seed {seed}");
    }
}

/// A lag costs one value for each written key, and nothing for keys that were created and deleted meanwhile.
#[test]
fn a_lag_keeps_one_old_value_for_each_written_key() {
    let mut scene = Scene::new();
    let large = "x".repeat(100_000);
    for key in ["large", "larger"] {
        scene.steer(&format!("SET {key} {large}"), "+OK");
    }
    let used = |scene: &mut Scene| -> i64 {
        let info = scene.ask(scene.steer, "INFO memory");
        let text = info.split_once("used_memory:").unwrap().1;
        text.split(' ').next().unwrap().parse().unwrap()
    };
    // The records of latency grow with each new command.
    scene.steer("CONFIG SET latency-tracking no", "+OK");
    let before = used(&mut scene);
    scene.steer("FAULT.LAG", "+OK");
    assert!(used(&mut scene) - before < 1_000, "it costs nothing yet");
    scene.steer("APPEND large x", ":100001");
    scene.steer("APPEND large x", ":100002");
    let kept = used(&mut scene) - before;
    assert!((100_000..250_000).contains(&kept), "{kept}");
    for n in 0..20_000 {
        scene.ask(scene.steer, &format!("SET short-lived-{n} v PX 1"));
        scene.ask(scene.steer, &format!("DEL short-lived-{n}"));
    }
    let more = used(&mut scene) - before - kept;
    assert!(more < 1_000_000, "{more}");
    scene.steer("FAULT.FAILOVER", "+OK");
    scene.steer("STRLEN large", ":100000");
    scene.steer("DBSIZE", ":2");
    assert!(used(&mut scene) - before < 100_000);
}

/// A hold that was renewed meanwhile is the same hold, with the lease that the replica knows. A hold that was given
/// back is there again.
#[test]
fn a_failover_restores_the_locks_that_the_replica_knows() {
    let mut scene = Scene::new();
    let client = scene.client();
    for line in ["LOCK.ACQUIRE renewed a PX 1000", "LOCK.ACQUIRE free a PX 1000", "SET text a NX PX 1000"] {
        scene.ask(client, line);
    }
    scene.steer("FAULT.LAG", "+OK");
    for line in ["LOCK.RENEW 1 renewed a PX 60000", "LOCK.RELEASE free a", "DEL text"] {
        scene.ask(client, line);
    }
    scene.advance(400);
    scene.steer("FAULT.FAILOVER", "+OK");
    scene.steer("PTTL renewed", ":600");
    scene.steer("LOCK.CHECK renewed 1", ":1");
    for key in ["free", "text"] {
        let info = scene.ask(scene.steer, &format!("LOCK.INFO {key}"));
        assert!(info.contains("$5 owner $1 a") && !info.contains("$5 grant $-1"), "{info}");
    }
    // The former holder has it again: the replica knows of no release.
    scene.steer("LOCK.RELEASE free a", ":0");
}

/// A replica ends leases by the same clock.
#[test]
fn a_failover_restores_no_expired_key() {
    let mut scene = Scene::new();
    scene.steer("SET k v PX 100", "+OK");
    scene.steer("FAULT.LAG", "+OK");
    scene.steer("PEXPIRE k 60000", ":1");
    scene.advance(200);
    scene.steer("FAULT.FAILOVER", "+OK");
    scene.steer("EXISTS k", ":0");
}

#[test]
fn a_lag_with_a_pattern_applies_to_matching_keys_only() {
    let mut scene = Scene::new();
    scene.steer("SET lock:a 1", "+OK");
    scene.steer("FAULT.LAG KEY lock:*", "+OK");
    scene.steer("MSET lock:a 2 lock:b 2 other 2", "+OK");
    scene.steer("FAULT.FAILOVER", "+OK");
    scene.steer("MGET lock:a lock:b other", "*3 $1 1 $-1 $1 2");
    // The new server has no lagging replica.
    scene.steer("SET lock:a 3", "+OK");
    scene.steer("FAULT.FAILOVER", "+OK");
    scene.steer("GET lock:a", "$1 3");
}

#[test]
fn a_lock_lost_by_a_failover_is_granted_with_a_higher_token() {
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
fn a_restart_keeps_clock_and_rules_and_refuses_clients_while_down() {
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

/// If a client leaves nobody behind to advance the clock, the downtime ends.
#[test]
fn a_restart_on_a_frozen_clock_ends_once_no_client_is_connected() {
    let mut scene = Scene::new();
    scene.steer("FAULT.RESTART DOWN 500", "+OK");
    let refused = scene.client();
    assert!(!scene.server.is_connected(refused));
    scene.server.close(scene.steer);
    scene.server.notice();
    let [client, other] = [scene.client(), scene.client()];
    scene.check(client, "PING", "+PONG");
    scene.check(other, "PING", "+PONG");
}

/// An advance from one deadline to the next reaches the end of the downtime.
#[test]
fn the_end_of_a_downtime_is_a_deadline_of_the_clock() {
    let mut scene = Scene::new();
    let next = |scene: &mut Scene| scene.ask(scene.steer, "CLOCK.INFO");
    scene.steer("FAULT.RESTART DOWN 500", "+OK");
    assert!(next(&mut scene).contains("$4 next :500"));
    assert!(scene.ask(scene.steer, "CLOCK.NEXT").ends_with("*1 *2 $7 restart :0"));
    let client = scene.client();
    scene.check(client, "PING", "+PONG");
    // A request that ends the downtime earlier, or begins another one, leaves nothing of the first.
    for line in ["FAULT.RESTART", "CONTROL.RESET"] {
        scene.steer("FAULT.RESTART DOWN 500", "+OK");
        scene.steer("FAULT.RESTART DOWN 100", "+OK");
        assert!(next(&mut scene).contains("$4 next :100 $6 timers :1"));
        scene.steer(line, "+OK");
        assert!(next(&mut scene).contains("$4 next $-1 $6 timers :0"), "{line}");
    }
}

#[test]
fn requests_with_invalid_options_change_nothing() {
    let mut scene = Scene::new();
    scene.steer("SET k v", "+OK");
    for line in [
        "FAULT.LAG k",
        "FAULT.LAG KEY",
        "FAULT.FAILOVER 1 NOW",
        "FAULT.FAILOVER TOKENS TOKENS",
        "FAULT.RESTART DOWN",
        "FAULT.RESTART TOKENS DOWN",
        "FAULT.RESTART UP",
    ] {
        let told = scene.ask(scene.steer, line);
        assert!(told.starts_with("-ERR syntax error: "), "{line}: {told}");
    }
    scene.steer(
        "FAULT.FAILOVER 1",
        "-ERR this server is not part of a topology: its process runs no other server",
    );
    scene.steer("FAULT.RESTART DOWN x", "-ERR value is not an integer or out of range: *");
    scene.steer("FAULT.RESTART DOWN -1", "-ERR value is out of range, must be positive: *");
    scene.steer("GET k", "$1 v");
}
