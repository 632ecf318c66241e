//! Events of locks, published on their channels, and pushed to the connections whose holds are concerned.

use lockwheel_engine::config::Config;
use lockwheel_engine::core::Simulation;

/// A server on frozen clocks, a client that controls it, and one that listens to the events of the first database.
fn server() -> (Simulation, u64, u64) {
    let mut server = Simulation::new(Config::default(), 7);
    let [main, listener] = [server.connect(), server.connect()];
    server.ask(main, "CLOCK.FREEZE");
    server.ask(listener, "PSUBSCRIBE __lock@0__:*");
    (server, main, listener)
}

/// The messages that a client was sent, each as its key and its text.
fn messages(server: &mut Simulation, listener: u64) -> Vec<String> {
    let sent = server.read(listener);
    let lines: Vec<&str> = sent.split("\r\n").collect();
    let found =
        lines.iter().enumerate().filter(|(_, line)| line.starts_with("__lock@0__:") && !line.ends_with('*'));
    found.map(|(at, channel)| format!("{}: {}", &channel["__lock@0__:".len()..], lines[at + 2])).collect()
}

#[test]
fn the_events_of_a_lock_are_published_on_its_channel() {
    let (mut server, main, listener) = server();
    let waiter = server.connect();
    for line in [
        "LOCK.ACQUIRE l a PX 5000",
        "LOCK.ACQUIRE l a PX 5000",
        "LOCK.RENEW 1 l a PX 9000",
        "LOCK.RELEASE l a",
    ] {
        server.ask(main, line);
    }
    server.send(waiter, "LOCK.ACQUIRE l b PX 1000 BLOCK 0");
    server.ask(main, "CLOCK.ADVANCE 7");
    server.ask(main, "LOCK.RELEASE l a");
    server.ask(main, "CLOCK.ADVANCE 1000");
    server.ask(main, "LOCK.ACQUIRE l \"c d\"");
    server.ask(main, "LOCK.TRANSFER l \"c d\" e");
    server.ask(main, "LOCK.FORCEUNLOCK l REASON \"by hand\"");
    server.ask(main, "SET l f NX PX 10");
    server.ask(main, "DEL l");
    assert_eq!(
        messages(&mut server, listener),
        [
            "l: acquired owner=a grant=1 kind=native",
            "l: reentered owner=a grant=1",
            "l: renewed owner=a ttl=9000",
            "l: queued owner=b",
            "l: released owner=a grant=1",
            "l: acquired owner=b grant=2 kind=native",
            "l: granted owner=b grant=2 waited=7",
            "l: lost owner=b grant=2 cause=expired",
            "l: acquired owner=\"c d\" grant=3 kind=native",
            "l: transferred owner=\"c d\" grant=3",
            "l: acquired owner=e grant=4 kind=native",
            "l: lost owner=e grant=4 cause=forced reason=\"by hand\"",
            "l: acquired owner=f grant=5 kind=foreign",
            "l: lost owner=f grant=5 cause=deleted",
            "l: lint owner=f habit=bare-delete",
        ]
    );
}

#[test]
fn the_end_of_a_wait_is_published() {
    let (mut server, main, listener) = server();
    let [one, two, three] = [0; 3].map(|_| server.connect());
    server.ask(one, "LOCK.ACQUIRE k1 a");
    server.ask(two, "LOCK.ACQUIRE k2 b");
    server.send(three, "LOCK.ACQUIRE k1 c BLOCK 10");
    server.ask(main, "CLOCK.ADVANCE 10");
    server.send(two, "LOCK.ACQUIRE k1 b BLOCK 0");
    server.ask(one, "LOCK.ACQUIRE k2 a BLOCK 0");
    server.ask(main, "LOCK.CANCEL k1 b");
    assert_eq!(
        messages(&mut server, listener)[2..],
        [
            "k1: queued owner=c",
            "k1: timedout owner=c",
            "k1: queued owner=b",
            "k2: deadlock owner=a cycle=\"a -> k2 -> b -> k1 -> a\"",
            "k1: cancelled owner=b",
        ]
    );
}

#[test]
fn a_subscriber_to_all_channels_gets_only_what_redis_publishes() {
    let (mut server, main, listener) = server();
    let all = server.connect();
    server.ask(all, "PSUBSCRIBE *");
    server.ask(main, "LOCK.ACQUIRE l a");
    server.ask(main, "SELECT 1");
    server.ask(main, "LOCK.ACQUIRE l a");
    assert_eq!(server.read(all), "");
    assert_eq!(messages(&mut server, listener).len(), 1);
}

/// A push as the simulation's client reads it.
fn push(kind: &str, fields: &str) -> String {
    let words: Vec<&str> = fields.split(' ').collect();
    let mut text = format!(">2\r\n${}\r\n{kind}\r\n%{}\r\n", kind.len(), words.len());
    for (name, value) in words.iter().filter_map(|word| word.split_once('=')) {
        text += &format!("${}\r\n{name}\r\n", name.len());
        let is_number = matches!(name, "db" | "grant");
        text += &if is_number { format!(":{value}\r\n") } else { format!("${}\r\n{value}\r\n", value.len()) };
    }
    text
}

#[test]
fn a_resp3_connection_is_notified_of_a_lost_lock() {
    for (end, cause) in [
        ("CLOCK.ADVANCE 5000", "cause=expired"),
        ("DEL l", "cause=deleted"),
        ("FLUSHALL", "cause=deleted"),
        ("SET l v", "cause=overwritten"),
        ("LOCK.FORCEUNLOCK l REASON why", "cause=forced reason=why"),
        ("EVAL \"redis.call('del', 'l')\" 0", "cause=forced"),
    ] {
        let (mut server, main, _) = server();
        let holder = server.connect();
        server.ask(holder, "HELLO 3");
        server.ask(holder, "LOCK.ACQUIRE l a PX 5000");
        server.ask(main, end);
        assert_eq!(
            server.read(holder),
            push("lock-lost", &format!("db=0 key=l owner=a grant=1 {cause}")),
            "{end}"
        );
    }
}

#[test]
fn no_loss_is_pushed_after_a_release_or_over_resp2() {
    let (mut server, main, _) = server();
    let [holder, old] = [server.connect(), server.connect()];
    server.ask(holder, "HELLO 3");
    for line in ["LOCK.ACQUIRE l a", "LOCK.RELEASE l a", "LOCK.ACQUIRE l a", "LOCK.TRANSFER l a b"] {
        server.ask(holder, line);
    }
    server.ask(old, "LOCK.ACQUIRE m a");
    server.ask(main, "FLUSHALL");
    assert_eq!((server.read(holder), server.read(old)), (String::new(), String::new()));
}

#[test]
fn a_resp3_holder_is_notified_of_contention() {
    let (mut server, main, _) = server();
    let [holder, waiter] = [server.connect(), server.connect()];
    server.ask(holder, "HELLO 3");
    server.ask(holder, "LOCK.ACQUIRE l a");
    assert_eq!(server.ask(main, "LOCK.ACQUIRE l b"), "$-1\r\n");
    assert_eq!(server.read(holder), "", "who does not wait is no contender");
    server.send(waiter, "LOCK.ACQUIRE l b BLOCK 0");
    assert_eq!(server.read(holder), push("lock-contended", "db=0 key=l owner=a grant=1 waiter=b"));
}

#[test]
fn an_unrecorded_holder_gets_no_push_about_contention() {
    let (mut server, main, _) = server();
    let [holder, waiter] = [server.connect(), server.connect()];
    server.ask(holder, "HELLO 3");
    server.ask(main, "CONFIG SET lock-ledger no");
    server.ask(main, "HSET l mode write a:write 1");
    let converted = server.ask(holder, "LOCK.CONVERT l a SHARED");
    assert!(converted.starts_with('%'), "{converted}");
    server.send(waiter, "LOCK.ACQUIRE l b BLOCK 0");
    assert_eq!(server.read(holder), "");
}

#[test]
fn a_contention_push_names_the_owner() {
    for layout in ["EXCLUSIVE", "LAYOUT STRING"] {
        let (mut server, _, _) = server();
        let [holder, waiter] = [server.connect(), server.connect()];
        server.ask(holder, "HELLO 3");
        server.ask(holder, &format!("LOCK.ACQUIRE l a {layout}"));
        server.send(waiter, &format!("LOCK.ACQUIRE l b {layout} BLOCK 0"));
        let told = push("lock-contended", "db=0 key=l owner=a grant=1 waiter=b");
        assert_eq!(server.read(holder), told, "{layout}");
    }
}

/// The event comes whether a client waits for the lock or not.
#[test]
fn a_flushed_lock_causes_one_event() {
    let (mut server, main, listener) = server();
    let waiter = server.connect();
    for line in ["CONFIG SET lock-history yes", "LOCK.ACQUIRE k a", "LOCK.ACQUIRE l a"] {
        server.ask(main, line);
    }
    server.send(waiter, "LOCK.ACQUIRE k b BLOCK 0");
    messages(&mut server, listener);
    server.ask(main, "FLUSHALL");
    assert_eq!(
        messages(&mut server, listener),
        [
            "l: lost owner=a grant=2 cause=deleted",
            "k: lost owner=a grant=1 cause=deleted",
            "k: acquired owner=b grant=3 kind=native",
            "k: granted owner=b grant=3 waited=0",
        ]
    );
    assert_eq!(server.ask(main, "LOCK.HISTORY KEY k").matches("$4\r\nlost\r\n").count(), 1);
}

#[test]
fn events_of_a_fenced_lock_contain_its_grant() {
    let (mut server, main, listener) = server();
    let waiter = server.connect();
    server.ask(main, "LOCK.ACQUIRE l a SHARED");
    server.send(waiter, "LOCK.ACQUIRE l b EXCLUSIVE FENCED BLOCK 0");
    messages(&mut server, listener);
    server.ask(main, "LOCK.RELEASE l a");
    server.ask(main, "LOCK.CONVERT l b SHARED");
    assert_eq!(
        messages(&mut server, listener),
        [
            "l: released owner=a grant=1",
            "l: acquired owner=b grant=2 kind=native",
            "l: granted owner=b grant=2 waited=0",
            "l: converted owner=b grant=2 mode=shared",
        ]
    );
}

#[test]
fn a_connection_is_notified_of_every_hold_lost_by_a_flush() {
    let (mut server, main, _) = server();
    let holder = server.connect();
    server.ask(holder, "HELLO 3");
    for n in 0..5000 {
        server.ask(holder, &format!("LOCK.ACQUIRE l{n} a"));
    }
    server.ask(main, "SWAPDB 0 1");
    server.ask(main, "FLUSHALL");
    let pushes = server.read(holder);
    assert_eq!(pushes.matches("lock-lost").count(), 5000);
    assert_eq!(pushes.matches("$2\r\ndb\r\n:1\r\n").count(), 5000);
}

#[test]
fn lock_scan_filters_by_owner_name_and_waiters() {
    let (mut server, main, _) = server();
    let waiter = server.connect();
    for n in 0..30 {
        server.ask(main, &format!("LOCK.ACQUIRE l{n} o{}", n % 3));
        server.ask(main, &format!("HSET h{n} f v"));
    }
    server.ask(main, "HSET rw mode write w:write 1");
    server.ask(main, "SET text o1 NX PX 5000");
    server.ask(main, "LOCK.ACQUIRE shared o2 SHARED");
    server.send(waiter, "LOCK.ACQUIRE l7 x BLOCK 0");
    let mut all = |options: &str| {
        let (mut found, mut cursor) = (Vec::new(), "0".to_owned());
        loop {
            let page = server.ask(main, &format!("LOCK.SCAN {cursor} {options}"));
            let lines: Vec<&str> = page.split("\r\n").collect();
            cursor = lines[2].to_owned();
            found.extend(
                lines[5..].iter().step_by(2).filter(|key| !key.is_empty()).map(|key| key.to_string()),
            );
            if cursor == "0" {
                found.sort_unstable();
                return found;
            }
        }
    };
    assert_eq!(all("").len(), 33);
    assert_eq!(all("COUNT 1000 STATE HELD").len(), 33);
    assert_eq!(all("MATCH *shared*"), ["shared"], "the key of its lease is no lock");
    assert_eq!(all("OWNER o1").len(), 11);
    assert_eq!(all("OWNER w"), ["rw"]);
    assert_eq!(all("MATCH l1? OWNER o1"), ["l10", "l13", "l16", "l19"]);
    assert_eq!(all("STATE WAITED"), ["l7"]);
    for (line, error) in [
        ("LOCK.SCAN x", "-ERR invalid cursor: "),
        ("LOCK.SCAN -1", "-ERR invalid cursor: "),
        ("LOCK.SCAN 0 COUNT 0", "-ERR syntax error: "),
        ("LOCK.SCAN 0 STATE FREE", "-ERR syntax error: "),
        ("LOCK.SCAN 0 MATCH", "-ERR syntax error: "),
        ("LOCK.SCAN 0 COUNT x", "-ERR value is not an integer or out of range: "),
    ] {
        assert!(server.ask(main, line).starts_with(error), "{line}");
    }
}

/// Returns all output of LOCK.SCAN with these options, and the number of pieces.
fn scanned(server: &mut Simulation, main: u64, options: &str) -> (Vec<String>, usize) {
    let (mut found, mut cursor, mut pages) = (Vec::new(), "0".to_owned(), 0);
    while cursor != "0" || pages == 0 {
        let page = server.ask(main, &format!("LOCK.SCAN {cursor} {options}"));
        let lines: Vec<&str> = page.split("\r\n").collect();
        cursor = lines[2].to_owned();
        found.extend(lines[5..].iter().step_by(2).filter(|key| !key.is_empty()).map(|key| key.to_string()));
        pages += 1;
    }
    found.sort_unstable();
    (found, pages)
}

#[test]
fn a_deleted_queue_of_a_fair_lock_is_not_scanned_as_a_lock() {
    let (mut server, main, _) = server();
    let waiter = server.connect();
    server.ask(main, "LOCK.ACQUIRE l a FAIR");
    server.send(waiter, "LOCK.ACQUIRE l b FAIR BLOCK 0");
    assert_eq!(scanned(&mut server, main, "STATE WAITED").0, ["l"]);
    assert_eq!(server.ask(main, "DEL redisson_lock_queue:{l}"), ":1\r\n");
    assert_eq!(scanned(&mut server, main, "STATE WAITED").0, ["l"]);
}

#[test]
fn free_locks_with_waiters_are_scanned() {
    let (mut server, main, _) = server();
    let [busy, several] = [server.connect(), server.connect()];
    server.ask(main, "LOCK.ACQUIRE held a");
    server.ask(main, "LOCK.ACQUIRE unwanted a");
    // The request waits for one lock that is held and one that is free.
    server.send(several, "LOCK.MACQUIRE 2 held free b BLOCK 0");
    server.send(busy, "BLPOP list 0");
    for line in [
        "SUBSCRIBE redisson_lock__channel:{of-redisson}",
        "SUBSCRIBE redisson_lock__channel:{fair}:8743c9c0-0795-4907-87fd-6c719a6b4586:1",
        "SUBSCRIBE redisson_rwlock:{read-write}",
        "SUBSCRIBE redisson_sc:{semaphore}",
        "SEM.ACQUIRE permits s BLOCK 0",
        "LATCH.AWAIT latch BLOCK 0 ARMED",
    ] {
        let waiter = server.connect();
        server.send(waiter, line);
    }
    let (found, _) = scanned(&mut server, main, "STATE WAITED");
    assert_eq!(found, ["fair", "free", "held", "of-redisson", "read-write"]);
    assert_eq!(scanned(&mut server, main, "STATE WAITED MATCH f*").0, ["fair", "free"]);
    assert_eq!(scanned(&mut server, main, "STATE WAITED OWNER a").0, ["held"]);
    assert_eq!(scanned(&mut server, main, "STATE HELD").0, ["held", "unwanted"]);
    for n in 0..25 {
        server.ask(main, &format!("LOCK.ACQUIRE m{n} a"));
        let waiter = server.connect();
        server.send(waiter, &format!("LOCK.ACQUIRE m{n} w BLOCK 0"));
    }
    let (found, pages) = scanned(&mut server, main, "STATE WAITED MATCH m*");
    assert_eq!((found.len(), pages), (25, 3));
    let (found, pages) = scanned(&mut server, main, "STATE WAITED COUNT 1");
    assert_eq!((found.len(), pages), (30, 30));
}

#[test]
fn conversions_are_published_and_a_waiting_one_is_contention() {
    let (mut server, main, listener) = server();
    let [reader, other] = [server.connect(), server.connect()];
    server.ask(other, "HELLO 3");
    server.ask(other, "LOCK.ACQUIRE l b SHARED");
    server.ask(reader, "LOCK.ACQUIRE l a SHARED");
    messages(&mut server, listener);
    server.send(reader, "LOCK.CONVERT l a EXCLUSIVE BLOCK 0");
    assert_eq!(server.read(other), push("lock-contended", "db=0 key=l owner=b grant=1 waiter=a"));
    server.ask(main, "CLOCK.ADVANCE 5");
    server.ask(other, "LOCK.RELEASE l b");
    server.ask(reader, "LOCK.CONVERT l a SHARED");
    assert_eq!(
        messages(&mut server, listener),
        [
            "l: queued owner=a",
            "l: released owner=b grant=1",
            "l: acquired owner=a grant=3 kind=native",
            "l: converted owner=a grant=3 mode=exclusive",
            "l: granted owner=a grant=3 waited=5",
            "l: converted owner=a grant=3 mode=shared",
        ]
    );
}

#[test]
fn risky_habits_are_published_as_lint_events() {
    let (mut server, main, listener) = server();
    server.ask(main, "CONFIG SET lock-history yes");
    for line in [
        "LOCK.ACQUIRE l a PX 10",
        "DEL l",
        "SET n x NX",
        "LOCK.RELEASE l z",
        "LOCK.RELEASE l a",
        "LOCK.RENEW 1 l a PX 10",
        "LOCK.RENEW 1 l z PX 10",
        "LOCK.ACQUIRE l a PX 10",
        "LOCK.MRELEASE 3 l free l a",
        "FLUSHALL",
    ] {
        server.ask(main, line);
    }
    let mut told = messages(&mut server, listener);
    told.retain(|line| line.contains("lint"));
    assert_eq!(
        told,
        [
            "l: lint owner=a habit=bare-delete",
            "n: lint owner=x habit=no-lease",
            "l: lint owner=z habit=release-by-other",
            "l: lint owner=a habit=release-by-other",
            "l: lint owner=a habit=renewal-after-loss",
            "free: lint owner=a habit=release-by-other",
        ]
    );
    // The scripts of Redisson's unlock, and of its watchdog.
    let owner = "8743c9c0-0795-4907-87fd-6c719a6b4586:1";
    let has = "if redis.call('hexists', KEYS[1], ARGV[2]) == 0 then return";
    server.ask(main, &format!("EVAL \"redis.call('hincrby', KEYS[1], ARGV[1], 1)\" 1 r {owner}"));
    server.ask(main, "DEL r");
    messages(&mut server, listener);
    server.ask(main, &format!("EVAL \"{has} nil end\" 2 r redisson_lock__channel:{{r}} 0 {owner}"));
    server.ask(main, &format!("EVAL \"{has} 0 end\" 1 r 30000 {owner}"));
    assert_eq!(
        messages(&mut server, listener),
        [
            format!("r: lint owner={owner} habit=release-by-other"),
            format!("r: lint owner={owner} habit=renewal-after-loss"),
        ]
    );
}

#[test]
fn a_reason_for_a_forced_end_is_at_most_4096_bytes_long() {
    let (mut server, main, listener) = server();
    server.ask(main, "LOCK.ACQUIRE l a");
    let longest = "x".repeat(4096);
    let refused = server.ask(main, &format!("LOCK.FORCEUNLOCK l REASON {longest}x"));
    assert_eq!(refused, "-ERR REASON is longer than 4096 bytes\r\n");
    assert_eq!(server.ask(main, "EXISTS l"), ":1\r\n");
    assert_eq!(server.ask(main, &format!("LOCK.FORCEUNLOCK l REASON {longest}")), ":1\r\n");
    assert!(messages(&mut server, listener).pop().expect("a message").ends_with(&longest));
}
