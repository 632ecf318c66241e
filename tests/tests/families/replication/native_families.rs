//! The requests that native commands send to replicas: what changes on their keys, and not the keys as a whole.

use crate::replication::servers::info;
use crate::replication::stream::{Master, Request, TODAY_MS};
use lockwheel_tests::client::{Client, split};
use lockwheel_tests::ours;
use lockwheel_tests::shapes::until;

/// A master whose time stands still, with a replica.
fn frozen() -> Master {
    let mut master = Master::new(Box::new(ours::server()));
    for line in ["CLOCK.FREEZE", "SET selects 0"] {
        master.run(&split(line));
    }
    master
}

/// Returns a word as this test spells it: times of today, random ids and members of a rate have one name each.
fn spelled(word: &[u8]) -> String {
    let number = std::str::from_utf8(word).ok().and_then(|text| text.parse::<i64>().ok());
    match word.len() {
        _ if number.is_some_and(|number| number > TODAY_MS) => "time".to_owned(),
        16 if !word.is_ascii() => "id".to_owned(),
        21 if word[0] == 16 => "member".to_owned(),
        _ => word.escape_ascii().to_string(),
    }
}

/// Returns requests as one line. MULTI and EXEC are left out, since their places are those of the first and the last
/// one.
fn text(requests: &[Request]) -> String {
    let line = |request: &Request| request.iter().map(|word| spelled(word)).collect::<Vec<_>>().join(" ");
    let lines: Vec<String> = requests.iter().map(line).collect();
    let is_transaction = lines.first().is_some_and(|line| line == "MULTI");
    assert_eq!(is_transaction, lines.last().is_some_and(|line| line == "EXEC"), "{lines:?}");
    assert!(is_transaction || lines.len() < 2, "{lines:?}");
    lines.into_iter().filter(|line| line != "MULTI" && line != "EXEC").collect::<Vec<_>>().join("; ")
}

/// Runs lines one after the other, each with what replicas get for it.
#[track_caller]
fn check(master: &mut Master, steps: &[(&str, &str)]) {
    for (line, expected) in steps {
        let sent = master.run(&split(line));
        assert_eq!(text(&sent), *expected, "{line}");
    }
}

/// Sends a request that waits, from a new connection. Returns the connection, and the requests that replicas get.
#[track_caller]
fn wait(master: &mut Master, line: &str) -> (Client, String) {
    let blocked = |master: &mut Master| info(&mut master.client, "clients", "blocked_clients");
    let before = blocked(master);
    let mut client = Client::connect(master.client.peer());
    client.send_line(line);
    until("it waits", || blocked(master) != before);
    let sent = master.run(&split("PING"));
    (client, text(&sent))
}

#[test]
fn a_lock_with_one_owner_sends_its_fields() {
    check(
        &mut frozen(),
        &[
            ("LOCK.ACQUIRE l o PX 1000000", "HSET l o 1; PEXPIREAT l time"),
            ("LOCK.ACQUIRE l o PX 2000000", "HSET l o 2; PEXPIREAT l time"),
            (
                "EVAL \"redis.call('lock.acquire', 'l', 'o', 'PX', '1000000') redis.call('incr', 'n')\" 0",
                "HSET l o 3; PEXPIREAT l time; incr n",
            ),
            ("EVAL \"redis.call('incr', 'n') redis.call('lock.release', 'l', 'o')\" 0", "incr n; HSET l o 2"),
            ("LOCK.RENEW 1 l o PX 3000000", "PEXPIREAT l time"),
            ("LOCK.TRANSFER l o p", "HSET l p 2; HDEL l o"),
            ("LOCK.TRANSFER l p p PX 4000000", "PEXPIREAT l time; HSET l p 2"),
            ("LOCK.ACQUIRE t o PX 1000000 LAYOUT STRING", "SET t o; PEXPIREAT t time"),
            ("LOCK.TRANSFER t o p", "SET t p KEEPTTL"),
            (
                "LOCK.ACQUIRE f o PX 1000000 FENCED",
                "SET redisson_lock_token:{f} 1 KEEPTTL; HSET f o 1; PEXPIREAT f time",
            ),
            ("LOCK.FORCEUNLOCK t", "DEL t"),
        ],
    );
}

#[test]
fn a_read_write_lock_sends_its_fields_and_leases() {
    check(
        &mut frozen(),
        &[
            (
                "LOCK.ACQUIRE l a SHARED PX 1000000",
                "HSET l mode read a 1; SET {l}:a:rwlock_timeout:1 1; PEXPIREAT {l}:a:rwlock_timeout:1 time; \
             PEXPIREAT l time",
            ),
            (
                "LOCK.ACQUIRE l b SHARED PX 2000000",
                "HSET l b 1; SET {l}:b:rwlock_timeout:1 1; PEXPIREAT {l}:b:rwlock_timeout:1 time; \
             PEXPIREAT l time",
            ),
            ("LOCK.RENEW 1 l a PX 3000000", "PEXPIREAT {l}:a:rwlock_timeout:1 time; PEXPIREAT l time"),
            ("LOCK.RELEASE l a", "HDEL l a; DEL {l}:a:rwlock_timeout:1; PEXPIREAT l time"),
            ("LOCK.CONVERT l b EXCLUSIVE", "HSET l mode write b:write 1; PEXPIREAT l time"),
            ("LOCK.ACQUIRE l b EXCLUSIVE PX 1000000", "HSET l b:write 2; PEXPIREAT l time"),
            ("LOCK.RELEASE l b EXCLUSIVE", "HSET l b:write 1"),
            (
                "LOCK.CONVERT l b SHARED PX 1000000",
                "HSET l mode read b 1; HDEL l b:write; SET {l}:b:rwlock_timeout:1 1; \
             PEXPIREAT {l}:b:rwlock_timeout:1 time; PEXPIREAT l time; PUBLISH redisson_rwlock:{l} 1",
            ),
            (
                "LOCK.TRANSFER l b c",
                "DEL {l}:b:rwlock_timeout:1; SET {l}:c:rwlock_timeout:1 1; \
             PEXPIREAT {l}:c:rwlock_timeout:1 time; HSET l c 1; HDEL l b",
            ),
            (
                "LOCK.RELEASE l c",
                "HDEL l c; DEL {l}:c:rwlock_timeout:1; DEL l; PUBLISH redisson_rwlock:{l} 0",
            ),
        ],
    );
}

#[test]
fn a_semaphore_sends_its_count_and_the_leases_that_change() {
    let mut master = frozen();
    check(
        &mut master,
        &[
            ("SEM.INIT p 3", "SET p 3; PUBLISH redisson_sc:{p} 3"),
            ("PEXPIRE p 90000000", "PEXPIREAT p time"),
            ("SEM.ACQUIRE p a", "SET p 2 KEEPTTL"),
            (
                "SEM.ACQUIRE p b PERMITS 2 IDS PX 5000",
                "SET p 0 KEEPTTL; ZADD {p}:timeout time id time id; PEXPIREAT {p}:timeout time",
            ),
            ("SEM.RELEASE p b", "ZREM {p}:timeout id; SET p 1 KEEPTTL; PUBLISH redisson_sc:{p} 1"),
            ("SEM.ADJUST p -1", "SET p 0 KEEPTTL; PUBLISH redisson_sc:{p} 0"),
            ("CLOCK.ADVANCE 5000", ""),
            (
                "SEM.ACQUIRE p b IDS",
                "ZREMRANGEBYRANK {p}:timeout 0 0; SET p 1 KEEPTTL; PUBLISH redisson_sc:{p} 1; \
             SET p 0 KEEPTTL; ZADD {p}:timeout time id; PEXPIREAT {p}:timeout time",
            ),
            ("SEM.RELEASE p a", "SET p 1 KEEPTTL; PUBLISH redisson_sc:{p} 1"),
            ("SEM.DRAIN p", "SET p 0 KEEPTTL"),
            ("SEM.INIT p 1 FORCE", "DEL {p}:timeout; SET p 1; PUBLISH redisson_sc:{p} 1"),
            // The engine itself takes these permits back.
            ("SEM.ACQUIRE p a PX 50", "SET p 0 KEEPTTL"),
            ("CLOCK.ADVANCE 50", "SET p 1 KEEPTTL; PUBLISH redisson_sc:{p} 1"),
            ("SEM.ACQUIRE p a", "SET p 0 KEEPTTL"),
        ],
    );
    let (mut waiter, joined) = wait(&mut master, "SEM.ACQUIRE p w BLOCK 0 IDS PX 1000");
    assert_eq!(joined, "");
    // A served waiter's request is no part of the transaction that has served it.
    let sent = master.run(&split("SEM.RELEASE p a"));
    let [own, served] = [&sent[..4], &sent[4..]].map(text);
    assert_eq!(own, "SET p 1 KEEPTTL; PUBLISH redisson_sc:{p} 1");
    assert_eq!(served, "SET p 0 KEEPTTL; ZADD {p}:timeout time id");
    waiter.read_reply();
}

#[test]
fn permits_of_a_session_are_renewed_and_given_back_by_requests() {
    let mut master = frozen();
    check(&mut master, &[("SEM.INIT p 3", "SET p 3; PUBLISH redisson_sc:{p} 3")]);
    let mut session = Client::connect(master.client.peer());
    session.line("SEM.ACQUIRE p s SESSION IDS PX 3000");
    session.line("LOCK.ACQUIRE l s SESSION PX 3000");
    let taken = master.run(&split("PING"));
    let [permits, lock] = [&taken[..4], &taken[4..]].map(text);
    assert_eq!(permits, "SET p 2 KEEPTTL; ZADD {p}:timeout time id");
    assert_eq!(lock, "HSET l s 1; PEXPIREAT l time");
    check(&mut master, &[("CLOCK.ADVANCE 1000", "ZADD {p}:timeout time id; PEXPIREAT l time")]);
    assert_eq!(session.line("QUIT").to_string(), "+OK");
    until("it is gone", || info(&mut master.client, "clients", "connected_clients") == "1");
    assert_eq!(
        text(&master.run(&split("PING"))),
        "ZREM {p}:timeout id; SET p 3 KEEPTTL; PUBLISH redisson_sc:{p} 3; DEL l; \
         PUBLISH redisson_lock__channel:{l} 0"
    );
}

#[test]
fn a_latch_sends_its_count() {
    check(
        &mut frozen(),
        &[
            ("LATCH.SET c 3", "SET c 3; PUBLISH redisson_countdownlatch__channel__{c} 1"),
            ("LATCH.COUNTDOWN c", "SET c 2 KEEPTTL"),
            (
                "LATCH.COUNTDOWN c 2",
                "SET c 0 KEEPTTL; DEL c; PUBLISH redisson_countdownlatch__channel__{c} 0",
            ),
            ("LATCH.COUNTDOWN c", ""),
        ],
    );
}

#[test]
fn a_rate_sends_the_permits_that_change() {
    let mut master = frozen();
    check(
        &mut master,
        &[
            ("RATE.SET r 2 1000", "HSET r rate 2 interval 1000 type 0 keepAliveTime 0"),
            ("RATE.SET r 2 1000 NX", ""),
            ("RATE.ACQUIRE r", "SET {r}:value 2; ZADD {r}:permits time member; SET {r}:value 1 KEEPTTL"),
            ("RATE.ACQUIRE r", "ZADD {r}:permits time member; SET {r}:value 0 KEEPTTL"),
            ("RATE.ACQUIRE r", ""),
            ("CLOCK.ADVANCE 1000", ""),
            (
                "RATE.ACQUIRE r",
                "ZREMRANGEBYRANK {r}:permits 0 1; SET {r}:value 2; ZADD {r}:permits time member; \
             SET {r}:value 1 KEEPTTL",
            ),
            ("HSET r keepAliveTime 60000", "HSET r keepAliveTime 60000"),
            (
                "RATE.ACQUIRE r",
                "ZADD {r}:permits time member; SET {r}:value 0 KEEPTTL; PEXPIREAT r time; \
             PEXPIREAT {r}:value time; PEXPIREAT {r}:permits time",
            ),
            (
                "RATE.SET r 1 500",
                "DEL {r}:value; DEL {r}:permits; HSET r rate 1 interval 500 type 0 keepAliveTime 0",
            ),
            (
                "RATE.ACQUIRE r",
                "SET {r}:value 1; ZADD {r}:permits time member; SET {r}:value 0 KEEPTTL; \
             PEXPIREAT {r}:value time; PEXPIREAT {r}:permits time",
            ),
        ],
    );
    let (mut waiter, joined) = wait(&mut master, "RATE.ACQUIRE r BLOCK 5000");
    assert_eq!(joined, "");
    check(
        &mut master,
        &[(
            "CLOCK.ADVANCE 500",
            "ZREMRANGEBYRANK {r}:permits 0 0; SET {r}:value 1; ZADD {r}:permits time member; \
         SET {r}:value 0 KEEPTTL; PEXPIREAT {r}:value time; PEXPIREAT {r}:permits time",
        )],
    );
    waiter.read_reply();
}

#[test]
fn fields_that_a_rate_lacked_are_sent() {
    check(
        &mut frozen(),
        &[
            ("HSET r type 0", "HSET r type 0"),
            ("RATE.SET r 2 1000 NX", "HSET r rate 2 interval 1000 keepAliveTime 0"),
        ],
    );
}

#[test]
fn a_throttle_sends_its_next_arrival() {
    check(
        &mut frozen(),
        &[
            ("CL.THROTTLE t 1 1 60", "SET t time; PEXPIREAT t time"),
            ("CL.THROTTLE t 1 1 60", "SET t time; PEXPIREAT t time"),
            ("CL.THROTTLE t 1 1 60", ""),
        ],
    );
}

#[test]
fn a_fair_lock_sends_the_owners_that_come_and_go() {
    let mut master = frozen();
    check(&mut master, &[("LOCK.ACQUIRE l a FAIR PX 1000000", "HSET l a 1; PEXPIREAT l time")]);
    let mut waiters = Vec::new();
    for owner in ["b", "c", "d"] {
        let line = format!("LOCK.ACQUIRE l {owner} FAIR BLOCK 600000 PX 1000000");
        let (waiter, joined) = wait(&mut master, &line);
        let expected = "ZADD redisson_lock_timeout:{l} time owner; RPUSH redisson_lock_queue:{l} owner";
        assert_eq!(joined, expected.replace("owner", owner));
        waiters.push(waiter);
    }
    // The second owner in the queue gives up.
    let left = waiters.remove(1);
    left.close();
    until("it is gone", || info(&mut master.client, "clients", "blocked_clients") == "2");
    assert_eq!(
        text(&master.run(&split("PING"))),
        "ZADD redisson_lock_timeout:{l} time d; ZREM redisson_lock_timeout:{l} c; \
         LREM redisson_lock_queue:{l} 0 c"
    );
    let sent = master.run(&split("LOCK.RELEASE l a"));
    let end = sent.iter().position(|words| *words[0] == *b"EXEC").expect("a transaction") + 1;
    assert_eq!(text(&sent[..end]), "DEL l; PUBLISH redisson_lock__channel:{l}:b 0");
    assert_eq!(
        text(&sent[end..]),
        "LPOP redisson_lock_queue:{l}; ZREM redisson_lock_timeout:{l} b; \
         ZADD redisson_lock_timeout:{l} time d; HSET l b 1; PEXPIREAT l time"
    );
}

/// A name longer than `zset-max-listpack-value`: a sorted set with it has the form of a large one.
#[test]
fn an_owner_that_leaves_a_large_queue_sends_the_times_behind_it() {
    let mut master = frozen();
    master.run(&split("LOCK.ACQUIRE l a FAIR PX 1000000"));
    let [b, c, d] = ["b", "c", "d"].map(|name| name.repeat(70));
    let mut waiters: Vec<Client> = Vec::new();
    for owner in [&b, &c, &d] {
        waiters.push(wait(&mut master, &format!("LOCK.ACQUIRE l {owner} FAIR BLOCK 600000 PX 1000000")).0);
    }
    waiters.remove(1).close();
    until("it is gone", || info(&mut master.client, "clients", "blocked_clients") == "2");
    let expected = format!(
        "ZREM redisson_lock_timeout:{{l}} {c}; ZADD redisson_lock_timeout:{{l}} time {d}; \
         LREM redisson_lock_queue:{{l}} 0 {c}"
    );
    assert_eq!(text(&master.run(&split("PING"))), expected);
}

#[test]
fn a_delay_sends_its_placeholder() {
    check(
        &mut frozen(),
        &[
            ("LOCK.ACQUIRE l a PX 50 DELAY 100", "HSET l a 1; PEXPIREAT l time"),
            (
                "CLOCK.ADVANCE 50",
                "DEL l; PUBLISH redisson_lock__channel:{l} 0; HSET l lockwheel:delay 1; PEXPIREAT l time",
            ),
            ("CLOCK.ADVANCE 100", "DEL l; PUBLISH redisson_lock__channel:{l} 0"),
            ("LOCK.ACQUIRE t a PX 50 DELAY 100 LAYOUT STRING", "SET t a; PEXPIREAT t time"),
            ("CLOCK.ADVANCE 50", "DEL t; SET t lockwheel:delay; PEXPIREAT t time"),
            ("LOCK.FORCEUNLOCK t", "DEL t"),
        ],
    );
}

/// Bytes in the stream for a permit, from its acquisition to its release.
const MAX_BYTES_OF_PERMIT: u64 = 400;

#[test]
fn the_bytes_for_a_permit_do_not_depend_on_the_number_of_permits() {
    const PERMITS: u64 = 2000;
    let mut master = frozen();
    master.run(&split("SEM.INIT p 2000"));
    let offset = |master: &mut Master| -> u64 {
        info(&mut master.client, "replication", "master_repl_offset").parse().expect("a number")
    };
    let before = offset(&mut master);
    for line in ["SEM.ACQUIRE p a IDS PX 1000000", "SEM.RELEASE p a"] {
        let requests = vec![split(line); PERMITS as usize];
        assert!(master.client.pipeline(&requests).iter().all(|reply| !reply.is_error()));
    }
    let bytes = offset(&mut master) - before;
    assert!(bytes <= PERMITS * MAX_BYTES_OF_PERMIT, "{} bytes a permit", bytes / PERMITS);
}
