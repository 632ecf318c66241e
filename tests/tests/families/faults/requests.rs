//! Actions on requests.

use super::Scene;

#[test]
fn an_error_is_answered_and_nothing_executed() {
    let mut scene = Scene::new();
    let client = scene.client();
    scene.add("full ON set KEY orders:* DO ERROR \"OOM command not allowed\"");
    scene.check(client, "SET orders:1 v", "-OOM command not allowed");
    scene.check(client, "SET other v", "+OK");
    scene.check(client, "EXISTS orders:1", ":0");
    assert!(scene.ask(client, "INFO errorstats").contains("errorstat_OOM:count=1"));
}

#[test]
fn a_lost_request_makes_its_connection_a_black_hole() {
    let mut scene = Scene::new();
    let [client, other] = [scene.client(), scene.client()];
    scene.check(client, "SUBSCRIBE c", "*3 $9 subscribe $1 c :1");
    scene.check(client, "UNSUBSCRIBE", "*3 $11 unsubscribe $1 c :0");
    scene.add("lost ON incr TIMES 1 DO DROPREQUEST");
    scene.check(client, "INCR n", "");
    scene.check(client, "PING", "");
    scene.check(other, "INCR n", ":1");
    assert!(scene.server.is_connected(client));
    scene.advance(3_600_000);
    assert!(scene.server.is_connected(client));
    scene.server.close(client);
    scene.server.notice();
    assert!(!scene.server.is_connected(client));
}

#[test]
fn a_black_hole_is_cut_after_a_while() {
    for action in ["DROPREQUEST", "DROPREPLY"] {
        let mut scene = Scene::new();
        let client = scene.client();
        scene.add(&format!("lost ON set DO {action} CLOSEAFTER 250"));
        scene.check(client, "SET k v", "");
        scene.advance(249);
        assert!(scene.server.is_connected(client), "{action}");
        scene.advance(1);
        assert!(!scene.server.is_connected(client), "{action}");
        assert_eq!(scene.read(client), "");
        let executed = if action == "DROPREPLY" { ":1" } else { ":0" };
        scene.steer("EXISTS k", executed);
    }
}

#[test]
fn a_delayed_request_delays_the_requests_behind_it() {
    let mut scene = Scene::new();
    let [client, other] = [scene.client(), scene.client()];
    scene.add("slow ON set DO DELAY 100");
    scene.server.send(client, "SET k client");
    scene.server.send(client, "GET k");
    scene.check(other, "GET k", "$-1");
    assert_eq!(scene.field("slow", "held"), ":1");
    scene.advance(99);
    assert_eq!(scene.read(client), "");
    scene.advance(1);
    assert_eq!(scene.read(client), "+OK $6 client");
    assert_eq!(scene.field("slow", "held"), ":0");
}

#[test]
fn a_delayed_request_runs_after_its_client_has_closed() {
    let mut scene = Scene::new();
    let client = scene.client();
    scene.add("slow ON set DO DELAY 100");
    scene.check(client, "SET k late", "");
    scene.server.close(client);
    scene.server.notice();
    scene.steer("AWAIT.CLIENTS 1 EXACT", ":1");
    scene.steer("GET k", "$-1");
    scene.advance(100);
    scene.steer("GET k", "$4 late");
    let another = scene.client();
    scene.steer("AWAIT.CLIENTS 2 EXACT", ":1");
    scene.check(another, "PING", "+PONG");
}

#[test]
fn a_connection_is_cut_before_the_request_and_after_the_earlier_replies() {
    let mut scene = Scene::new();
    let client = scene.client();
    scene.add("cut ON set DO CLOSE");
    scene.server.send(client, "PING");
    scene.server.send(client, "SET k v");
    assert_eq!(scene.read(client), "+PONG");
    assert!(!scene.server.is_connected(client));
    scene.steer("EXISTS k", ":0");
}

#[test]
fn a_duplicate_is_executed_twice_and_answered_once() {
    let mut scene = Scene::new();
    let client = scene.client();
    scene.add("twice ON incr TIMES 1 DO DUPLICATE");
    scene.check(client, "INCR n", ":2");
    scene.check(client, "INCR n", ":3");
    scene.add("release ON lock.release DO DUPLICATE");
    assert!(scene.ask(client, "LOCK.ACQUIRE lock me PX 1000").contains("token"));
    let answer = scene.ask(client, "LOCK.RELEASE lock me");
    assert!(answer.starts_with('-'), "the second release finds no hold: {answer}");
}

#[test]
fn a_script_is_no_longer_cached() {
    let mut scene = Scene::new();
    let client = scene.client();
    let loaded = scene.ask(client, "SCRIPT LOAD \"return 1\"");
    let sha = loaded.split(' ').next_back().expect("it has a name").to_owned();
    scene.check(client, &format!("EVALSHA {sha} 0"), ":1");
    scene.add(&format!("forgets SCRIPT {} TIMES 1 DO NOSCRIPT", sha.to_uppercase()));
    scene.check(client, &format!("EVALSHA {sha} 0"), "-NOSCRIPT No matching script. Please use EVAL.");
    scene.check(client, &format!("SCRIPT EXISTS {sha}"), "*1 :0");
    scene.check(client, "EVAL \"return 1\" 0", ":1");
    scene.check(client, &format!("EVALSHA {sha} 0"), ":1");
}

#[test]
fn rules_do_not_match_refused_requests() {
    let mut scene = Scene::new();
    let client = scene.client();
    scene.add("all DO ERROR seen");
    scene.check(client, "GET", "-ERR wrong number of arguments for 'get' command");
    assert!(scene.ask(client, "NOSUCH").starts_with("-ERR unknown command"));
    let sha = "0123456789012345678901234567890123456789";
    scene.check(client, &format!("EVALSHA {sha} 0"), "-NOSCRIPT No matching script. Please use EVAL.");
    scene.check(client, "AWAIT.BLOCKED 0", ":1");
    assert_eq!(scene.field("all", "matched"), ":0");
    scene.check(client, "GET k", "-seen");
}

#[test]
fn keys_expire_just_before() {
    let mut scene = Scene::new();
    let [client, waiter] = [scene.client(), scene.client()];
    assert!(scene.ask(client, "LOCK.ACQUIRE lock me PX 30000").contains("token"));
    scene.check(waiter, "LOCK.ACQUIRE lock you BLOCK 0", "");
    scene.add("late ON lock.renew DO EXPIRE");
    let answer = scene.ask(client, "LOCK.RENEW 1 lock me PX 30000");
    assert_eq!(answer, "*1 :0", "it is lost");
    assert!(scene.read(waiter).contains("token"), "who waits is served first");
}

#[test]
fn an_integer_is_changed() {
    let mut scene = Scene::new();
    let client = scene.client();
    scene.add("skew ON incrby ARG 2 5 DO ARG 2 ADD -3");
    scene.check(client, "INCRBY n 5", ":2");
    scene.check(client, "INCRBY n 4", ":6");
    scene.check(client, "INCRBY n five", "-ERR value is not an integer or out of range");
    assert_eq!(scene.field("skew", "hits"), ":1");
}

#[test]
fn timeshift_rules_follow_the_manual_clock() {
    let mut scene = Scene::new();
    let client = scene.client();
    // The wall clock showed the millionth second when it stopped.
    scene.advance(5_000);
    scene.add("shift ON set DO TIMESHIFT");
    scene.check(client, "SET near 1000000123", "+OK");
    scene.check(client, "SET far 1234", "+OK");
    scene.check(client, "GET near", "$10 1000005123");
    scene.check(client, "GET far", "$4 1234");
}

#[test]
fn rules_on_a_transaction_act_on_exec_or_fail_queued_requests() {
    let mut scene = Scene::new();
    let client = scene.client();
    scene.add("bad ON set KEY a DO ERROR \"ERR no\"");
    scene.add("late ON set DO DELAY 1000");
    for (line, reply) in [("MULTI", "+OK"), ("SET a 1", "+QUEUED"), ("SET b 1", "+QUEUED")] {
        scene.check(client, line, reply);
    }
    scene.check(client, "EXEC", "*2 -ERR no +OK");
    scene.add("exec ON exec DO ERROR \"ERR no transaction\"");
    scene.check(client, "MULTI", "+OK");
    scene.check(client, "EXEC", "-ERR no transaction");
    scene.check(client, "EXEC", "-ERR no transaction");
    scene.steer("FAULT.CLEAR", ":3");
    scene.check(client, "EXEC", "-ERR EXEC without MULTI");
}

/// A copy of a waiting request comes after it, and may itself wait.
#[test]
fn a_duplicated_blocking_request_waits_twice() {
    let mut scene = Scene::new();
    let [client, other] = [scene.client(), scene.client()];
    scene.add("twice ON blpop TIMES 1 DO DUPLICATE");
    scene.check(client, "BLPOP l 0", "");
    scene.check(other, "RPUSH l one", ":1");
    assert_eq!(scene.read(client), "");
    scene.check(other, "RPUSH l two three", ":2");
    assert_eq!(scene.read(client), "*2 $1 l $3 two");
    scene.check(client, "LRANGE l 0 -1", "*1 $5 three");
    scene.ask(other, "LOCK.ACQUIRE k o");
    scene.add("second ON lock.acquire TIMES 1 DO DUPLICATE");
    scene.check(client, "LOCK.ACQUIRE k a BLOCK 0", "");
    scene.check(other, "LOCK.RELEASE k o", ":0");
    assert!(scene.read(client).contains("holds :2"));
    // The first wait times out, and the second takes the item that is there then.
    scene.add("third ON brpop TIMES 1 DO DUPLICATE");
    scene.check(client, "BRPOP m 1", "");
    scene.advance(1000);
    assert_eq!(scene.read(client), "");
    scene.advance(1000);
    assert_eq!(scene.read(client), "*-1");
    scene.check(client, "PING", "+PONG");
    scene.ask(client, "HELLO 3");
    scene.add("fourth ON lock.acquire TIMES 1 DO DUPLICATE");
    assert!(scene.ask(client, "LOCK.ACQUIRE k b ASYNC").starts_with("*2 +QUEUED"));
    scene.steer("AWAIT.WAITERS k 2 EXACT", ":1");
}
