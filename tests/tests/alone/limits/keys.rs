//! Keys are evicted to keep `maxmemory`.

use lockwheel::{Server, Time};
use lockwheel_tests::client::Client;
use lockwheel_tests::ours;
use std::collections::BTreeSet;

/// A number in INFO.
fn info(client: &mut Client, name: &str) -> usize {
    let text = client.line("INFO everything").to_string();
    let value = text.split("\\r\\n").find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    value.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("no number {name} in {text}"))
}

fn fill(client: &mut Client, keys: std::ops::Range<usize>, more: &[&str]) {
    for n in keys {
        let name = format!("key:{n}");
        let words: Vec<&str> = ["SET", &name, &VALUE].into_iter().chain(more.iter().copied()).collect();
        client.cmd(&words);
    }
}

static VALUE: std::sync::LazyLock<String> = std::sync::LazyLock::new(|| "x".repeat(1000));

/// A server with this policy, and its client.
fn limited(policy: &str) -> (Server, Client) {
    let server = ours::manual_server();
    let mut client = Client::connect(server.addr());
    // The records of latency count too, and differ in each run.
    client.line("CONFIG SET latency-tracking no");
    assert_eq!(client.line(&format!("CONFIG SET maxmemory-policy {policy}")).to_string(), "+OK");
    (server, client)
}

/// The memory that counts towards the limit.
fn counted(client: &mut Client) -> usize {
    info(client, "used_memory") - info(client, "mem_not_counted_for_evict")
}

/// Sets the limit this number of bytes above the used memory.
fn limit_above(client: &mut Client, bytes: usize) -> usize {
    let limit = counted(client) + bytes;
    assert_eq!(client.line(&format!("CONFIG SET maxmemory {limit}")).to_string(), "+OK");
    limit
}

#[test]
fn every_policy_keeps_the_limit() {
    for policy in ["lru", "lfu", "random", "ttl"] {
        for which in ["allkeys", "volatile"] {
            if (which, policy) == ("allkeys", "ttl") {
                continue;
            }
            let (_server, mut client) = limited(&format!("{which}-{policy}"));
            let limit = limit_above(&mut client, 200_000);
            fill(&mut client, 0..1000, &["EX", "1000"]);
            let left = client.line("DBSIZE").as_int().expect("a number");
            assert!((40..200).contains(&left), "{which}-{policy}: {left}");
            assert!(counted(&mut client) <= limit + 20_000, "{which}-{policy}");
            // The request that asks may evict one more.
            let evicted = info(&mut client, "evicted_keys") as i64;
            assert!((0..30).contains(&(evicted - (1000 - left))), "{which}-{policy}: {evicted} and {left}");
            assert_eq!(client.line("GET key:0").to_string(), "(nil)", "{which}-{policy}");
        }
    }
}

#[test]
fn volatile_policies_keep_keys_without_a_deadline() {
    let (_server, mut client) = limited("volatile-lru");
    fill(&mut client, 0..100, &[]);
    limit_above(&mut client, 100_000);
    fill(&mut client, 100..400, &["EX", "1000"]);
    for n in 0..100 {
        assert_eq!(client.line(&format!("EXISTS key:{n}")).to_string(), ":1");
    }
    assert!(client.line("DBSIZE").as_int().is_some_and(|keys| keys < 200));
    client.line("CONFIG SET maxmemory 1");
    let refused = client.line("SET more x").to_string();
    assert_eq!(refused, "-OOM command not allowed when used memory > 'maxmemory'.");
    assert_eq!(client.line("DBSIZE").to_string(), ":100");
}

#[test]
fn a_lowered_limit_evicts_at_once_and_in_pieces() {
    let server = Server::builder().port(0).seed(7).time(Time::Real).start().expect("it starts");
    let mut client = Client::connect(server.addr());
    fill(&mut client, 0..20_000, &[]);
    client.line("CONFIG SET maxmemory-policy allkeys-random maxmemory-eviction-tenacity 0 maxmemory 4mb");
    // 16 keys are evicted before each request; the rest in between.
    let exceeds = |client: &mut Client| counted(client) > 4 << 20;
    assert!(exceeds(&mut client));
    assert!(client.line("SET more x").to_string() == "+OK", "keys are going");
    while exceeds(&mut client) {}
    assert!(info(&mut client, "evicted_keys") > 10_000);
    assert_eq!(info(&mut client, "current_eviction_exceeded_time"), 0);
}

#[test]
fn an_eviction_notifies_watchers_subscribers_and_waiters() {
    let (server, mut client) = limited("allkeys-lru");
    client.line("CONFIG SET notify-keyspace-events Ee");
    let [mut watcher, mut listener, mut waiter] = [(); 3].map(|()| Client::connect(server.addr()));
    client.line("LOCK.ACQUIRE lock me PX 100000");
    watcher.line("WATCH lock");
    watcher.line("MULTI");
    watcher.line("PING");
    listener.line("SUBSCRIBE __keyevent@0__:evicted");
    waiter.send_line("LOCK.ACQUIRE lock you BLOCK 100000");
    client.line("AWAIT.BLOCKED 1");
    client.line("CLOCK.ADVANCE 5000");
    client.line("CONFIG SET maxmemory 1");
    client.line("PING");
    let message = listener.read_frame().to_string();
    assert!(message.contains("lock"), "{message}");
    assert_eq!(watcher.line("EXEC").to_string(), "(nil)");
    client.line("CONFIG SET maxmemory 0");
    let granted = waiter.read_reply().to_string();
    assert!(granted.contains("token") && granted.contains("evicted"), "{granted}");
    let lost = client.line("LOCK.RELEASE lock me").to_string();
    assert!(lost.contains("lost") || lost.starts_with('-'), "{lost}");
    assert!(info(&mut client, "evicted_keys") >= 1);
}

#[test]
fn the_same_requests_evict_the_same_keys() {
    let left = || {
        let (_server, mut client) = limited("allkeys-lfu");
        limit_above(&mut client, 100_000);
        fill(&mut client, 0..500, &[]);
        let keys = client.line("KEYS *").into_elements().expect("a list");
        keys.iter().map(ToString::to_string).collect::<BTreeSet<_>>()
    };
    // Bytes that a socket has read at once count too: they may evict one more.
    let (one, other) = (left(), left());
    let both = one.intersection(&other).count();
    assert!(both >= 10 && one.len().abs_diff(both) + other.len().abs_diff(both) <= 6, "{one:?} {other:?}");
}

#[test]
fn a_server_with_a_tiny_limit_still_replies() {
    for threads in [1, 2, 4] {
        let server = Server::builder().port(0).seed(7).threads(threads).start().expect("it starts");
        let mut client = Client::connect(server.addr());
        client.line("CONFIG SET maxmemory-policy allkeys-lru maxmemory 1");
        let mut blocked = Client::connect(server.addr());
        blocked.send_line("BLPOP l 0");
        for n in 0..200 {
            client.line(&format!("SET k{n} {}", "v".repeat(n * 100)));
            client.line("EVAL \"redis.call('set', 'a', 1) redis.call('rpush', 'b', 1, 2) return 1\" 0");
            client.line("MULTI");
            client.line("SADD s 1 2 3");
            client.line("EXEC");
        }
        assert_eq!(client.line("CONFIG SET maxmemory 0").to_string(), "+OK");
        assert_eq!(client.line("RPUSH l x").to_string(), ":1");
        assert_eq!(blocked.read_reply().to_string(), "[\"l\", \"x\"]");
    }
}

#[test]
fn each_new_small_key_evicts_one_key() {
    let (_server, mut client) = limited("allkeys-random");
    for n in 0..20_000 {
        client.cmd(&["SET", &format!("k{n}"), "v", "EX", "1000"]);
    }
    limit_above(&mut client, 0);
    for n in 20_000..21_000 {
        client.cmd(&["SET", &format!("k{n}"), "v", "EX", "1000"]);
    }
    let left = client.line("DBSIZE").as_int().expect("a number");
    assert!((19_000..20_500).contains(&left), "{left}");
}

/// The memory of messages to clients about evicted keys evicts no further keys.
#[test]
fn messages_about_evictions_cause_no_further_evictions() {
    for threads in [1, 4] {
        let server = Server::builder().port(0).seed(7).threads(threads).start().expect("it starts");
        let mut client = Client::connect(server.addr());
        client.line("CONFIG SET latency-tracking no maxmemory-policy allkeys-lru");
        client.line("CONFIG SET maxmemory-eviction-tenacity 100");
        let mut tracking: Vec<Client> = (0..10).map(|_| Client::connect_resp3(server.addr())).collect();
        for each in &mut tracking {
            assert_eq!(each.line("CLIENT TRACKING on").to_string(), "+OK");
        }
        for number in 0..300 {
            let key = format!("{number}{}", "x".repeat(1000));
            client.cmd(&["SET", &key, "x"]);
            for each in &mut tracking {
                each.cmd(&["GET", &key]);
            }
        }
        let limit = counted(&mut client) - 40_000;
        client.line(&format!("CONFIG SET maxmemory {limit}"));
        let evicted = info(&mut client, "evicted_keys");
        // Redis' own suite allows the same number.
        assert!((10..=50).contains(&evicted), "{threads}: {evicted}");
    }
}
