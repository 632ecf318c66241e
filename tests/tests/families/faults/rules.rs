//! The requests that a rule matches, and the number of times it acts.

use super::Scene;
use lockwheel::Config;
use lockwheel_engine::core::Simulation;

#[test]
fn a_rule_matches_if_all_its_conditions_match() {
    let mut scene = Scene::new();
    let client = scene.client();
    scene.check(client, "CLIENT SETNAME worker-1", "+OK");
    scene.check(client, "CLIENT SETINFO LIB-NAME redisson", "+OK");
    let sha = "e0e1f9fabfc9d4800c877a703b823ac0578ff8db";
    for (rule, hit, miss) in [
        ("ON Set".to_owned(), "SET k v", "GET k"),
        ("ON client".to_owned(), "CLIENT GETNAME", "PING"),
        ("ON client|id".to_owned(), "CLIENT ID", "CLIENT GETNAME"),
        ("KEY lock:*".to_owned(), "MGET a lock:b", "MGET a b"),
        ("KEY k".to_owned(), "EVAL \"return 1\" 1 k", "EVAL \"return 1\" 0 k"),
        (format!("SCRIPT {sha}"), "EVAL \"return 1\" 0", "EVAL \"return 2\" 0"),
        ("CONTAINS hset".to_owned(), "EVAL \"return 'hset'\" 0", "EVAL \"return 'set'\" 0"),
        ("CHANNEL c*".to_owned(), "PUBLISH channel m", "PUBLISH other channel"),
        ("ARG 2 v".to_owned(), "SET k v", "SET v k"),
        (format!("CLIENT {client}"), "PING", ""),
        ("CLIENTNAME worker-?".to_owned(), "PING", ""),
        ("LIB redis*".to_owned(), "PING", ""),
        ("ON set KEY k ARG 2 v CLIENTNAME w*".to_owned(), "SET k v", "SET k w"),
    ] {
        scene.add(&format!("rule {rule} DO ERROR hit"));
        if miss.is_empty() {
            scene.steer("PING", "+PONG");
        } else {
            assert_ne!(scene.ask(client, miss), "-hit", "{rule}");
        }
        scene.check(client, hit, "-hit");
        assert_eq!(scene.field("rule", "matched"), ":1", "{rule}");
        scene.steer("FAULT.DEL rule", ":1");
    }
}

#[test]
fn skip_passes_requests_and_times_limits_a_rule() {
    let mut scene = Scene::new();
    let client = scene.client();
    scene.add("rule ON ping SKIP 2 TIMES 2 DO ERROR hit");
    let answers: Vec<String> = (0..6).map(|_| scene.ask(client, "PING")).collect();
    assert_eq!(answers, ["+PONG", "+PONG", "-hit", "-hit", "+PONG", "+PONG"]);
    scene.steer(
        "FAULT.LIST",
        "*1 *14 $4 name $4 rule $4 rule $35 ON ping SKIP 2 TIMES 2 DO ERROR hit $7 matched :4 $7 skipped :2 \
         $4 hits :2 $4 left :0 $4 held :0",
    );
    scene.add("endless ON ping DO ERROR hit");
    assert_eq!(scene.field("endless", "left"), "$-1");
}

/// The answers to 64 PINGs of a client: an `x` for each PING on which the rule has acted.
fn drawn(seed: u64, rules: &[&str], reseed: Option<u64>) -> String {
    let mut server = Simulation::new(Config::default(), seed);
    let [steer, client] = [server.connect(), server.connect()];
    for rule in rules {
        assert_eq!(server.ask(steer, &format!("FAULT.ADD {rule}")), "+OK\r\n");
    }
    if let Some(seed) = reseed {
        assert_eq!(server.ask(steer, &format!("FAULT.SEED {seed}")), "+OK\r\n");
    }
    (0..64).map(|_| if server.ask(client, "PING") == "-hit\r\n" { 'x' } else { '.' }).collect()
}

#[test]
fn random_rules_depend_only_on_the_seed_and_their_name() {
    let rule = "a ON ping PROB 0.5 DO ERROR hit";
    let alone = drawn(7, &[rule], None);
    assert!(alone.contains('x') && alone.contains('.'));
    assert_eq!(alone, drawn(7, &["z ON get PROB 0.5 DO ERROR hit", rule], None));
    assert_ne!(alone, drawn(8, &[rule], None));
    assert_ne!(alone, drawn(7, &["b ON ping PROB 0.5 DO ERROR hit"], None));
    assert_eq!(alone, drawn(8, &[rule], Some(7)));
    assert_eq!(drawn(7, &["a ON ping PROB 0 DO ERROR hit"], None), ".".repeat(64));
    assert_eq!(drawn(7, &["a ON ping PROB 1 DO ERROR hit"], None), "x".repeat(64));
}

#[test]
fn only_the_first_matching_rule_acts_on_a_request() {
    let mut scene = Scene::new();
    let client = scene.client();
    scene.add("old ON ping TIMES 1 DO ERROR old");
    scene.add("new ON ping DO ERROR new");
    scene.check(client, "PING", "-old");
    scene.check(client, "PING", "-new");
    assert_eq!((scene.field("old", "matched"), scene.field("new", "matched")), (":1".into(), ":1".into()));
}

#[test]
fn rules_do_not_match_exempt_clients_and_control_commands() {
    let mut scene = Scene::new();
    let client = scene.client();
    scene.add("all DO ERROR hit");
    assert!(scene.ask(client, "CLOCK.INFO").contains("manual"));
    scene.check(client, "FAULT.EXEMPT", "+OK");
    scene.check(client, "PING", "+PONG");
    scene.check(client, "FAULT.EXEMPT OFF", "+OK");
    scene.check(client, "PING", "-hit");
    let maybe = "-ERR syntax error: expected ON or OFF, found 'MAYBE'";
    scene.check(client, "FAULT.EXEMPT MAYBE", maybe);
}

#[test]
fn rules_do_not_match_calls_of_scripts() {
    let mut scene = Scene::new();
    let client = scene.client();
    scene.add("sets ON set DO ERROR hit");
    scene.check(client, "EVAL \"return redis.call('set', 'k', 'v')\" 0", "+OK");
    scene.check(client, "SET k v", "-hit");
}

#[test]
fn wrong_rules_are_refused_and_change_nothing() {
    let mut scene = Scene::new();
    scene.add("there DO HOLD");
    let sha = "012345678901234567890123456789012345678x";
    for (rule, error) in [
        ("x ON", "syntax error"),
        ("x ON nosuch DO HOLD", "unknown command 'nosuch'"),
        ("x ON clock.advance DO HOLD", "fault rules do not apply to the control command 'clock.advance'"),
        ("x ON FAULT.GO DO HOLD", "fault rules do not apply to the control command 'fault.go'"),
        ("x ON get ON set DO HOLD", "syntax error: 'ON' is given twice"),
        ("x CLIENT 1 LIB x DO HOLD", "syntax error: 'CLIENT' and 'LIB' exclude each other"),
        (
            &format!("x SCRIPT {sha} DO HOLD"),
            "invalid SHA-1: SCRIPT sha1 must be 40 hexadecimal digits, not '",
        ),
        ("x SCRIPT abc DO HOLD", "invalid SHA-1: SCRIPT sha1 must be 40 hexadecimal digits, not '"),
        ("x ON get KEY k", "a rule must end with DO and an action"),
        ("x ON get DO", "a rule must end with DO and an action"),
        ("x WHEN get DO HOLD", "syntax error"),
        ("x DO EXPLODE", "syntax error"),
        ("x DO HOLD IT", "syntax error"),
        ("x DO DELAY soon", "value is not an integer or out of range"),
        ("x DO DELAY -1", "value is out of range, must be positive"),
        ("x DO TRUNCATE -1", "value is out of range, must be positive"),
        ("x TIMES 0 DO HOLD", "value is out of range, must be positive"),
        ("x ARG 0 get DO HOLD", "value is out of range, must be positive"),
        ("x PROB 1.5 DO HOLD", "invalid probability: PROB chance must be a number from 0 to 1, not '"),
        ("x PROB nan DO HOLD", "invalid probability: PROB chance must be a number from 0 to 1, not '"),
        ("x RESULT MAYBE DO HOLDREPLY", "syntax error"),
        ("x RESULT OK DO HOLD", "RESULT needs an action on the reply, such as DROPREPLY"),
        ("x DO ARG 1 5", "syntax error"),
        ("x DO REPLY 5", "syntax error"),
        ("there DO HOLD", "rule 'there' already exists"),
    ] {
        let answer = scene.ask(scene.steer, &format!("FAULT.ADD {rule}"));
        let is_it = answer.starts_with(&format!("-ERR {error}"));
        assert!(is_it || answer.contains("wrong number"), "{rule}: {answer}");
    }
    scene.steer("FAULT.CLEAR", ":1");
    scene.steer("FAULT.SEED x", "-ERR value is not an integer or out of range: *");
    scene.steer("FAULT.DEL there", ":0");
}

#[test]
fn a_request_released_by_removal_still_meets_later_rules() {
    for removal in ["FAULT.CLEAR", "FAULT.DEL one two"] {
        let mut scene = Scene::new();
        scene.add("one ON publish DO HOLD");
        scene.add("two CHANNEL ch DO LOSEPUBLISH");
        let (subscriber, client) = (scene.client(), scene.client());
        scene.ask(subscriber, "SUBSCRIBE ch");
        scene.check(client, "PUBLISH ch lost", "");
        scene.steer(removal, ":2");
        assert_ne!(scene.read(client), "", "{removal}");
        assert_eq!(scene.read(subscriber), "", "{removal}");
        scene.ask(client, "PUBLISH ch told");
        assert!(scene.read(subscriber).ends_with("told"), "{removal}");
    }
}

#[test]
fn the_number_of_rules_is_limited() {
    let mut scene = Scene::new();
    for number in 0..1000 {
        scene.add(&format!("{number} ON get KEY {number} DO HOLD"));
    }
    scene.steer("FAULT.ADD more ON get DO HOLD", "-ERR too many rules: the maximum is 1000");
    scene.steer("FAULT.CLEAR", ":1000");
    let long = "x".repeat(600_000);
    let too_large = "-ERR the rules would take more than 1048576 bytes together";
    scene.steer(&format!("FAULT.ADD {long}{long} ON get DO HOLD"), too_large);
    scene.steer(&format!("FAULT.ADD one ON get CONTAINS {long} DO HOLD"), too_large);
    scene.add(&format!("{long} ON get DO HOLD"));
    scene.steer(&format!("FAULT.ADD {long}2 ON get DO HOLD"), too_large);
    scene.steer("FAULT.CLEAR", ":1");
}

#[test]
fn partitions_and_patterns_are_limited_in_bytes() {
    let mut scene = Scene::new();
    let long = "x".repeat(600_000);
    let too_large = "-ERR the partitions would take more than 1048576 bytes together";
    for of in ["NAME", "LIB", "ADDR"] {
        scene.steer(&format!("FAULT.PARTITION {of} {long}{long}"), too_large);
        scene.steer(&format!("FAULT.PARTITION {of} {long}"), ":0");
        scene.steer(&format!("FAULT.PARTITION NAME {long}"), too_large);
        scene.steer("FAULT.PARTITION NAME short", ":0");
        scene.steer("FAULT.HEAL", ":2");
    }
    scene.steer("CONFIG SET lock-history yes", "+OK");
    let (long, longest) = ("x".repeat(4097), "x".repeat(4096));
    let too_long = "-ERR the pattern is longer than 4096 bytes";
    for line in [
        "FAULT.LAG KEY",
        "LOCK.OBSERVE",
        "LOCK.HISTORY KEY",
        "LOCK.HISTORY OWNER",
        "LOCK.VERIFY KEY",
        "LOCK.STATS KEY",
        "AWAIT.CLIENTS 0 NAME",
        "AWAIT.IDLE 0 NAME",
        "AWAIT.CALLS get 0 KEY",
        "AWAIT.EVENT acquired LIMIT 0 KEY",
        "AWAIT.EVENT acquired LIMIT 0 OWNER",
    ] {
        scene.steer(&format!("{line} {long}"), too_long);
        // The request may wait.
        let client = scene.client();
        assert!(!scene.ask(client, &format!("{line} {longest}")).starts_with('-'), "{line}");
    }
}

#[test]
fn a_server_without_control_has_no_faults() {
    let mut config = Config::default();
    config.control = false;
    let mut server = Simulation::new(config, 7);
    let client = server.connect();
    assert!(server.ask(client, "FAULT.ADD x DO HOLD").starts_with("-ERR unknown command"));
    let mut server = Simulation::new(Config::default(), 7);
    let client = server.connect();
    server.ask(client, "MULTI");
    assert_eq!(server.ask(client, "FAULT.LIST"), "-ERR Command not allowed inside a transaction\r\n");
}

#[test]
fn a_rule_acts_on_another_reply_when_its_waiting_client_is_gone() {
    for end in ["CLIENT KILL ID", "FAULT.RESTART"] {
        let mut scene = Scene::new();
        let [gone, client] = [scene.client(), scene.client()];
        scene.add("once ON blpop TIMES 1 DO REPLY INT 7");
        scene.check(gone, "BLPOP l 0", "");
        assert_eq!(scene.field("once", "left"), ":0", "it is to act on that reply");
        let kill = if end == "FAULT.RESTART" { end.to_owned() } else { format!("{end} {gone}") };
        scene.ask(scene.steer, &kill);
        assert_eq!((scene.field("once", "left"), scene.field("once", "hits")), (":1".into(), ":0".into()));
        let client = if scene.server.is_connected(client) { client } else { scene.client() };
        scene.check(client, "BLPOP l 0", "");
        scene.steer("RPUSH l x", ":1");
        assert_eq!(scene.read(client), ":7", "{end}");
        assert_eq!((scene.field("once", "left"), scene.field("once", "hits")), (":0".into(), ":1".into()));
    }
}
