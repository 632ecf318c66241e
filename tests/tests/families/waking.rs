//! An advanced clock ends leases that Redisson's clients count on their own machines. These clients are notified, and
//! no others.

use lockwheel::Server;
use lockwheel_tests::check::Scenario;
use lockwheel_tests::client::Client;
use lockwheel_tests::ours;

const OWNER: &str = "8743c9c0-0795-4907-87fd-6c719a6b4586:1";

/// A lock that is held for `ms`, and a subscriber to a channel.
fn listening(channel: &str, ms: u64) -> Scenario<Server> {
    let mut s = ours::manual_scenario();
    s.run(&format!("HSET l {OWNER} 1"));
    s.run(&format!("PEXPIRE l {ms}"));
    listen(&mut s, channel);
    s
}

fn listen(s: &mut Scenario<Server>, channel: &str) {
    s.on("w")
        .send(&format!("SUBSCRIBE {channel}"))
        .expect_push(&format!("[\"subscribe\", \"{channel}\", :1]"));
}

/// Requires that the subscriber got this message once, or nothing.
#[track_caller]
fn check_message(s: &mut Scenario<Server>, channel: &str, message: Option<&str>) {
    if let Some(message) = message {
        s.on("w").expect_push(&format!("[\"message\", \"{channel}\", \"{message}\"]"));
    }
    s.on("w").check3("PING", "[\"pong\", \"\"]", "+PONG");
}

const CHANNEL: &str = "redisson_lock__channel:{l}";

#[test]
fn every_clock_command_that_ends_a_lease_publishes_its_message() {
    for verb in ["CLOCK.ADVANCE 30000", "CLOCK.ADVANCE 40000", "CLOCK.NEXT", "CLOCK.STEP 30000"] {
        let mut s = listening(CHANNEL, 30_000);
        s.run(verb);
        s.check("EXISTS l", ":0");
        check_message(&mut s, CHANNEL, Some("0"));
    }
    let mut s = ours::manual_scenario();
    s.run("CLOCK.SET 5000000");
    s.run("LOCK.ACQUIRE l me PX 30000");
    listen(&mut s, CHANNEL);
    s.check("CLOCK.SET 5030000", ":5030000").check("EXISTS l", ":0");
    check_message(&mut s, CHANNEL, Some("0"));
    let server = ours::manual_server();
    let [mut main, mut waiter] = [0; 2].map(|_| Client::connect(server.addr()));
    main.line("LOCK.ACQUIRE l me PX 30000");
    waiter.line(&format!("SUBSCRIBE {CHANNEL}"));
    server.advance(std::time::Duration::from_secs(30)).unwrap();
    assert_eq!(waiter.read_reply().to_string(), format!("[\"message\", \"{CHANNEL}\", \"0\"]"));
}

#[test]
fn nowake_suppresses_notifications() {
    for verb in ["CLOCK.ADVANCE 30000 NOWAKE", "CLOCK.NEXT NOWAKE", "CLOCK.NEXT NOWAKE COUNT 2"] {
        let mut s = listening(CHANNEL, 30_000);
        s.run(verb);
        s.check("EXISTS l", ":0");
        check_message(&mut s, CHANNEL, None);
    }
    let mut s = listening(CHANNEL, 30_000);
    let expected = "-ERR syntax error: expected NOWAKE or SETTLE, found 'WAKE'. Did you mean 'NOWAKE'?";
    s.check("CLOCK.ADVANCE 1 WAKE", expected)
        .check("CLOCK.NEXT NOWAKE NOWAKE", "-ERR syntax error: 'NOWAKE' is given twice");
    s.run("CLOCK.ADVANCE 1 NOWAKE");
    s.run("CLOCK.ADVANCE 29999");
    check_message(&mut s, CHANNEL, Some("0"));
}

#[test]
fn each_kind_of_lock_has_its_channel_and_its_message() {
    for (mode, message) in [("read", "0"), ("write", "1")] {
        let mut s = listening("redisson_rwlock:{l}", 30_000);
        s.run(&format!("HSET l mode {mode}"));
        s.run("CLOCK.ADVANCE 30000");
        check_message(&mut s, "redisson_rwlock:{l}", Some(message));
    }
    let fair = format!("{CHANNEL}:{OWNER}");
    for (head, told) in [(OWNER, Some("0")), ("another", None)] {
        let mut s = listening(&fair, 30_000);
        s.run(&format!("RPUSH redisson_lock_queue:{{l}} {head} next"));
        s.run("CLOCK.ADVANCE 30000");
        check_message(&mut s, &fair, told);
    }
    // A key that is no lock has no such message.
    let mut s = listening("redisson_lock__channel:{text}", 60_000);
    s.run("SET text v PX 30000");
    s.run("CLOCK.ADVANCE 30000");
    check_message(&mut s, CHANNEL, None);
}

/// A native waiter's grant during the advance ends before its end, and that end is published as well.
#[test]
fn leases_that_begin_during_an_advance_also_end_in_it() {
    let mut s = listening(CHANNEL, 1000);
    s.on("n").send("LOCK.ACQUIRE l n PX 1000 BLOCK 0");
    s.check("AWAIT.BLOCKED 1 KEY l", ":1");
    s.run("CLOCK.ADVANCE 3000");
    s.on("w").expect_push(&format!("[\"message\", \"{CHANNEL}\", \"0\"]"));
    check_message(&mut s, CHANNEL, Some("0"));
}

/// Time runs: a real lease of some milliseconds, with the clock advanced or not.
#[test]
fn a_lease_shortened_by_an_advance_is_published_at_its_real_end() {
    let server = ours::server();
    let [mut main, mut waiter] = [0; 2].map(|_| Client::connect(server.addr()));
    waiter.line(&format!("SUBSCRIBE {CHANNEL}"));
    main.line("LOCK.ACQUIRE l me PX 30000");
    main.line("CLOCK.ADVANCE 29900");
    assert_eq!(main.line("AWAIT.KEY l GONE LIMIT 60000").to_string(), ":1");
    assert_eq!(waiter.read_reply().to_string(), format!("[\"message\", \"{CHANNEL}\", \"0\"]"));
    // This lease was made after the advance: real time ends it, and as in Redis nobody is notified.
    main.line("LOCK.ACQUIRE l me PX 20");
    assert_eq!(main.line("AWAIT.KEY l GONE LIMIT 60000").to_string(), ":1");
    assert_eq!(waiter.line("PING").to_string(), "[\"pong\", \"\"]");
    // A backward step makes the lease longer, and does not end it.
    main.line("LOCK.ACQUIRE l me PX 20");
    main.line("CLOCK.STEP -1");
    assert_eq!(main.line("AWAIT.KEY l GONE LIMIT 60000").to_string(), ":1");
    assert_eq!(waiter.line("PING").to_string(), "[\"pong\", \"\"]");
    // A renewal starts a new lease.
    main.line("LOCK.ACQUIRE l me PX 30000");
    main.line("CLOCK.ADVANCE 29000");
    main.line("LOCK.RENEW 1 l me PX 20");
    assert_eq!(main.line("AWAIT.KEY l GONE LIMIT 60000").to_string(), ":1");
    assert_eq!(waiter.line("PING").to_string(), "[\"pong\", \"\"]");
}
