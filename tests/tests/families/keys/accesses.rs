//! The access clocks of keys: idle times and frequencies, operations that count as an access, and those that do not.

use lockwheel_tests::check::Endpoint;
use lockwheel_tests::client::Client;
use lockwheel_tests::ours;
use lockwheel_tests::redis_server::{Kind, RealServer};
use lockwheel_tests::reply::{Reply, quoted};

const NO_FREQUENCY: &str = "-ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note \
                            that when switching between policies at runtime LRU and LFU data will take some time to \
                            adjust.";
const NO_IDLE_TIME: &str = "-ERR An LFU maxmemory policy is selected, idle time not tracked. Please note that when \
                            switching between policies at runtime LRU and LFU data will take some time to adjust.";
/// The answer of DUMP for a key that holds `v`.
const PAYLOAD: &str = r#""\x00\x01v\n\x00\x91\b\xce\xb2\x198\x8a\xce""#;

#[test]
fn the_idle_time_of_an_unused_key_grows() {
    let mut s = ours::manual_scenario();
    s.check("MSET k v other w", "+OK").check("OBJECT IDLETIME k", ":0").run("CLOCK.ADVANCE 60000");
    s.check("OBJECT IDLETIME k", ":60").check("GET other", "\"w\"").check("OBJECT IDLETIME other", ":0");
    s.run("CLOCK.ADVANCE 1000");
    s.check("OBJECT IDLETIME k", ":61")
        .check("OBJECT IDLETIME other", ":1")
        .check("OBJECT IDLETIME none", "(nil)");
    s.check("OBJECT FREQ k", NO_FREQUENCY).check("OBJECT FREQ none", "(nil)");
    s.check("APPEND k x", ":2").check("OBJECT IDLETIME k", ":0");
}

#[test]
fn restore_and_reload_keep_the_idle_time() {
    let mut s = ours::manual_scenario();
    s.check(&format!("RESTORE k 0 {PAYLOAD} IDLETIME 100"), "+OK").check("OBJECT IDLETIME k", ":100");
    s.run("CLOCK.ADVANCE 20000");
    s.check("OBJECT IDLETIME k", ":120").check("DEBUG RELOAD", "+OK").check("OBJECT IDLETIME k", ":120");
    s.on("quiet")
        .check("CLIENT NO-TOUCH ON", "+OK")
        .check("RENAME k other", "+OK")
        .check("MOVE other 1", ":1");
    s.check("SELECT 1", "+OK").check("OBJECT IDLETIME other", ":120");
    // The copy is a new key.
    s.on("quiet").check("SELECT 1", "+OK").check("COPY other copy", ":1");
    s.check("OBJECT IDLETIME copy", ":0").check("OBJECT IDLETIME other", ":120");
}

#[test]
fn debug_shows_the_clock() {
    let mut s = ours::manual_scenario();
    s.run("CLOCK.SET 1779205265000");
    let described =
        |clock: &str| format!("+Value at:0x0 refcount:1 encoding:embstr serializedlength:2 {clock}");
    s.check(&format!("RESTORE k 0 {PAYLOAD} IDLETIME 1"), "+OK");
    // 1779205265 is 106 * 2^24 + 820369.
    s.check("DEBUG OBJECT k", &described("lru:820368 lru_seconds_idle:1"));
    s.check("CONFIG SET maxmemory-policy allkeys-lfu", "+OK");
    s.check(&format!("RESTORE k 0 {PAYLOAD} REPLACE FREQ 200"), "+OK");
    // Its minute is 29653421, which is 452 * 2^16 + 31149.
    let bits = (31149 << 8) | 200;
    let idle = 820_369 - bits + 0xff_ffff;
    s.check("DEBUG OBJECT k", &described(&format!("lru:{bits} lru_seconds_idle:{idle}")));
}

#[test]
fn frequencies_are_counted_under_their_policies_alone() {
    let mut s = ours::manual_scenario();
    s.check("CONFIG SET maxmemory-policy volatile-lfu lfu-log-factor 0", "+OK").check("SET k v", "+OK");
    s.check("OBJECT FREQ k", ":5")
        .check("OBJECT IDLETIME k", NO_IDLE_TIME)
        .check("OBJECT IDLETIME none", "(nil)");
    (0..7).for_each(|_| drop(s.run("GET k")));
    s.check("OBJECT FREQ k", ":12").check("SET k w", "+OK").check("OBJECT FREQ k", ":13");
    s.run("CLOCK.ADVANCE 240000");
    s.check("OBJECT FREQ k", ":9").check("CONFIG SET lfu-decay-time 2", "+OK").check("OBJECT FREQ k", ":11");
    s.check("CONFIG SET lfu-decay-time 0", "+OK").check("OBJECT FREQ k", ":13").check("GET k", "\"w\"");
    s.check("OBJECT FREQ k", ":14").check(&format!("RESTORE k 0 {PAYLOAD} REPLACE FREQ 255"), "+OK");
    s.check("GET k", "\"v\"").check("OBJECT FREQ k", ":255");
    s.check(&format!("RESTORE k 0 {PAYLOAD} REPLACE IDLETIME 9"), "+OK").check("OBJECT FREQ k", ":5");
    s.check("CONFIG SET maxmemory-policy volatile-ttl", "+OK").check("OBJECT FREQ k", NO_FREQUENCY);
    s.check(&format!("RESTORE k 0 {PAYLOAD} REPLACE FREQ 9"), "+OK").check("OBJECT IDLETIME k", ":0");
}

#[test]
fn a_higher_access_frequency_grows_more_slowly() {
    let mut s = ours::manual_scenario();
    s.check("CONFIG SET maxmemory-policy allkeys-lfu lfu-log-factor 100", "+OK").check("SET k v", "+OK");
    (0..500).for_each(|_| drop(s.run("GET k")));
    // Each access counts with one chance in 1, 101, 201, 301 and so on.
    s.check_that("OBJECT FREQ k", |reply| reply.as_int().is_some_and(|count| (6..=12).contains(&count)));
}

#[test]
fn no_touch_leaves_idle_times_and_frequencies_unchanged() {
    let mut s = ours::manual_scenario();
    let restore = format!("RESTORE k 0 {PAYLOAD} REPLACE IDLETIME 100");
    s.on("quiet").check("CLIENT NO-TOUCH ON", "+OK");
    for line in ["GET k", "SET k w", "EVAL \"return redis.call('get', 'k')\" 0", "MGET k", "EXPIRE k 1000"] {
        s.check(&restore, "+OK").on("quiet").run(line);
        s.check("OBJECT IDLETIME k", ":100");
    }
    s.check(&restore, "+OK").on("quiet").check("MULTI", "+OK").check("GET k", "+QUEUED").run("EXEC");
    s.check("OBJECT IDLETIME k", ":100");
    // Other clients do not count, nor does TOUCH.
    s.check("GET k", "\"v\"").check("OBJECT IDLETIME k", ":0").check(&restore, "+OK");
    s.on("quiet").check("TOUCH k none", ":1").check("GET k", "\"v\"");
    s.check("OBJECT IDLETIME k", ":0").check(&restore, "+OK");
    s.on("quiet").check("CLIENT NO-TOUCH OFF", "+OK").check("GET k", "\"v\"");
    s.check("OBJECT IDLETIME k", ":0");
    // The waiter's own setting decides, not that of the client that wakes it.
    s.on("quiet").check("CLIENT NO-TOUCH ON", "+OK");
    for (waits, wakes, idle) in [("main", "quiet", ":0"), ("quiet", "main", ":50")] {
        s.run("RPUSH list a");
        s.on(waits).send("BLMOVE none list LEFT LEFT 0");
        s.on("observer").run("AWAIT.BLOCKED 1");
        s.on("observer").run("CLOCK.ADVANCE 50000");
        s.on(wakes).check("RPUSH none b", ":1");
        s.on(waits).expect("\"b\"");
        s.check("OBJECT IDLETIME list", idle);
    }
}

#[test]
fn control_reset_restores_the_default_maxmemory_policy() {
    let mut s = ours::manual_scenario();
    s.check("CONFIG SET maxmemory-policy allkeys-lfu", "+OK").run("CONTROL.RESET");
    s.check("SET k v", "+OK").check("OBJECT IDLETIME k", ":0").check("OBJECT FREQ k", NO_FREQUENCY);
}

/// The keys to which each line is applied.
const KEYS: &[(&str, &str)] = &[
    ("b", "SETBIT b 7 1"),
    ("g", "GEOADD g 13 38 p"),
    ("h", "HSET h f v g w"),
    ("l", "RPUSH l a b c"),
    ("l1", "RPUSH l1 1 2 3"),
    ("n", "SET n 12345678"),
    ("p", "PFADD p a b"),
    ("s", "SET s hello-world"),
    ("s2", "SET s2 other-text"),
    ("t", "SADD t a b c"),
    ("t2", "SADD t2 b c"),
    ("x", "XADD x 1-1 f v"),
    ("z", "ZADD z 1 a 2 b"),
    ("z2", "ZADD z2 1 a 2 b"),
];

/// The effect of each line on the keys of a server: accessed, created, or neither, by the clocks.
fn effects(server: &impl Endpoint, is_quiet: bool, counts: bool) -> Vec<String> {
    let mut client = Client::connect(server.addr());
    let mut caller = Client::connect(server.addr());
    client.line(if counts {
        "CONFIG SET maxmemory-policy allkeys-lfu"
    } else {
        "CONFIG SET maxmemory-policy noeviction"
    });
    client.line("CONFIG SET lfu-log-factor 0");
    // Otherwise a minute that ends during a line changes the readings.
    client.line("CONFIG SET lfu-decay-time 0");
    client.line("FLUSHALL");
    KEYS.iter().for_each(|(_, line)| drop(client.line(line)));
    client.line("XGROUP CREATE x gr 0");
    let payloads: Vec<String> = KEYS
        .iter()
        .map(|(key, _)| quoted(client.line(&format!("DUMP {key}")).as_bytes().expect("there is such a key")))
        .collect();
    if is_quiet {
        assert_eq!(caller.line("CLIENT NO-TOUCH ON").to_string(), "+OK");
    }
    let mut told = Vec::new();
    for line in include_str!("accessing.txt").lines().filter(|line| !line.starts_with('#')) {
        client.line("FLUSHALL");
        for ((key, _), payload) in KEYS.iter().zip(&payloads) {
            let clock = if counts { "FREQ 100" } else { "IDLETIME 1000" };
            assert_eq!(client.line(&format!("RESTORE {key} 0 {payload} {clock}")).to_string(), "+OK");
        }
        caller.line(&line.replace("PAYLOAD", &payloads[0]));
        told.push(format!("{line}: {}", accessed(&mut client, counts)));
    }
    told
}

/// The keys of the first two databases that differ from their restored state.
fn accessed(client: &mut Client, counts: bool) -> String {
    let mut found = Vec::new();
    for db in 0..2 {
        client.line(&format!("SELECT {db}"));
        let mut keys = client.line("KEYS *").into_elements().expect("a list");
        keys.sort_by(|one, other| one.as_bytes().cmp(&other.as_bytes()));
        for name in keys.iter().filter_map(Reply::as_bytes).map(String::from_utf8_lossy) {
            let reading = client.line(&format!("OBJECT {} {name}", if counts { "FREQ" } else { "IDLETIME" }));
            match (counts, reading.as_int().expect("the policy is the one of this reading")) {
                (false, 900..) | (true, 100) => {}
                (false, _) => found.push(format!("{db} {name}")),
                (true, 5) => found.push(format!("{db} {name} new")),
                (true, _) => found.push(format!("{db} {name} counted")),
            }
        }
    }
    client.line("SELECT 0");
    found.join(", ")
}

#[track_caller]
fn compare(kind: Kind, is_quiet: bool, is_compared: impl Fn(&str) -> bool) {
    let Some(real) = RealServer::start(kind, &[]) else { return };
    let ours = ours::server();
    for counts in [false, true] {
        let [real, ours] = [effects(&real, is_quiet, counts), effects(&ours, is_quiet, counts)];
        let differ = real.iter().zip(&ours).filter(|(real, ours)| real != ours && is_compared(real));
        let differ: Vec<String> = differ.map(|(real, ours)| format!("{real}\n  ours: {ours}")).collect();
        assert!(differ.is_empty(), "counts: {counts}\n{}", differ.join("\n"));
        assert!(real.len() > 150, "the lines were run");
    }
}

#[test]
fn the_same_commands_access_a_key_as_in_redis() {
    compare(Kind::Redis, false, |_| true);
}

/// In Valkey, a key that is renamed or moved is a new one; in Redis 7.0 it keeps its clock.
#[test]
fn with_no_touch_the_same_commands_access_a_key_as_in_valkey() {
    compare(Kind::Valkey, true, |line| !line.starts_with("RENAME") && !line.starts_with("MOVE"));
}
