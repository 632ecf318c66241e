//! `RATE.*` and `CL.THROTTLE`, line by line.

use lockwheel_tests::ours;

#[test]
fn a_rate_limits_the_permits_in_any_interval() {
    let mut s = ours::manual_scenario();
    s.check("RATE.ACQUIRE r", "-ERR the rate is not set: use RATE.SET");
    s.check("RATE.SET r 3 100", ":1").check("RATE.SET r 9 9 NX", ":0");
    s.check("HKEYS r", r#"["rate", "interval", "type", "keepAliveTime"]"#);
    s.check("HVALS r", r#"["3", "100", "0", "0"]"#);
    s.check("RATE.ACQUIRE r 2", "[:1, :1, :0]");
    s.run("CLOCK.ADVANCE 30");
    s.check("RATE.ACQUIRE r 1", "[:1, :0, :0]").check("RATE.ACQUIRE r", "[:0, :0, :70]");
    s.check("RATE.ACQUIRE r 3", "[:0, :0, :100]");
    s.run("CLOCK.ADVANCE 69");
    s.check("RATE.ACQUIRE r", "[:0, :0, :1]");
    s.run("CLOCK.ADVANCE 1");
    s.check("RATE.ACQUIRE r", "[:1, :1, :0]")
        .check("GET {r}:value", "\"1\"")
        .check("ZCARD {r}:permits", ":2");
    s.check("RATE.ACQUIRE r 4", "-ERR requested permits exceed the rate: *");
    s.check("RATE.SET r 1 10", ":1").check("EXISTS {r}:value {r}:permits", ":0");
    s.check("RATE.SET n 2 50 NX", ":1").check("HKEYS n", r#"["rate", "interval", "keepAliveTime", "type"]"#);
}

#[test]
fn waiters_are_served_in_order_each_at_its_instant() {
    let mut s = ours::manual_scenario();
    s.run("RATE.SET r 2 100");
    s.run("RATE.ACQUIRE r");
    s.run("CLOCK.ADVANCE 10");
    s.run("RATE.ACQUIRE r");
    for (n, (name, permits)) in [("a", 2), ("b", 1), ("c", 1)].into_iter().enumerate() {
        s.on(name).send(&format!("RATE.ACQUIRE r {permits} BLOCK 1000"));
        s.check(&format!("AWAIT.WAITERS r {}", n + 1), ":1");
    }
    // One permit is there, but a newcomer does not pass the waiters.
    s.run("CLOCK.ADVANCE 90");
    s.check("RATE.ACQUIRE r", "[:0, :1, :10]").check("AWAIT.WAITERS r 3", ":1");
    s.check_that("CLOCK.NEXT", |reply| reply.to_string().contains("\"retry\", \"r\""));
    s.on("a").expect("[:1, :0, :0]");
    s.run("CLOCK.ADVANCE 99");
    s.check("AWAIT.WAITERS r 2", ":1");
    s.run("CLOCK.ADVANCE 1");
    s.on("b").expect("[:1, :1, :0]");
    s.on("c").expect("[:1, :0, :0]");
    s.on("a").send("RATE.ACQUIRE r BLOCK 50");
    s.check("AWAIT.WAITERS r 1", ":1");
    s.run("CLOCK.ADVANCE 50");
    s.on("a").expect("(nil)").check("PING", "+PONG");
    s.check("CLOCK.NEXT", "(nil)");
}

#[test]
fn each_client_may_have_its_own_rate_and_queue() {
    let mut s = ours::manual_scenario();
    s.check("RATE.SET r 1 100 CLIENT x", ":1").check("HGET r type", "\"1\"");
    s.check("RATE.ACQUIRE r", "-ERR CLIENT is missing: this rate applies to each client separately");
    s.check("RATE.ACQUIRE r CLIENT x", "[:1, :0, :0]").check("RATE.ACQUIRE r CLIENT x", "[:0, :0, :100]");
    s.check("EXISTS {r}:value:x {r}:permits:x {r}:value", ":2");
    s.run("CLOCK.ADVANCE 20");
    s.check("RATE.ACQUIRE r CLIENT y", "[:1, :0, :0]");
    for (n, (name, client)) in [("a", "y"), ("b", "x"), ("c", "x")].into_iter().enumerate() {
        s.on(name).send(&format!("RATE.ACQUIRE r BLOCK 0 CLIENT {client}"));
        s.check(&format!("AWAIT.WAITERS r {}", n + 1), ":1");
    }
    s.run("CLOCK.ADVANCE 80");
    s.on("b").expect("[:1, :0, :0]");
    s.check("AWAIT.WAITERS r 2", ":1");
    s.run("CLOCK.ADVANCE 20");
    s.on("a").expect("[:1, :0, :0]");
    // A higher rate lets all waiters continue.
    s.run("HSET r rate 2");
    s.run("SET {r}:value:x 1");
    s.on("c").expect("[:1, :0, :0]");
}

/// Whatever happens to the limiter, nobody waits for permits that cannot come.
#[test]
fn waiters_follow_changes_of_the_rate() {
    for (change, told) in [
        ("DEL r", "-ERR the rate is not set: use RATE.SET"),
        ("FLUSHALL", "-ERR the rate is not set: use RATE.SET"),
        ("RENAME r s", "-ERR the rate is not set: use RATE.SET"),
        ("SET r x", "-WRONGTYPE Operation against a key holding the wrong kind of value"),
        ("RATE.SET r 1 50", "-ERR requested permits exceed the rate: *"),
        ("RATE.SET r 5 50", "[:1, :3, :0]"),
        ("DEL {r}:value", "[:1, :0, :0]"),
        ("CLOCK.STEP 100", "[:1, :0, :0]"),
        ("HSET r interval x", "-ERR hash value is not an integer"),
    ] {
        let mut s = ours::manual_scenario();
        s.run("RATE.SET r 2 100");
        s.run("RATE.ACQUIRE r");
        s.on("a").send("RATE.ACQUIRE r 2 BLOCK 0");
        s.check("AWAIT.WAITERS r 1", ":1");
        s.run(change);
        s.on("a").expect(told);
    }
}

#[test]
fn bad_requests_are_refused_and_change_nothing() {
    let mut s = ours::manual_scenario();
    s.run("RATE.SET r 3 100");
    s.run("RATE.SET most 9223372036854775807 9223372036854775807");
    s.run("RPUSH list x");
    let positive = "-ERR value is out of range, must be positive: *";
    let number = "-ERR value is not an integer or out of range: *";
    let wrong_type = "-WRONGTYPE Operation against a key holding the wrong kind of value";
    for (line, error) in [
        ("RATE.SET n 1", "-ERR wrong number of arguments for 'rate.set' command"),
        ("RATE.SET n 0 1", positive),
        ("RATE.SET n 1 0", positive),
        ("RATE.SET n x 1", number),
        ("RATE.SET n 1 1 NX NX", "-ERR syntax error: 'NX' is given twice"),
        ("RATE.SET n 1 1 CLIENT", "-ERR syntax error: expected client-id at the end"),
        ("RATE.SET list 1 1", wrong_type),
        ("RATE.ACQUIRE r 0", positive),
        ("RATE.ACQUIRE r -1", positive),
        ("RATE.ACQUIRE r x", number),
        ("RATE.ACQUIRE most 4294967296", number),
        ("RATE.ACQUIRE r 1 BLOCK", "-ERR syntax error: expected milliseconds at the end"),
        ("RATE.ACQUIRE r 1 BLOCK -1", "-ERR timeout is negative: *"),
        ("RATE.ACQUIRE r 1 CLIENT", "-ERR syntax error: expected client-id at the end"),
        ("RATE.ACQUIRE r 1 1", "-ERR syntax error: expected BLOCK or CLIENT, found '1'"),
        ("RATE.ACQUIRE list", wrong_type),
    ] {
        s.check(line, error);
    }
    s.check("DBSIZE", ":3").check("RATE.ACQUIRE most 4294967295", "[:1, :9223372032559808512, :0]");
    s.check("RATE.ACQUIRE most 4294967295", "[:1, :9223372028264841217, :0]");
    s.check("MULTI", "+OK")
        .check("RATE.ACQUIRE r 3 BLOCK 0", "+QUEUED")
        .check("RATE.ACQUIRE r BLOCK 0", "+QUEUED");
    s.check("EXEC", "[[:1, :0, :0], [:0, :0, :100]]");
    s.check("EVAL \"return redis.call('rate.acquire', 'r', '2', 'BLOCK', 0)\" 0", "[:0, :0, :100]");
    s.check_that("RATE.HELP", |reply| {
        let text = reply.to_string();
        text.contains("RATE.SET") && text.contains("RATE.ACQUIRE")
    });
}

/// The limiter's own deadline also applies to its companion keys; Redisson's keepAliveTime postpones it.
#[test]
fn companion_keys_of_a_limiter_expire_with_it() {
    let mut s = ours::manual_scenario();
    s.run("RATE.SET r 3 100");
    s.run("PEXPIRE r 700");
    s.run("RATE.ACQUIRE r");
    s.check("PTTL {r}:value", ":700").check("PTTL {r}:permits", ":700");
    s.run("HSET r keepAliveTime 5000");
    s.run("RATE.ACQUIRE r");
    s.check("PTTL r", ":5000").check("PTTL {r}:value", ":5000").check("PTTL {r}:permits", ":5000");
}

#[test]
fn throttle_answers_what_redis_cell_documents() {
    let mut s = ours::manual_scenario();
    // 16 at once, one more every two seconds.
    s.check("CL.THROTTLE user 15 30 60", "[:0, :16, :15, :-1, :2]");
    s.check("CL.THROTTLE user 15 30 60 15", "[:0, :16, :0, :-1, :32]");
    s.check("CL.THROTTLE user 15 30 60", "[:1, :16, :0, :2, :32]");
    s.check("CL.THROTTLE user 15 30 60 17", "[:1, :16, :0, :-1, :32]");
    s.check("CL.THROTTLE user 15 30 60 0", "[:0, :16, :0, :-1, :32]");
    s.run("CLOCK.ADVANCE 1999");
    s.check("CL.THROTTLE user 15 30 60", "[:1, :16, :0, :1, :31]");
    s.run("CLOCK.ADVANCE 1");
    s.check("CL.THROTTLE user 15 30 60", "[:0, :16, :0, :-1, :32]").check("PTTL user", ":32000");
    s.run("CLOCK.ADVANCE 32000");
    s.check("EXISTS user", ":0").check("CL.THROTTLE user 15 30 60 0", "[:0, :16, :16, :-1, :0]");
    s.check("EXISTS user", ":0");
    s.check("CL.THROTTLE one 0 1 2 1", "[:0, :1, :0, :-1, :2]")
        .check("CL.THROTTLE one 0 1 2 1", "[:1, :1, :0, :2, :2]");
    s.run("RPUSH list x");
    s.run("SET text x");
    let positive = "value is out of range, must be positive";
    for (line, error, argument) in [
        ("CL.THROTTLE k -1 1 1", positive, "max-burst must be an integer from 0 to N, not '-1'"),
        ("CL.THROTTLE k 1 0 1", positive, "count must be an integer from 1 to N, not '0'"),
        ("CL.THROTTLE k 1 1 0", positive, "seconds must be an integer from 1 to N, not '0'"),
        ("CL.THROTTLE k 1 1 1 -1", positive, "quantity must be an integer from 0 to N, not '-1'"),
        (
            "CL.THROTTLE k x 1 1",
            "value is not an integer or out of range",
            "max-burst must be an integer from 0 to N, not 'x'",
        ),
    ] {
        s.check(line, &format!("-ERR {error}: {}", argument.replace('N', "9223372036854775807")));
    }
    for (line, error) in [
        ("CL.THROTTLE k 1 1", "-ERR wrong number of arguments for 'cl.throttle' command"),
        ("CL.THROTTLE k 1 1 1 1 1", "-ERR syntax error: '1' is one word too many"),
        ("CL.THROTTLE text 1 1 1", "-ERR the value of the key is not an arrival time of CL.THROTTLE"),
        ("CL.THROTTLE list 1 1 1", "-WRONGTYPE Operation against a key holding the wrong kind of value"),
        (
            "CL.THROTTLE k 9223372036854775807 1 9223372036854775807",
            "-ERR max-burst or quantity is too large for this rate",
        ),
    ] {
        s.check(line, error);
    }
    s.check("EXISTS k", ":0").check(
        "CL.THROTTLE k 9223372036854775807 9223372036854775807 1",
        "[:0, :9223372036854775807, :9223372036854775807, :-1, :1]",
    );
}
