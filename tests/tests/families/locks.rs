//! Native locks, line by line, in both protocols, on a clock that stands still.

use lockwheel_tests::client::Client;
use lockwheel_tests::ours;

/// The answer of LOCK.ACQUIRE, in RESP2 and RESP3.
fn granted(token: i64, holds: i64, ttl: i64, waited: i64, predecessor: &str) -> [String; 2] {
    let fields = [
        ("token", format!(":{token}")),
        ("holds", format!(":{holds}")),
        ("ttl", format!(":{ttl}")),
        ("waited", format!(":{waited}")),
        ("predecessor", format!("\"{predecessor}\"")),
    ];
    let written = |between: &str| {
        fields.each_ref().map(|(name, value)| format!("\"{name}\"{between}{value}")).join(", ")
    };
    [format!("[{}]", written(", ")), format!("{{{}}}", written(": "))]
}

macro_rules! check_granted {
    ($on:expr, $line:expr, $($field:expr),*) => {{
        let [resp2, resp3] = granted($($field),*);
        $on.check3($line, &resp2, &resp3)
    }};
}

macro_rules! expect_granted {
    ($on:expr, $($field:expr),*) => {{
        let [resp2, resp3] = granted($($field),*);
        $on.expect3(&resp2, &resp3)
    }};
}

#[test]
fn a_lock_is_taken_once_re_entered_and_given_back() {
    let mut s = ours::manual_scenario();
    check_granted!(s, "LOCK.ACQUIRE l a", 1, 1, 30000, 0, "none");
    s.check("LOCK.ACQUIRE l b", "(nil)");
    check_granted!(s, "LOCK.ACQUIRE l a PX 5000", 1, 2, 5000, 0, "none");
    s.check("LOCK.RELEASE l b", "-NOTHELD this owner does not hold the lock");
    s.check("LOCK.RELEASE l a", ":1").check("LOCK.RELEASE l a", ":0");
    s.check("LOCK.RELEASE l a", "-NOTHELD this owner does not hold the lock");
    check_granted!(s, "LOCK.ACQUIRE l b EX 1", 2, 1, 1000, 0, "released");
    s.check("LOCK.ACQUIRE l a", "(nil)").check("LOCK.RELEASE l b ALL", ":0");
}

#[test]
fn bad_arguments_are_refused_and_change_nothing() {
    let mut s = ours::manual_scenario();
    for (line, error) in [
        ("LOCK.ACQUIRE l", "-ERR wrong number of arguments for 'lock.acquire' command"),
        ("LOCK.ACQUIRE l a PX", "-ERR syntax error: expected milliseconds at the end"),
        ("LOCK.ACQUIRE l a PX 1 EX 1", "-ERR syntax error: 'PX' and 'EX' exclude each other"),
        (
            "LOCK.ACQUIRE l a FOO 1",
            "-ERR syntax error: expected SHARED, EXCLUSIVE, FAIR, EX, PX, BLOCK, PRIORITY, \
             NOREENTER, MAXHOLDS, FENCED, LAYOUT, SESSION, PING, FENCE, DELAY, DATA, \
             GETHOLDER or ASYNC, found 'FOO'",
        ),
        ("LOCK.ACQUIRE l a PX 0", "-ERR invalid expire time in 'lock.acquire' command: *"),
        ("LOCK.ACQUIRE l a PX -1", "-ERR invalid expire time in 'lock.acquire' command: *"),
        ("LOCK.ACQUIRE l a PX 9223372036854775807", "-ERR invalid expire time in 'lock.acquire' command: *"),
        ("LOCK.ACQUIRE l a EX 9223372036854775807", "-ERR invalid expire time in 'lock.acquire' command: *"),
        ("LOCK.ACQUIRE l a PX x", "-ERR value is not an integer or out of range: *"),
        ("LOCK.ACQUIRE l a BLOCK -1", "-ERR timeout is negative: *"),
        ("LOCK.ACQUIRE l a BLOCK x", "-ERR timeout is not an integer or out of range: *"),
        ("LOCK.ACQUIRE l mode", "-ERR invalid owner: *"),
        ("LOCK.ACQUIRE l a:write", "-ERR invalid owner: *"),
        ("LOCK.ACQUIRE l ''", "-ERR invalid owner: *"),
        (
            "LOCK.RELEASE l a SOME",
            "-ERR syntax error: expected SHARED, EXCLUSIVE, ALL or TOKEN, found 'SOME'",
        ),
        ("LOCK.RELEASE l a ALL ALL", "-ERR syntax error: 'ALL' is given twice"),
        ("LOCK.RELEASE l a TOKEN", "-ERR syntax error: expected token at the end"),
        ("LOCK.RELEASE l a TOKEN 1 TOKEN 1", "-ERR syntax error: 'TOKEN' is given twice"),
        ("LOCK.RELEASE l a TOKEN x", "-ERR value is not an integer or out of range: *"),
        ("LOCK.RENEW 1 l a PX 1 GT GT", "-ERR syntax error: 'GT' is given twice"),
        ("LOCK.RENEW 1 l a PX 1 TOKEN", "-ERR syntax error: expected token at the end"),
        ("LOCK.RENEW 0 a b PX 1", "-ERR numkeys should be greater than 0: *"),
        ("LOCK.RENEW 3 l a PX 1", "-ERR syntax error: expected EX or PX at the end"),
        ("LOCK.RENEW 1 l a FOO 1", "-ERR syntax error: expected EX or PX, found 'FOO'"),
        ("LOCK.RENEW 1 l a PX 0", "-ERR invalid expire time in 'lock.renew' command: *"),
        ("LOCK.RENEW 1 l a PX 1 LT", "-ERR syntax error: expected GT or TOKEN, found 'LT'"),
    ] {
        s.check(line, error);
    }
    s.check3(
        "LOCK.INFO l",
        r#"["mode", "free", "layout", "none", "ttl", :-2, "holders", [], "waiters", []]"#,
        r#"{"mode": "free", "layout": "none", "ttl": :-2, "holders": [], "waiters": []}"#,
    );
}

#[test]
fn waiters_are_served_in_order_of_arrival() {
    let mut s = ours::manual_scenario();
    s.run("LOCK.ACQUIRE l a");
    for (n, name) in ["b", "c", "d"].into_iter().enumerate() {
        s.on(name).send(&format!("LOCK.ACQUIRE l {name} PX 1000 BLOCK 0"));
        s.check(&format!("AWAIT.BLOCKED {} KEY l", n + 1), ":1");
    }
    s.check3(
        "LOCK.INFO l",
        concat!(
            r#"["mode", "exclusive", "layout", "hash", "ttl", :30000, "#,
            r#""holders", [["owner", "a", "mode", "exclusive", "holds", :1, "kind", "native", "#,
            r#""token", :1, "grant", :1]], "#,
            r#""waiters", [["owner", "b", "mode", "exclusive", "kind", "native", "client", :2], "#,
            r#"["owner", "c", "mode", "exclusive", "kind", "native", "client", :3], "#,
            r#"["owner", "d", "mode", "exclusive", "kind", "native", "client", :4]]]"#,
        ),
        concat!(
            r#"{"mode": "exclusive", "layout": "hash", "ttl": :30000, "#,
            r#""holders": [{"owner": "a", "mode": "exclusive", "holds": :1, "kind": "native", "#,
            r#""token": :1, "grant": :1}], "#,
            r#""waiters": [{"owner": "b", "mode": "exclusive", "kind": "native", "client": :2}, "#,
            r#"{"owner": "c", "mode": "exclusive", "kind": "native", "client": :3}, "#,
            r#"{"owner": "d", "mode": "exclusive", "kind": "native", "client": :4}]}"#,
        ),
    );
    s.run("CLOCK.ADVANCE 10");
    s.check("LOCK.RELEASE l a", ":0");
    expect_granted!(s.on("b"), 2, 1, 1000, 10, "released");
    s.run("CLOCK.ADVANCE 1000");
    expect_granted!(s.on("c"), 3, 1, 1000, 1010, "expired");
    s.check_that("LOCK.RELEASE l b", |reply| {
        let text = reply.to_string();
        text.starts_with("-LOCKLOST this owner lost the lock: grant 2 ended (expired) at ")
            && text.ends_with(", current grant 3")
    });
}

#[test]
fn a_wait_ends_at_its_timeout() {
    let mut s = ours::manual_scenario();
    s.run("LOCK.ACQUIRE l a");
    s.on("b").send("LOCK.ACQUIRE l b BLOCK 500");
    s.check("AWAIT.BLOCKED 1 KEY l", ":1");
    s.run("CLOCK.ADVANCE 499");
    s.check("AWAIT.BLOCKED 1 KEY l", ":1");
    s.run("CLOCK.ADVANCE 1");
    s.on("b").expect("(nil)").check("PING", "+PONG");
    s.check("LOCK.RELEASE l a", ":0");
}

#[test]
fn every_removal_of_the_key_wakes_the_waiter() {
    let mut s = ours::manual_scenario();
    s.run("LOCK.ACQUIRE l a");
    s.on("b").send("LOCK.ACQUIRE l b BLOCK 0");
    s.check("AWAIT.WAITERS l 1", ":1");
    s.check("FLUSHALL", "+OK");
    expect_granted!(s.on("b"), 2, 1, 30000, 0, "deleted");
    s.on("c").send("LOCK.ACQUIRE l c BLOCK 0");
    s.check("AWAIT.WAITERS l 1", ":1").check("DEL l", ":1");
    expect_granted!(s.on("c"), 3, 1, 30000, 0, "deleted");
}

/// A waiter whose owner has come to hold the lock is served, whatever its place in the queue.
#[test]
fn a_waiter_that_already_holds_the_lock_is_served_at_any_place() {
    let mut s = ours::manual_scenario();
    s.run("LOCK.ACQUIRE l a PX 100");
    for (n, (name, owner)) in [("b", "x"), ("c", "z"), ("d", "x")].into_iter().enumerate() {
        s.on(name).send(&format!("LOCK.ACQUIRE l {owner} PX 1000 BLOCK 50000"));
        s.check(&format!("AWAIT.BLOCKED {} KEY l", n + 1), ":1");
    }
    s.run("CLOCK.ADVANCE 100");
    expect_granted!(s.on("b"), 2, 1, 1000, 100, "expired");
    expect_granted!(s.on("d"), 2, 2, 1000, 100, "none");
    s.check("LOCK.RELEASE l x ALL", ":0");
    expect_granted!(s.on("c"), 3, 1, 1000, 100, "released");
    // A script releases it as well.
    s.on("b").send("LOCK.ACQUIRE l y BLOCK 0");
    s.check("AWAIT.BLOCKED 1 KEY l", ":1");
    s.on("c").send("LOCK.ACQUIRE l v PX 1000 BLOCK 0");
    s.check("AWAIT.BLOCKED 2 KEY l", ":1");
    s.run("EVAL \"redis.call('del', KEYS[1]) redis.call('hset', KEYS[1], ARGV[1], 1)\" 1 l v");
    s.check("AWAIT.BLOCKED 1 KEY l", ":1").check("HGET l v", "\"2\"");
}

#[test]
fn lock_renew_sets_the_leases_of_held_locks() {
    let mut s = ours::manual_scenario();
    s.run("LOCK.ACQUIRE l a PX 1000");
    s.run("LOCK.ACQUIRE m a PX 1000");
    s.run("LOCK.ACQUIRE n b PX 1000");
    s.check("LOCK.RENEW 3 l m n a PX 2000", "[:1, :1, :0]");
    s.check("PTTL l", ":2000").check("PTTL n", ":1000");
    s.check("LOCK.RENEW 1 l a PX 500 GT", "[:0]")
        .check("LOCK.RENEW 1 l a EX 3 GT", "[:1]")
        .check("PTTL l", ":3000");
}

#[test]
fn a_release_notifies_waiters_of_redisson() {
    let mut s = ours::manual_scenario();
    s.on("w")
        .send("SUBSCRIBE redisson_lock__channel:{l}")
        .expect_push(r#"["subscribe", "redisson_lock__channel:{l}", :1]"#);
    s.check("AWAIT.WAITERS l 1", ":1");
    s.run("LOCK.ACQUIRE l a");
    s.run("LOCK.ACQUIRE l a");
    s.check("LOCK.RELEASE l a", ":1").check("LOCK.RELEASE l a", ":0");
    s.on("w").expect_push(r#"["message", "redisson_lock__channel:{l}", "0"]"#);
}

#[test]
fn other_layouts_are_not_mixed_up() {
    let mut s = ours::manual_scenario();
    s.run("HSET rw mode read u:1 1");
    s.check("LOCK.ACQUIRE rw a", "-LOCKMODE the key holds a read-write lock");
    s.check("LOCK.RELEASE rw a", "-NOTHELD this owner does not hold the lock");
    s.run("SET text a");
    s.check("LOCK.ACQUIRE text a", "-WRONGTYPE Operation against a key holding the wrong kind of value");
    s.run("HSET odd a x");
    s.check("LOCK.ACQUIRE odd a", "-ERR hash value is not an integer");
}

#[test]
fn block_does_not_wait_in_transactions_and_scripts() {
    let mut s = ours::manual_scenario();
    s.run("LOCK.ACQUIRE l a");
    s.check("MULTI", "+OK").check("LOCK.ACQUIRE l b BLOCK 0", "+QUEUED").check("EXEC", "[(nil)]");
    s.check("EVAL \"return redis.call('lock.acquire', 'l', 'b', 'BLOCK', 0)\" 0", "(nil)");
}

/// A thousand waiters, and one release after another: each release wakes one client and retries at most one more.
#[test]
fn one_release_wakes_one_of_a_thousand_waiters() {
    let server = ours::manual_server();
    let mut main = Client::connect(server.addr());
    main.line("LOCK.ACQUIRE l holder");
    let mut waiters: Vec<Client> = (0..1000).map(|_| Client::connect(server.addr())).collect();
    for (n, waiter) in waiters.iter_mut().enumerate() {
        waiter.send_line(&format!("LOCK.ACQUIRE l w{n} BLOCK 0"));
        assert_eq!(main.line(&format!("AWAIT.BLOCKED {} KEY l", n + 1)).to_string(), ":1");
    }
    let before = server.unblocked_clients();
    for (n, waiter) in waiters.iter_mut().enumerate().take(10) {
        let owner = if n == 0 { "holder".to_owned() } else { format!("w{}", n - 1) };
        assert_eq!(main.line(&format!("LOCK.RELEASE l {owner}")).to_string(), ":0");
        assert!(waiter.read_reply().to_string().contains("released"), "waiter {n} is next");
        assert_eq!(server.unblocked_clients() - before, n as u64 + 1, "one wake a release");
        let left = 999 - n;
        assert_eq!(main.line(&format!("AWAIT.BLOCKED {left} KEY l")).to_string(), ":1");
    }
}

#[test]
fn noreenter_and_maxholds_limit_the_holds_of_an_owner() {
    let mut s = ours::manual_scenario();
    check_granted!(s, "LOCK.ACQUIRE l a NOREENTER", 1, 1, 30000, 0, "none");
    s.check("LOCK.ACQUIRE l a NOREENTER", "-REENTRANT this owner already holds the lock");
    check_granted!(s, "LOCK.ACQUIRE l a MAXHOLDS 2", 1, 2, 30000, 0, "none");
    let limit = "-HOLDLIMIT this owner already holds the lock 2 times, MAXHOLDS is 2";
    s.check("LOCK.ACQUIRE l a MAXHOLDS 2 BLOCK 100", limit);
    s.check("LOCK.ACQUIRE l b NOREENTER", "(nil)");
    for (options, error) in [
        ("NOREENTER MAXHOLDS 2", "'NOREENTER' and 'MAXHOLDS' exclude each other"),
        ("MAXHOLDS", "expected count at the end"),
        ("LAYOUT LIST", "expected HASH or STRING, found 'LIST'"),
        ("LAYOUT", "expected HASH or STRING at the end"),
    ] {
        s.check(&format!("LOCK.ACQUIRE l a {options}"), &format!("-ERR syntax error: {error}"));
    }
    s.check("LOCK.ACQUIRE l a MAXHOLDS 0", "-ERR value is out of range, must be positive: *");
}

#[test]
fn a_higher_priority_is_served_before_earlier_arrivals() {
    let mut s = ours::manual_scenario();
    s.run("LOCK.ACQUIRE l a");
    let waiters =
        [("b", 0i64), ("c", 5), ("d", -9223372036854775808), ("e", 5), ("f", 9223372036854775807), ("g", 0)];
    for (n, (name, priority)) in waiters.into_iter().enumerate() {
        let said = if priority == 0 { String::new() } else { format!(" PRIORITY {priority}") };
        s.on(name).send(&format!("LOCK.ACQUIRE l {name} BLOCK 0{said}"));
        s.check(&format!("AWAIT.WAITERS l {}", n + 1), ":1");
    }
    for (n, name) in ["f", "c", "e", "b", "g", "d"].into_iter().enumerate() {
        s.check(
            &format!("LOCK.RELEASE l {}", if n == 0 { "a" } else { ["f", "c", "e", "b", "g"][n - 1] }),
            ":0",
        );
        expect_granted!(s.on(name), n as i64 + 2, 1, 30000, 0, "released");
    }
    s.check("LOCK.ACQUIRE l x PRIORITY y", "-ERR value is not an integer or out of range: *");
}
