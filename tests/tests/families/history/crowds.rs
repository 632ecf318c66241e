//! Histories with many holders and waiters at once: the time to read them stays linear, and other clients are served
//! meanwhile.

use crate::history::fixture::Server;
use crate::history::verify::found;
use lockwheel_tests::cpu;
use std::time::Duration;

/// The number behind a name in a reply.
fn number(reply: &str, name: &str) -> u64 {
    let lines: Vec<&str> = reply.split("\r\n").collect();
    let at = lines.iter().position(|line| *line == name).unwrap_or_else(|| panic!("{name}"));
    lines[at + 1].trim_start_matches(':').parse().expect("a number")
}

/// Returns the numbers of findings shown and left out, and the length of the reply.
fn verified(server: &mut Server) -> (u64, u64, usize) {
    let reply = server.ask_long("LOCK.VERIFY");
    let shown = reply.matches("\r\nevidence\r\n").count() as u64;
    (shown, number(&reply, "left-out"), reply.len())
}

fn pairs(count: u64) -> u64 {
    count * (count - 1) / 2
}

#[test]
fn sections_that_overlap_are_counted_and_some_are_shown() {
    for count in [3, 2000, 4000] {
        let mut server = Server::new();
        for owner in 0..count {
            server.ask(&format!("LOCK.ENTER section owner-{owner}"));
        }
        let (shown, left_out, bytes) = verified(&mut server);
        assert_eq!(shown + left_out, pairs(count), "{count}");
        assert!(shown <= 500 && bytes < 1_000_000, "{count}: {shown} {bytes}");
    }
}

/// Nobody waits for the writers' locks.
#[test]
fn the_deadlock_search_handles_thousands_of_readers_and_writers() {
    let mut server = Server::new();
    for reader in 0..4000 {
        server.ask(&format!("LOCK.ACQUIRE l reader-{reader} PX 1000000 SHARED"));
    }
    for _ in 0..8 {
        let client = server.client();
        server.send(client, "HELLO 3");
        for writer in 0..1000 {
            let owner = format!("writer-{client}-{writer}");
            server.send(client, &format!("LOCK.ACQUIRE l {owner} PX 1000000 EXCLUSIVE ASYNC BLOCK 0"));
        }
    }
    let reply = server.ask_long("LOCK.VERIFY");
    assert!(reply.contains("\r\nok\r\n") && !reply.contains("given up"), "{reply}");
    assert!(number(&reply, "events") > 12_000);
}

#[test]
fn owners_of_one_hash_are_counted_and_some_are_shown() {
    for count in [3, 2000, 4000] {
        let mut server = Server::new();
        for owner in 0..count {
            server.ask(&format!("HSET lock 8743c9c0-0795-4907-87fd-6c719a6b4586:{owner} 1"));
        }
        let (shown, left_out, bytes) = verified(&mut server);
        // Each hold also has no lease.
        assert_eq!(shown + left_out, pairs(count) + count, "{count}");
        assert!(shown <= 500 && bytes < 1_000_000, "{count}: {shown} {bytes}");
    }
}

#[test]
fn releases_of_many_readers_in_any_order_give_no_finding() {
    let mut server = Server::new();
    for owner in 0..2000 {
        server.ask(&format!("LOCK.ACQUIRE lock reader-{owner} SHARED PX 100000"));
    }
    for owner in (0..2000).rev() {
        server.ask(&format!("LOCK.RELEASE lock reader-{owner}"));
    }
    assert_eq!(verified(&mut server).0, 0);
}

#[test]
fn a_violation_is_shown_despite_any_number_of_lints() {
    let mut server = Server::new();
    for lock in 0..1200 {
        server.ask(&format!("SET lock-{lock} owner NX"));
        server.ask(&format!("PEXPIRE lock-{lock} 100000"));
    }
    server.ask("LOCK.ENTER section a");
    server.ask("LOCK.ENTER section b");
    let shown = found(&mut server);
    assert!(shown.contains(&"violation mutual-exclusion".to_owned()));
    assert!(shown.len() < 1200);
}

/// A history that is too long for one reading.
fn long() -> Server {
    let mut server = Server::new();
    for _ in 0..3000 {
        server.ask("LOCK.ACQUIRE lock owner PX 100000");
        server.ask("LOCK.RELEASE lock owner");
    }
    server
}

#[test]
fn others_are_served_while_a_long_history_is_read() {
    for request in
        ["LOCK.VERIFY", "LOCK.HISTORY", "LOCK.HISTORY FORMAT JSON", "LOCK.HISTORY FORMAT TEXT", "LOCK.STATS"]
    {
        let mut server = long();
        let [reader, other] = [server.client(), server.client()];
        server.simulation.send(reader, request);
        assert_eq!(server.simulation.read(reader), "", "{request}");
        assert_eq!(server.send(other, "PING"), "+PONG\r\n", "{request}");
        // Events that happen meanwhile are not part of the reading.
        server.send(other, "LOCK.ENTER section a");
        server.send(other, "LOCK.ENTER section b");
        server.pass(1000);
        let reply = server.simulation.read(reader);
        assert!(!reply.is_empty() && !reply.contains("section"), "{request}");
        assert_eq!(server.send(other, "PING"), "+PONG\r\n", "{request}");
    }
}

/// The number of pieces in which a request is answered: one for each millisecond.
fn pieces(server: &mut Server, request: &str) -> (usize, String) {
    let reader = server.client();
    server.simulation.send(reader, request);
    for pieces in 0..10_000 {
        let reply = server.simulation.read(reader);
        if !reply.is_empty() {
            return (pieces, reply);
        }
        server.pass(1);
    }
    panic!("no answer");
}

#[test]
fn a_long_history_is_read_and_written_in_pieces() {
    let mut server = long();
    let (of_json, json) = pieces(&mut server, "LOCK.HISTORY FORMAT JSON");
    let (of_edn, edn) = pieces(&mut server, "LOCK.HISTORY FORMAT EDN");
    let entries = json.matches("\"seq\"").count();
    let operations = edn.matches(":index ").count();
    assert!(entries > 6000 && operations > 12_000, "{entries} {operations}");
    for (pieces, steps) in [(of_json, entries + entries), (of_edn, entries + operations)] {
        assert!(pieces * 1100 > steps, "{pieces} pieces for {steps}");
    }
}

#[test]
fn a_long_history_equals_its_pages() {
    let mut server = long();
    let reader = server.client();
    let last = server.history("SINCE 1000 COUNT 0")["last"].as_u64().expect("a number");
    server.simulation.send(reader, "LOCK.HISTORY FORMAT JSON");
    server.pass(1000);
    let whole = server.simulation.read(reader);
    let (_, json) = whole.split_once("\r\n").expect("a bulk string");
    let whole: serde_json::Value = serde_json::from_str(json.trim_end()).expect("JSON");
    let whole = whole["entries"].as_array().expect("entries");
    let mut pieces = Vec::new();
    for since in (0..last).step_by(500) {
        let piece = server.history(&format!("SINCE {since} COUNT 500"));
        pieces.extend(piece["entries"].as_array().expect("entries").clone());
    }
    assert_eq!(whole.len() as u64, last);
    assert!(*whole == pieces[..whole.len()]);
}

#[test]
fn readers_of_a_long_history_are_served_in_turn_and_may_go_away() {
    let mut server = long();
    let readers = [(); 4].map(|()| server.client());
    for reader in readers {
        server.simulation.send(reader, "LOCK.VERIFY");
    }
    server.simulation.close(readers[0]);
    server.simulation.close(readers[2]);
    server.pass(1000);
    for reader in [readers[1], readers[3]] {
        assert!(server.simulation.read(reader).contains("verdict"));
    }
    assert_eq!(found(&mut long_enough(server)), ["ok"]);
}

/// Empties the history, so that it is short again.
fn long_enough(mut server: Server) -> Server {
    server.ask("CONFIG SET lock-history no");
    server.ask("CONFIG SET lock-history yes");
    server
}

#[test]
fn a_long_name_is_shortened_consistently() {
    let mut server = Server::new();
    let owner = "o".repeat(100_000);
    for _ in 0..100 {
        server.ask(&format!("LOCK.ACQUIRE lock {owner} PX 1000"));
        server.ask(&format!("LOCK.RELEASE lock {owner}"));
    }
    assert!(server.ask("LOCK.HISTORY").len() < 1_000_000);
    assert_eq!(found(&mut server), ["ok"]);
    server.ask(&format!("LOCK.ENTER section {owner}a"));
    server.ask(&format!("LOCK.ENTER section {owner}b"));
    assert_eq!(found(&mut server), ["violated", "violation mutual-exclusion"]);
}

/// Each owner but the first waits for the lock of the one before, and somebody for each lock: a search for a deadlock
/// goes through all of them.
fn chain(length: usize) -> Server {
    let mut server = Server::new();
    let (asker, other) = (server.asker, server.client());
    server.send(asker, "HELLO 3");
    server.send(other, "HELLO 3");
    for owner in 0..length {
        server.ask(&format!("LOCK.ACQUIRE lock-{owner} owner-{owner} PX 10000000"));
        server.send(other, &format!("LOCK.ACQUIRE lock-{owner} other-{owner} PX 10000000 BLOCK 0 ASYNC"));
    }
    for owner in 1..length {
        server.ask(&format!("LOCK.ACQUIRE lock-{} owner-{owner} PX 10000000 BLOCK 0 ASYNC", owner - 1));
    }
    server
}

#[test]
fn a_long_deadlock_search_over_few_entries_runs_in_pieces() {
    const LENGTH: usize = 1000;
    let mut server = chain(LENGTH);
    assert!(server.history("COUNT 0")["last"].as_u64().is_some_and(|last| last < 4096));
    let (pieces, reply) = pieces(&mut server, "LOCK.VERIFY");
    // Half the square of the length: the steps of all searches.
    assert!(pieces * 1024 * 16 > LENGTH * LENGTH / 4, "{pieces} pieces");
    assert!(reply.contains("\r\nok\r\n"), "{reply}");
    // A short history is read at once.
    assert_eq!(self::pieces(&mut chain(20), "LOCK.VERIFY").0, 0);
}

#[test]
fn all_patterns_of_keys_are_compared_with_locks() {
    let mut server = Server::new();
    for lock in 0..300 {
        server.ask(&format!("SET order:{lock}:lock x NX PX 100000"));
    }
    for pattern in 0..100 {
        server.ask(&format!("KEYS other:{pattern}:*"));
    }
    for pattern in ["order:29?:*", "*:17:lock", "[o]rder:5:lock", "order:299:lock", "order:3000*"] {
        server.ask(&format!("KEYS {pattern}"));
    }
    let (_, reply) = pieces(&mut server, "LOCK.VERIFY");
    for (pattern, lock) in [
        ("order:29?:*", "order:290:lock"),
        ("*:17:lock", "order:17:lock"),
        ("[o]rder:5:lock", "order:5:lock"),
        ("order:299:lock", "order:299:lock"),
    ] {
        let text = format!("KEYS {pattern} walks all keys to find locks as {lock}");
        assert!(reply.contains(&text), "{text}: {reply}");
    }
    assert_eq!(reply.matches("walks all keys").count(), 4, "{reply}");
}

/// Returns the CPU time of this thread for a reading; the simulated server runs on this thread. The time is counted in
/// ticks, so the request is repeated until there are enough of them.
fn cpu_of(server: &mut Server, request: &str) -> Duration {
    let began = cpu::of_thread();
    for count in 1.. {
        pieces(server, request);
        let taken = cpu::of_thread() - began;
        if taken >= Duration::from_millis(200) {
            return taken / count;
        }
    }
    unreachable!("time passes")
}

/// The test measures growth, not time. With four times as many entries, a reading takes about four times as long; a
/// comparison of all pairs would take sixteen times as long.
#[test]
fn reading_time_grows_linearly_with_the_entries() {
    let kinds: [&dyn Fn(usize) -> String; 5] = [
        &|n| format!("LOCK.ENTER section owner-{n}"),
        &|_| "LOCK.ENTER section owner".to_owned(),
        &|n| format!("HSET lock 8743c9c0-0795-4907-87fd-6c719a6b4586:{n} 1"),
        &|n| format!("LOCK.ACQUIRE lock reader-{n} SHARED PX 10000000"),
        &|n| format!("SET lock-{n} owner NX"),
    ];
    for kind in kinds {
        let [mut few, mut many] = [4000, 16_000].map(|count| {
            let mut server = Server::new();
            (0..count).for_each(|n| drop(server.ask(&kind(n))));
            server
        });
        for request in ["LOCK.VERIFY", "LOCK.HISTORY", "LOCK.HISTORY FORMAT EDN", "LOCK.STATS"] {
            let [few, many] = [&mut few, &mut many].map(|server| cpu_of(server, request));
            assert!(many < 10 * few, "{} {request}: {few:?}, {many:?}", kind(0));
        }
    }
}

/// Linear growth also holds for the places of one owner in many fair queues, by which no thread waits any more, and for
/// the locks that the owner then takes.
#[test]
fn abandoned_places_in_fair_queues_cost_linear_time() {
    let join = "redis.call('rpush', 'redisson_lock_queue:{' .. KEYS[1] .. '}', ARGV[1]); return 1";
    let owner = "8743c9c0-0795-4907-87fd-6c719a6b4586:1";
    let [few, many] = [2000, 8000].map(|count| {
        let mut server = Server::new();
        let pooled = server.client();
        for n in 0..count {
            server.send(pooled, &format!("EVAL \"{join}\" 1 fair-{n} {owner}"));
        }
        server.simulation.close(pooled);
        server.simulation.notice();
        for n in 0..count {
            server.ask(&format!("HSET lock-{n} {owner} 1"));
        }
        cpu_of(&mut server, "LOCK.VERIFY")
    });
    assert!(many < 10 * few, "{few:?}, {many:?}");
}
