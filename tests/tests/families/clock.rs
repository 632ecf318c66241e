//! The manual clock: everything due fires in order, at its own instant, the same in every run.

use lockwheel_tests::client::Client;
use lockwheel_tests::ours;
use lockwheel_tests::rng::Rng;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Connections that hold deadlines, besides the one that advances the clock and the one that subscribes.
const CONNECTIONS: usize = 48;
/// Keys with a deadline that each of them sets.
const KEYS: usize = 21;
/// All deadlines lie within this number of milliseconds: there are far more deadlines, so that many coincide.
const SPAN_MS: u64 = 400;
/// Locks that the connections contend for.
const LOCKS: usize = 6;

/// A deadline and its effect.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    /// A plain key expires.
    Key(String),
    /// A lock's lease expires.
    Lease(usize),
}

/// A lock of the model: its waiters, each with the requested lease.
#[derive(Clone, Debug, Default)]
struct Lock {
    waiters: Vec<(usize, u64)>,
    served: usize,
}

/// The expected result: every `expired` event in order, and the instant of each grant.
#[derive(Debug, Default)]
struct Expected {
    expired: Vec<String>,
    granted: Vec<(usize, u64)>,
}

/// Plays the deadlines in order of (instant, creation).
fn play(mut due: BinaryHeap<Reverse<(u64, u64, Due)>>, mut created: u64, locks: &mut [Lock]) -> Expected {
    let mut expected = Expected::default();
    while let Some(Reverse((at, _, what))) = due.pop() {
        match what {
            Due::Key(key) => expected.expired.push(key),
            Due::Lease(index) => {
                expected.expired.push(format!("lock:{index}"));
                let lock = &mut locks[index];
                if let Some(&(connection, lease)) = lock.waiters.get(lock.served) {
                    lock.served += 1;
                    expected.granted.push((connection, at));
                    created += 1;
                    due.push(Reverse((at + lease, created, Due::Lease(index))));
                }
            }
        }
    }
    expected
}

/// A connection and all bytes it has received.
struct Tape {
    client: Client,
    bytes: Vec<u8>,
}

impl Tape {
    fn connect(server: &lockwheel::Server) -> Self {
        Tape { client: Client::connect(server.addr()), bytes: Vec::new() }
    }

    fn line(&mut self, line: &str) -> String {
        self.client.send_line(line);
        self.read()
    }

    fn read(&mut self) -> String {
        let reply = self.client.read_frame().to_string();
        self.bytes.extend(self.client.raw());
        reply
    }
}

/// Performs one run. Returns the bytes that each connection received, after checking them against the model.
fn run(seed: u64) -> Vec<Vec<u8>> {
    let server = ours::manual_server();
    let mut rng = Rng::new(seed);
    let mut turner = Tape::connect(&server);
    // A manual clock starts at the system's time, but the runs must be equal.
    turner.line("CLOCK.SET 1000000000000");
    let mut listener = Tape::connect(&server);
    assert_eq!(turner.line("CONFIG SET notify-keyspace-events Ex"), "+OK");
    listener.line("SUBSCRIBE __keyevent@0__:expired");
    let mut clients: Vec<Tape> = (0..CONNECTIONS).map(|_| Tape::connect(&server)).collect();

    let mut due = BinaryHeap::new();
    let mut created = 0;
    let mut locks = vec![Lock::default(); LOCKS];
    for index in 0..LOCKS {
        let lease = 1 + rng.below(SPAN_MS as usize) as u64;
        turner.line(&format!("LOCK.ACQUIRE lock:{index} holder PX {lease}"));
        created += 1;
        due.push(Reverse((lease, created, Due::Lease(index))));
    }
    for (n, client) in clients.iter_mut().enumerate() {
        for key in 0..KEYS {
            let (name, ms) = (format!("key:{n}:{key}"), 1 + rng.below(SPAN_MS as usize) as u64);
            assert_eq!(client.line(&format!("SET {name} v PX {ms}")), "+OK");
            created += 1;
            due.push(Reverse((ms, created, Due::Key(name))));
        }
    }
    let mut timeouts = vec![None; CONNECTIONS];
    for (n, client) in clients.iter_mut().enumerate() {
        if n % 2 == 0 {
            let ms = 1 + rng.below(SPAN_MS as usize) as u64;
            client.client.send_line(&format!("BLPOP list:{n} {}", ms as f64 / 1000.0));
            timeouts[n] = Some(ms);
        } else {
            let (index, lease) = (rng.below(LOCKS), 1 + rng.below(30) as u64);
            client.client.send_line(&format!("LOCK.ACQUIRE lock:{index} c{n} PX {lease} BLOCK 0"));
            locks[index].waiters.push((n, lease));
        }
        assert_eq!(turner.line(&format!("AWAIT.BLOCKED {}", n + 1)), ":1");
    }
    let expected = play(due, created, &mut locks);

    let mut turned = 0;
    while turned < SPAN_MS + 30 * CONNECTIONS as u64 {
        let ms = rng.below(97) as u64;
        assert!(turner.line(&format!("CLOCK.ADVANCE {ms}")).contains("wall"));
        turned += ms;
    }
    for name in &expected.expired {
        let message = listener.read();
        assert_eq!(message, format!(r#"["message", "__keyevent@0__:expired", "{name}"]"#));
    }
    for (n, at) in expected.granted {
        let granted = clients[n].read();
        assert!(granted.contains(&format!(r#""waited", :{at},"#)), "connection {n} at {at}: {granted}");
    }
    for (client, timeout) in clients.iter_mut().zip(&timeouts) {
        if timeout.is_some() {
            assert_eq!(client.read(), "(nil)");
        }
        assert_eq!(client.line("PING"), "+PONG");
    }
    [turner, listener].into_iter().chain(clients).map(|tape| tape.bytes).collect()
}

#[test]
fn a_thousand_deadlines_fire_in_the_same_order_every_time() {
    for seed in [1, 2, 3] {
        assert!(run(seed) == run(seed), "two runs of seed {seed} differ");
    }
}

#[test]
fn deadlines_at_one_instant_fire_in_the_order_of_creation() {
    let server = ours::manual_server();
    let mut main = Client::connect(server.addr());
    let mut waiter = Client::connect(server.addr());
    // The lease was made first: it expires first, and the waiter gets the lock.
    main.line("LOCK.ACQUIRE l a PX 100");
    waiter.send_line("LOCK.ACQUIRE l b BLOCK 100");
    main.line("AWAIT.BLOCKED 1");
    main.line("CLOCK.ADVANCE 100");
    assert!(waiter.read_reply().to_string().contains(r#""predecessor", "expired""#));
    // The wait began first: it ends first.
    waiter.send_line("LOCK.ACQUIRE l c BLOCK 100");
    main.line("AWAIT.BLOCKED 1");
    main.line("LOCK.RENEW 1 l b PX 100");
    main.line("CLOCK.ADVANCE 100");
    assert_eq!(waiter.read_reply().to_string(), "(nil)");
}

#[test]
fn each_clock_command_changes_the_clock_as_documented() {
    let mut s = ours::manual_scenario();
    s.check("CLOCK.SET 1000000", ":1000000");
    s.check("CLOCK.STEP 500", ":1000500").check("CLOCK.STEP -500", ":1000000");
    s.check("SET k v PX 100", "+OK").check("SET l v PX 300", "+OK");
    s.check_that("CLOCK.INFO", |info| {
        let text = info.to_string();
        ["manual", ":1000000", ":100"].iter().all(|part| text.contains(part))
    });
    s.check3(
        "CLOCK.NEXT",
        r#"["wall", :1000100, "fired", :1, "settled", :1, "what", [["expiry", "k"]]]"#,
        r#"{"wall": :1000100, "fired": :1, "settled": :1, "what": [["expiry", "k"]]}"#,
    );
    s.check("EXISTS k", ":0").check("PTTL l", ":200");
    s.check3(
        "CLOCK.ADVANCE 199",
        r#"["wall", :1000299, "fired", :0, "settled", :1]"#,
        r#"{"wall": :1000299, "fired": :0, "settled": :1}"#,
    );
    s.check3(
        "CLOCK.NEXT COUNT 5",
        r#"["wall", :1000300, "fired", :1, "settled", :1, "what", [["expiry", "l"]]]"#,
        r#"{"wall": :1000300, "fired": :1, "settled": :1, "what": [["expiry", "l"]]}"#,
    );
    s.check("CLOCK.NEXT", "(nil)").check("EXISTS l", ":0");
    s.check("TIME", r#"["1000", "300000"]"#);
    s.check("CLOCK.FREEZE", ":1000300").check("CLOCK.FREEZE", ":1000300");
}

/// Deadlines of one instant: keys, waits and idle clients, in the order of their creation.
#[test]
fn clock_next_returns_the_fired_deadlines() {
    let mut s = ours::manual_scenario();
    s.run("SELECT 3");
    s.check("SET a v PX 1000", "+OK");
    s.on("w").send("BLPOP list 1");
    s.check("AWAIT.BLOCKED 1", ":1").check("SET b v PX 1000", "+OK").check("SET c v PX 2000", "+OK");
    s.run("CONFIG SET timeout 3");
    s.check_that("CLOCK.NEXT COUNT 2", |reply| {
        let what = r#"[["expiry", "a"], ["timeout", :2], ["expiry", "b"], ["expiry", "c"]]"#;
        reply.to_string().contains(what)
    });
    s.on("w").expect("(nil)");
    s.on("x").check("PING", "+PONG");
    s.check_that("CLOCK.NEXT COUNT 2", |reply| reply.to_string().contains(r#"["idle", :"#));
}

/// Deadlines that no advance of the clock reaches: nothing fires, nothing is counted, and no search is endless.
#[test]
fn a_deadline_out_of_reach_is_never_the_next() {
    let mut s = ours::manual_scenario();
    s.check("SET far v PXAT 9223372036854775807", "+OK");
    s.on("w").send("BLPOP q 9223370000000000");
    s.check("AWAIT.BLOCKED 1", ":1");
    let before = s.run("TIME");
    s.check("CLOCK.NEXT", "(nil)").check("CLOCK.NEXT COUNT 9223372036854775807", "(nil)");
    s.check_that("CLOCK.INFO", |info| {
        let text = info.to_string().replace("\": ", "\", ");
        text.contains(r#""next", (nil)"#) && text.contains(r#""timers", :2"#)
    });
    s.check("SET near v PX 100", "+OK");
    s.check_that("CLOCK.NEXT COUNT 9223372036854775807", |reply| {
        reply.to_string().replace("\": ", "\", ").contains(r#""fired", :1"#)
    });
    s.check("CLOCK.NEXT", "(nil)").check("EXISTS far near", ":1").check("AWAIT.BLOCKED 1", ":1");
    assert_ne!(s.run("TIME"), before);
    assert_eq!(s.servers()[0].next(), None);
}

#[test]
fn stepping_the_wall_moves_no_wait() {
    let mut s = ours::manual_scenario();
    s.check("SET k v PX 1000", "+OK");
    s.on("w").send("BLPOP list 1");
    s.check("AWAIT.BLOCKED 1", ":1");
    s.run("CLOCK.STEP 1000");
    s.check("EXISTS k", ":0").check("AWAIT.BLOCKED 1", ":1");
    s.run("CLOCK.STEP -5000");
    s.check("EXISTS k", ":0");
    s.run("CLOCK.ADVANCE 1000");
    s.on("w").expect("(nil)");
}

#[test]
fn a_running_clock_keeps_its_offset() {
    let server = ours::server();
    let mut client = Client::connect(server.addr());
    client.line("CLOCK.ADVANCE 3600000");
    client.line("CLOCK.FREEZE");
    assert_eq!(client.line("CLOCK.RESUME").as_int().map(|wall| wall > 0), Some(true));
    let offset = client.line("CLOCK.INFO").to_string();
    assert!(offset.contains(r#""mode", "real""#), "{offset}");
    let text = offset.split(r#""offset", :"#).nth(1).and_then(|rest| rest.split(',').next()).unwrap();
    let ms: i64 = text.parse().unwrap();
    assert!((3_599_000..=3_600_000).contains(&ms), "an hour, less the time it stood still: {ms}");
    client.line("CLOCK.RESET");
    assert!(client.line("CLOCK.INFO").to_string().contains(r#""offset", :0"#));
}

#[test]
fn bad_arguments_are_refused() {
    let mut s = ours::manual_scenario();
    for (line, error) in [
        ("CLOCK.ADVANCE -1", "-ERR value is not an integer or out of range: *"),
        ("CLOCK.ADVANCE x", "-ERR value is not an integer or out of range: *"),
        ("CLOCK.ADVANCE 9223372036854775807", "-ERR time is out of range: *"),
        ("CLOCK.STEP -9223372036854775808", "-ERR time is out of range: *"),
        ("CLOCK.SET 9223372036854775807", "-ERR time is out of range: *"),
        ("CLOCK.SET -1", "-ERR time is out of range: *"),
        ("CLOCK.NEXT COUNT 0", "-ERR value is out of range, must be positive: *"),
        ("CLOCK.NEXT 1", "-ERR syntax error: expected COUNT, NOWAKE or SETTLE, found '1'"),
        ("CLOCK.NEXT SETTLE", "-ERR syntax error: expected quiet-milliseconds at the end"),
        ("CLOCK.NEXT SETTLE 0", "-ERR value is out of range, must be positive: *"),
        ("CLOCK.ADVANCE 1 SETTLE 20 LIMIT", "-ERR syntax error: expected milliseconds at the end"),
        ("CLOCK.ADVANCE 1 SETTLE 20 LIMIT 0", "-ERR value is out of range, must be positive: *"),
        ("CLOCK.ADVANCE 1 LIMIT 20", "-ERR syntax error: expected NOWAKE or SETTLE, found 'LIMIT'"),
        ("CLOCK.ADVANCE 1 SETTLE 20 SETTLE 20", "-ERR syntax error: 'SETTLE' is given twice"),
        ("CLOCK.ADVANCE 1 COUNT 2", "-ERR syntax error: expected NOWAKE or SETTLE, found 'COUNT'"),
        ("CONTROL.RESET NOW", "-ERR syntax error: expected KEEPCLIENTS, found 'NOW'"),
        ("AWAIT.BLOCKED -1", "-ERR value is out of range, must be positive: *"),
        ("AWAIT.BLOCKED 1 LIMIT", "-ERR syntax error: expected milliseconds at the end"),
        ("AWAIT.KEY k MAYBE", "-ERR syntax error: expected EXISTS, GONE or TYPE, found 'MAYBE'"),
        (
            "AWAIT.KEY k TYPE exist LIMIT 1",
            "-ERR no such type 'exist': the types are string, list, set, zset, hash and stream; without TYPE, use \
             EXISTS or GONE",
        ),
    ] {
        s.check(line, error);
    }
    s.check("MULTI", "+OK").check("CLOCK.ADVANCE 1", "-ERR Command not allowed inside a transaction");
    s.check("EXEC", "-EXECABORT Transaction discarded because of previous errors.");
}

#[test]
fn await_key_ends_with_the_state_or_with_its_limit() {
    let mut s = ours::manual_scenario();
    s.check("AWAIT.KEY k GONE", ":1").check("AWAIT.KEY k EXISTS LIMIT 1", "(nil)");
    s.on("w").send("AWAIT.KEY k TYPE list");
    s.run("SET k v");
    s.run("DEL k");
    s.run("RPUSH k v");
    s.on("w").expect(":1");
    s.on("w").send("AWAIT.KEY k GONE");
    s.run("PEXPIRE k 100");
    s.run("CLOCK.ADVANCE 100");
    s.on("w").expect(":1");
    s.on("w").send("AWAIT.SUBSCRIBERS c 2");
    s.on("x").send("SUBSCRIBE c");
    s.on("y").send("SUBSCRIBE c");
    s.on("w").expect(":1");
}

/// A million timers are pending, and nothing is due: the process is not woken before the first deadline.
#[test]
fn an_idle_server_wakes_at_its_first_deadline_and_not_before() {
    let server = ours::server();
    let mut client = Client::connect(server.addr());
    client.line("CLOCK.FREEZE");
    let filled = client.line(
        "EVAL \"for i = 1, ARGV[1] do redis.call('set', 'k' .. i, 'v', 'px', 60000 + i % 1000) end \
         return redis.call('dbsize')\" 0 1000000",
    );
    assert_eq!(filled.to_string(), ":1000000");
    client.line("SET first v PX 50");
    client.line("CLOCK.RESUME");
    let before = server.timer_wakes();
    assert_eq!(client.line("AWAIT.KEY first GONE").to_string(), ":1");
    assert_eq!(server.timer_wakes() - before, 1, "one wake, at the first deadline");
    assert_eq!(client.line("DBSIZE").to_string(), ":1000000");
}
