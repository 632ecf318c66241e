//! Actions on replies.

use super::Scene;

#[test]
fn a_lost_reply_does_not_undo_its_request() {
    let mut scene = Scene::new();
    let client = scene.client();
    scene.add("lost ON incr DO DROPREPLY");
    scene.server.send(client, "PING");
    scene.server.send(client, "INCR n");
    scene.server.send(client, "PING");
    assert_eq!(scene.read(client), "+PONG");
    scene.steer("GET n", "$1 1");
    assert!(scene.server.is_connected(client));
}

#[test]
fn a_delayed_reply_delays_all_later_output() {
    let mut scene = Scene::new();
    let [client, other] = [scene.client(), scene.client()];
    scene.server.ask(client, "HELLO 3");
    scene.server.ask(client, "SUBSCRIBE c");
    scene.add("slow ON incr DO DELAYREPLY 100");
    scene.server.send(client, "INCR n");
    scene.server.send(client, "INCR m");
    scene.check(other, "MGET n m", "*2 $1 1 $-1");
    scene.check(other, "PUBLISH c hello", ":1");
    scene.advance(99);
    assert_eq!(scene.read(client), "");
    scene.advance(1);
    assert_eq!(scene.read(client), ":1 >3 $7 message $1 c $5 hello");
    scene.advance(100);
    assert_eq!(scene.read(client), ":1");
}

#[test]
fn a_rule_replaces_a_reply() {
    let mut scene = Scene::new();
    let client = scene.client();
    for (name, action, reply) in [
        ("null", "REPLY NULL", "$-1"),
        ("ok", "REPLY OK", "+OK"),
        ("int", "REPLY INT -7", ":-7"),
        ("bulk", "REPLY BULK text", "$4 text"),
    ] {
        scene.add(&format!("{name} TIMES 1 ON incr DO {action}"));
        scene.check(client, "INCR n", reply);
    }
    scene.check(client, "GET n", "$1 4");
    scene.server.ask(client, "HELLO 3");
    scene.add("three ON incr DO REPLY NULL");
    scene.check(client, "INCR n", "_");
}

#[test]
fn a_connection_is_cut_after_executing() {
    let mut scene = Scene::new();
    let client = scene.client();
    scene.add("cut ON set DO CLOSEAFTER");
    scene.server.send(client, "PING");
    scene.check(client, "SET k v", "+PONG");
    assert!(!scene.server.is_connected(client));
    scene.steer("GET k", "$1 v");
}

#[test]
fn a_truncated_reply_closes_the_connection() {
    for (bytes, sent) in [(0, ""), (7, "$5 hel"), (100, "$5 hello")] {
        let mut scene = Scene::new();
        let client = scene.client();
        scene.check(client, "SET k hello", "+OK");
        scene.add(&format!("short ON get DO TRUNCATE {bytes}"));
        scene.check(client, "GET k", sent);
        assert!(!scene.server.is_connected(client));
    }
}

#[test]
fn rules_apply_to_the_reply_that_ends_a_wait() {
    let mut scene = Scene::new();
    let [dropped, replaced, held, timed_out, other] = std::array::from_fn(|_| scene.client());
    for (client, name, action) in
        [(dropped, "a", "DROPREPLY"), (replaced, "b", "REPLY OK"), (held, "c", "HOLDREPLY")]
    {
        scene.add(&format!("{name} ON blpop CLIENT {client} DO {action}"));
        scene.check(client, "BLPOP q 0", "");
    }
    scene.add(&format!("d ON blpop CLIENT {timed_out} RESULT NIL DO REPLY INT 1"));
    scene.check(timed_out, "BLPOP other 1", "");
    assert_eq!(scene.field("a", "hits"), ":0");
    scene.check(other, "RPUSH q 1 2 3", ":3");
    assert_eq!(scene.field("a", "hits"), ":1");
    assert_eq!(
        (scene.read(dropped), scene.read(replaced), scene.read(held)),
        ("".into(), "+OK".into(), "".into())
    );
    scene.check(other, "LLEN q", ":0");
    scene.steer("FAULT.GO c", ":1");
    assert_eq!(scene.read(held), "*2 $1 q $1 3");
    scene.advance(1000);
    assert_eq!(scene.read(timed_out), ":1");
}

#[test]
fn a_rule_matches_by_the_result_of_a_request() {
    let mut scene = Scene::new();
    let client = scene.client();
    scene.add("bad ON incr RESULT ERROR DO REPLY BULK error");
    scene.add("good ON incr RESULT OK DO REPLY BULK ok");
    scene.add("none ON get RESULT NIL DO REPLY BULK nil");
    scene.check(client, "INCR n", "$2 ok");
    scene.check(client, "GET n", "$1 1");
    scene.check(client, "GET m", "$3 nil");
    scene.check(client, "SET n text", "+OK");
    scene.check(client, "INCR n", "$5 error");
    assert_eq!(scene.field("good", "matched"), ":1");
}

#[test]
fn the_oldest_matching_rule_acts_on_a_reply() {
    let mut scene = Scene::new();
    let client = scene.client();
    scene.add("errors ON get RESULT ERROR DO REPLY INT 1");
    scene.add("first ON get SKIP 1 TIMES 1 DO REPLY INT 2");
    scene.add("second ON get DO REPLY INT 3");
    for reply in [":3", ":2", ":3"] {
        scene.check(client, "GET k", reply);
    }
    scene.steer("HSET h f v", ":1");
    scene.check(client, "GET h", ":1");
    assert_eq!(scene.field("second", "hits"), ":2");
}

#[test]
fn rules_send_no_reply_that_the_client_has_turned_off() {
    let mut scene = Scene::new();
    let client = scene.client();
    scene.add("hold ON incr DO HOLDREPLY");
    scene.server.send(client, "CLIENT REPLY SKIP");
    scene.server.send(client, "INCR n");
    scene.server.send(client, "PING");
    scene.steer("FAULT.GO hold", ":1");
    assert_eq!(scene.read(client), "+PONG");
}

#[test]
fn nothing_reaches_a_black_hole() {
    for (rule, request) in [
        ("ON ping DO DROPREQUEST", "PING"),
        ("ON lock.acquire SKIP 2 DO DROPREPLY", "LOCK.ACQUIRE k c BLOCK 0 ASYNC"),
    ] {
        let mut scene = Scene::new();
        let [client, other] = [scene.client(), scene.client()];
        scene.server.ask(client, "HELLO 3");
        assert!(scene.ask(other, "LOCK.ACQUIRE k other").contains("token"));
        scene.add(&format!("lost {rule}"));
        assert!(scene.ask(client, "LOCK.ACQUIRE mine c PX 100").contains("token"));
        assert!(scene.ask(client, "LOCK.ACQUIRE k c BLOCK 0 ASYNC").contains("QUEUED"));
        scene.check(client, request, "");
        scene.check(other, "LOCK.RELEASE k other", ":0");
        scene.advance(100);
        assert_eq!(scene.read(client), "", "neither lock-granted nor lock-lost: {rule}");
    }
}

#[test]
fn nothing_is_sent_after_a_truncated_reply() {
    for (action, sent) in [("TRUNCATE 2", "+O"), ("CLOSEAFTER", "")] {
        for (before, request) in [("CLIENT TRACKING ON BCAST", "SET k v"), ("SUBSCRIBE c", "SET c v")] {
            let mut scene = Scene::new();
            let client = scene.client();
            scene.steer("CONFIG SET notify-keyspace-events KEA", "+OK");
            scene.server.ask(client, "HELLO 3");
            scene.server.ask(client, before);
            scene.server.ask(client, "PSUBSCRIBE __key*");
            scene.add(&format!("cut ON set DO {action}"));
            scene.check(client, request, sent);
            assert!(!scene.server.is_connected(client));
        }
    }
}
