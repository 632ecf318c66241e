//! Cycles of waits that no waiting request closes, but an owner that comes to hold a lock, or that loses one.

use lockwheel_engine::config::Config;
use lockwheel_engine::core::Simulation;

/// A server on a frozen clock, and clients.
fn server<const N: usize>() -> (Simulation, u64, [u64; N]) {
    let mut server = Simulation::new(Config::default(), 7);
    let main = server.connect();
    let clients = [0; N].map(|_| server.connect());
    server.ask(main, "CLOCK.FREEZE");
    (server, main, clients)
}

/// Requires that no waits form a cycle.
fn check_graph(server: &mut Simulation, main: u64) {
    let graph = server.ask(main, "LOCK.GRAPH");
    assert!(graph.ends_with("cycles\r\n*0\r\n"), "{graph}");
}

/// An owner that already holds some of the locks that it requests together does not wait for those, until it loses
/// them.
#[test]
fn a_multi_lock_waiter_waits_again_for_a_lock_that_it_loses() {
    for end in [
        "CLOCK.ADVANCE 200",
        "LOCK.RELEASE k2 a",
        "LOCK.FORCEUNLOCK k2 OWNER a",
        "LOCK.TRANSFER k2 a d",
        "HDEL k2 a",
        "EVAL \"return redis.call('hdel', KEYS[1], 'a')\" 1 k2",
    ] {
        let (mut server, main, [a, c, w]) = server();
        server.ask(main, "LOCK.ACQUIRE k0 x EXCLUSIVE");
        server.ask(a, "LOCK.ACQUIRE k2 a SHARED PX 200");
        server.ask(c, "LOCK.ACQUIRE k2 c SHARED");
        server.send(w, "LOCK.ACQUIRE k2 w EXCLUSIVE BLOCK 0");
        server.send(a, "LOCK.MACQUIRE 2 k0 k2 a SHARED BLOCK 0");
        server.send(c, "LOCK.ACQUIRE k0 c EXCLUSIVE BLOCK 0");
        assert_eq!((server.read(a), server.read(c)), (String::new(), String::new()), "{end}");
        server.ask(main, end);
        assert_eq!(server.read(a), "-DEADLOCK a -> k2 -> c -> k0 -> a\r\n", "{end}");
        check_graph(&mut server, main);
        server.ask(main, "LOCK.RELEASE k0 x");
        assert!(server.read(c).contains("token"), "{end}");
        for line in ["LOCK.RELEASE k2 c", "LOCK.RELEASE k2 d"] {
            server.ask(main, line);
        }
        assert!(server.read(w).contains("token"), "{end}");
    }
}

/// An owner that loses a lock which is then free has nobody to wait for.
#[test]
fn a_multi_lock_waiter_that_loses_a_free_lock_keeps_waiting() {
    for end in ["CLOCK.ADVANCE 200", "DEL k2", "FLUSHALL", "RENAME k2 k3"] {
        let (mut server, main, [a, b]) = server();
        server.ask(main, "LOCK.ACQUIRE k0 x");
        server.ask(a, "LOCK.ACQUIRE k2 a PX 200");
        server.send(a, "LOCK.MACQUIRE 2 k0 k2 a BLOCK 0");
        server.send(b, "LOCK.ACQUIRE k2 b BLOCK 0");
        server.ask(main, end);
        check_graph(&mut server, main);
        server.ask(main, "LOCK.RELEASE k0 x");
        assert!(server.read(a).contains("tokens"), "{end}");
        server.ask(main, "LOCK.MRELEASE 2 k0 k2 a");
        assert!(server.read(b).contains("token"), "{end}");
    }
}

/// An owner that is given a lock at once may be waiting for another one by another request.
#[test]
fn an_immediate_grant_that_closes_a_cycle_ends_the_owners_other_wait() {
    let (mut server, main, [a, same, b, c]) = server();
    server.ask(b, "LOCK.ACQUIRE k2 b");
    server.ask(c, "LOCK.ACQUIRE k1 c SHARED");
    server.send(a, "LOCK.ACQUIRE k2 a BLOCK 0");
    server.send(b, "LOCK.ACQUIRE k1 b EXCLUSIVE BLOCK 0");
    // The reader passes the waiting writer.
    assert!(server.ask(same, "LOCK.ACQUIRE k1 a SHARED PRIORITY 1").contains("token"));
    assert_eq!(server.read(a), "-DEADLOCK a -> k2 -> b -> k1 -> a\r\n");
    check_graph(&mut server, main);
    for line in ["LOCK.RELEASE k1 a", "LOCK.RELEASE k1 c"] {
        server.ask(main, line);
    }
    assert!(server.read(b).contains("token"));
}

/// So may an owner that is given a lock by another owner, or by a script that writes it as Redisson's do.
#[test]
fn a_transfer_ends_the_wait_that_now_closes_a_cycle() {
    const OWNER: &str = "8743c9c0-0795-4907-87fd-6c719a6b4586:1";
    for give in [
        format!("LOCK.TRANSFER c x {OWNER}"),
        format!("EVAL \"redis.call('del', 'c') return redis.call('lock.acquire', 'c', '{OWNER}')\" 0"),
        format!("EVAL \"redis.call('del', 'c') return redis.call('hset', 'c', '{OWNER}', 1)\" 0"),
    ] {
        let (mut server, main, [a, b]) = server();
        server.ask(b, "LOCK.ACQUIRE b b");
        server.ask(main, "LOCK.ACQUIRE c x");
        server.send(a, &format!("LOCK.ACQUIRE b {OWNER} BLOCK 0"));
        server.send(b, "LOCK.ACQUIRE c b BLOCK 0");
        server.ask(main, &give);
        assert_eq!(server.read(a), format!("-DEADLOCK {OWNER} -> b -> b -> c -> {OWNER}\r\n"), "{give}");
        check_graph(&mut server, main);
        server.ask(main, &format!("LOCK.RELEASE c {OWNER}"));
        assert!(server.read(b).contains("token"), "{give}");
    }
}

/// A lock that a transaction gives and takes back closes no cycle.
#[test]
fn a_cycle_that_the_same_transaction_opens_ends_no_wait() {
    let (mut server, main, [a, b]) = server();
    server.ask(b, "LOCK.ACQUIRE b b");
    server.ask(main, "LOCK.ACQUIRE c x");
    server.send(a, "LOCK.ACQUIRE b a BLOCK 0");
    server.send(b, "LOCK.ACQUIRE c b BLOCK 0");
    for line in ["MULTI", "LOCK.TRANSFER c x a", "PUBLISH news text", "LOCK.TRANSFER c a x", "EXEC"] {
        server.ask(main, line);
    }
    assert_eq!((server.read(a), server.read(b)), (String::new(), String::new()));
    server.ask(main, "LOCK.RELEASE c x");
    assert!(server.read(b).contains("token"));
}

/// The readers of `k` wait for `r`. `r` wants to share `k` and `k0`, and waits for `k0` alone.
fn wait_to_share_several(server: &mut Simulation, main: u64, r: u64, readers: &[(u64, &str)]) {
    server.ask(main, "LOCK.ACQUIRE k0 x EXCLUSIVE");
    server.ask(r, "LOCK.ACQUIRE k9 r");
    for (client, reader) in readers {
        server.ask(*client, &format!("LOCK.ACQUIRE k {reader} SHARED"));
    }
    server.send(r, "LOCK.MACQUIRE 2 k0 k r SHARED BLOCK 0");
    let (first, reader) = readers[0];
    server.send(first, &format!("LOCK.ACQUIRE k9 {reader} BLOCK 0"));
}

/// A writer keeps a lock from waiters behind it that share it among others; so does a reader that waits until it can
/// write.
#[test]
fn a_writer_that_passes_multi_lock_readers_may_close_a_cycle() {
    for (readers, line) in [
        (&["h"][..], "LOCK.ACQUIRE k p EXCLUSIVE PRIORITY 1 BLOCK 0"),
        (&["h", "p"], "LOCK.CONVERT k p EXCLUSIVE BLOCK 0"),
    ] {
        let (mut server, main, [r, h, p]) = server();
        let readers: Vec<(u64, &str)> = [h, p].into_iter().zip(readers.iter().copied()).collect();
        wait_to_share_several(&mut server, main, r, &readers);
        assert_eq!(server.ask(p, line), "-DEADLOCK p -> k -> h -> k9 -> r -> k -> p\r\n", "{line}");
        // A writer behind such a waiter keeps nothing from it.
        assert_eq!(server.ask(main, "LOCK.ACQUIRE k q EXCLUSIVE BLOCK 0"), "");
        let other = server.connect();
        check_graph(&mut server, other);
        server.ask(other, "DEL k0");
        assert!(server.read(r).contains("tokens"), "{line}");
    }
}

/// A lone reader writes at once, and keeps the lock from those who wait to share it among others.
#[test]
fn an_immediate_conversion_ends_the_wait_that_now_closes_a_cycle() {
    let (mut server, main, [r, p, same]) = server();
    wait_to_share_several(&mut server, main, r, &[(p, "p")]);
    server.ask(same, "LOCK.CONVERT k p EXCLUSIVE");
    assert_eq!(server.read(p), "-DEADLOCK p -> k9 -> r -> k -> p\r\n");
    check_graph(&mut server, main);
}

/// An owner that holds one of the locks that it requests together does not wait for that lock, whoever else does.
#[test]
fn a_multi_lock_reader_does_not_wait_for_a_conversion_of_its_lock() {
    let (mut server, main, [a, c, same]) = server();
    server.ask(main, "LOCK.MACQUIRE 2 m l d SHARED PX 50");
    server.ask(c, "LOCK.ACQUIRE l c SHARED");
    server.ask(a, "LOCK.ACQUIRE l a SHARED");
    server.send(c, "LOCK.CONVERT l c EXCLUSIVE BLOCK 0");
    server.send(same, "LOCK.ACQUIRE m c EXCLUSIVE PX 100 BLOCK 0");
    assert_eq!(server.ask(a, "LOCK.MACQUIRE 2 l m a SHARED BLOCK 0"), "");
    check_graph(&mut server, main);
    // The owner waits for the other lock, once the converting owner has got it.
    server.ask(main, "CLOCK.ADVANCE 50");
    assert!(server.read(same).contains("token"));
    assert_eq!(server.read(c), "-DEADLOCK c -> l -> a -> m -> c\r\n");
    check_graph(&mut server, main);
    server.ask(main, "CLOCK.ADVANCE 100");
    assert!(server.read(a).contains("tokens"));
}

/// Waiters that share several locks block no client that shares one of them, except through a client that wants that
/// lock alone.
#[test]
fn a_reader_does_not_wait_for_multi_lock_readers_behind_a_writer() {
    let (mut server, main, [e, b, c, other]) = server();
    for line in ["LOCK.ACQUIRE k x EXCLUSIVE", "LOCK.ACQUIRE k0 x EXCLUSIVE"] {
        server.ask(main, line);
    }
    server.send(e, "LOCK.ACQUIRE k e EXCLUSIVE BLOCK 0");
    server.send(b, "LOCK.MACQUIRE 2 k k0 b SHARED BLOCK 0");
    server.send(c, "LOCK.ACQUIRE k c SHARED BLOCK 0");
    server.ask(main, "LOCK.TRANSFER k0 x c");
    assert_eq!(server.ask(other, "LOCK.ACQUIRE k c SHARED BLOCK 0"), "", "nor is it refused");
    check_graph(&mut server, main);
    for line in ["LOCK.RELEASE k x", "LOCK.RELEASE k e"] {
        server.ask(main, line);
    }
    assert!(server.read(c).contains("token") && server.read(other).contains("token"));
    assert_eq!(server.read(b), "");
    // With a writer between the two, the client does wait.
    let (mut server, main, [e, b, c]) = self::server();
    for line in ["LOCK.ACQUIRE k x EXCLUSIVE", "LOCK.ACQUIRE k0 c EXCLUSIVE"] {
        server.ask(main, line);
    }
    server.send(b, "LOCK.MACQUIRE 2 k k0 b SHARED BLOCK 0");
    server.send(e, "LOCK.ACQUIRE k e EXCLUSIVE BLOCK 0");
    assert_eq!(server.ask(c, "LOCK.ACQUIRE k c SHARED BLOCK 0"), "-DEADLOCK c -> k -> b -> k0 -> c\r\n");
}

/// If an owner has several waits for a lock, the first counts: once served by it, the owner need not wait by the
/// others.
#[test]
fn a_waiter_between_two_waits_of_an_owner_is_not_waited_for() {
    let (mut server, main, [r, m, same, z]) = server();
    for key in ["k", "k1", "j"] {
        server.ask(main, &format!("LOCK.ACQUIRE {key} x EXCLUSIVE"));
    }
    server.send(r, "LOCK.MACQUIRE 2 k k1 r SHARED BLOCK 0");
    server.send(m, "LOCK.MACQUIRE 2 k k1 m SHARED BLOCK 0");
    server.send(same, "LOCK.ACQUIRE k r SHARED BLOCK 0");
    server.send(z, "LOCK.ACQUIRE j z EXCLUSIVE BLOCK 0");
    check_graph(&mut server, main);
    server.ask(main, "LOCK.TRANSFER j x m");
    assert_eq!(server.read(m), "");
    for key in ["k", "k1"] {
        server.ask(main, &format!("LOCK.RELEASE {key} x"));
    }
    assert!(server.read(r).contains("tokens") && server.read(same).contains("token"));
    assert!(server.read(m).contains("tokens"));
}

/// A key for which a client waits as a lock is one, whatever its owners are named and however they came there.
#[test]
fn a_lock_written_or_renamed_into_its_key_may_close_a_cycle() {
    for come in [
        &["HSET k2 mode read d 1"][..],
        &["HSET k2 mode write d:write 1"],
        &["HSET q mode read d 1", "RENAME q k2"],
        &["HSET q mode read d 1", "COPY q k2"],
    ] {
        let (mut server, main, [b, d]) = server();
        server.ask(main, "LOCK.ACQUIRE k0 c EXCLUSIVE");
        server.send(b, "LOCK.MACQUIRE 2 k0 k2 b EXCLUSIVE BLOCK 0");
        server.send(d, "LOCK.MACQUIRE 2 k0 k1 d SHARED BLOCK 0");
        come.iter().for_each(|line| drop(server.ask(main, line)));
        assert_eq!(server.read(d), "-DEADLOCK d -> k0 -> b -> k2 -> d\r\n", "{come:?}");
        check_graph(&mut server, main);
    }
}

/// A hold of the owner counts even if nobody has seen it begin.
#[test]
fn the_end_of_a_hold_that_was_not_seen_to_begin_may_close_a_cycle() {
    for end in ["LOCK.RELEASE k2 a", "HDEL k2 a", "LOCK.FORCEUNLOCK k2 OWNER a", "LOCK.TRANSFER k2 a d"] {
        let (mut server, main, [a, c, w]) = server();
        for line in ["HSET k2 mode read a 1 c 1", "PEXPIRE k2 60000"] {
            server.ask(main, line);
        }
        for hold in ["a", "c"] {
            server.ask(main, &format!("SET {{k2}}:{hold}:rwlock_timeout:1 1 PX 60000"));
        }
        server.ask(main, "LOCK.ACQUIRE k0 x EXCLUSIVE");
        server.send(w, "LOCK.ACQUIRE k2 w EXCLUSIVE BLOCK 0");
        server.send(a, "LOCK.MACQUIRE 2 k0 k2 a SHARED BLOCK 0");
        server.send(c, "LOCK.ACQUIRE k0 c EXCLUSIVE BLOCK 0");
        assert_eq!((server.read(a), server.read(c)), (String::new(), String::new()), "{end}");
        server.ask(main, end);
        assert_eq!(server.read(a), "-DEADLOCK a -> k2 -> c -> k0 -> a\r\n", "{end}");
        check_graph(&mut server, main);
    }
}

#[test]
fn an_exchange_of_databases_may_close_a_cycle() {
    let (mut server, main, [a, b, other]) = server();
    server.ask(other, "SELECT 1");
    for (client, line) in [
        (main, "LOCK.ACQUIRE b b"),
        (main, "LOCK.ACQUIRE c x"),
        (other, "LOCK.ACQUIRE c a"),
        (other, "LOCK.ACQUIRE b b"),
    ] {
        server.ask(client, line);
    }
    server.send(a, "LOCK.ACQUIRE b a BLOCK 0");
    server.send(b, "LOCK.ACQUIRE c b BLOCK 0");
    server.ask(main, "SWAPDB 0 1");
    let told = [server.read(a), server.read(b)].concat();
    assert_eq!(told.matches("-DEADLOCK").count(), 1, "{told}");
    check_graph(&mut server, main);
}

/// An owner that waits for a lock which has changed its kind gets an error, and waits for nobody.
#[test]
fn a_wait_that_ends_with_an_error_is_in_no_cycle() {
    for give in ["'set', 'c', 'a', 'nx', 'px', 10000", "'lock.acquire', 'c', 'a', 'SHARED'"] {
        let (mut server, main, [a, b]) = server();
        server.ask(b, "LOCK.ACQUIRE b b");
        server.ask(main, "LOCK.ACQUIRE c x");
        server.send(a, "LOCK.ACQUIRE b a BLOCK 0");
        server.send(b, "LOCK.ACQUIRE c b BLOCK 0");
        server.ask(main, &format!("EVAL \"redis.call('del', 'c') return redis.call({give})\" 0"));
        assert!(server.read(b).starts_with('-'), "{give}");
        assert_eq!(server.read(a), "", "{give}");
        server.ask(main, "LOCK.RELEASE b b");
        assert!(server.read(a).contains("token"), "{give}");
    }
}

/// A check considers all of an owner's waits at once, and runs once for all changes.
#[test]
fn thousands_of_waits_of_one_owner_are_checked_at_once() {
    const WAITS: usize = 1_000;
    let (mut server, main, [a, b, z]) = server();
    for n in 0..WAITS {
        server.ask(main, &format!("LOCK.ACQUIRE b{n} b"));
        server.ask(main, &format!("LOCK.ACQUIRE c{n} c"));
    }
    [a, b].iter().for_each(|client| drop(server.ask(*client, "HELLO 3")));
    for n in 0..WAITS {
        server.ask(a, &format!("LOCK.ACQUIRE b{n} a ASYNC"));
        server.ask(b, &format!("LOCK.ACQUIRE c{n} b ASYNC"));
    }
    server.ask(main, "LOCK.ACQUIRE j x");
    server.send(z, "LOCK.ACQUIRE j z BLOCK 0");
    server.ask(
        main,
        "EVAL \"for _ = 1, 1000 do redis.call('lock.transfer', 'j', 'x', 'a') \
         redis.call('lock.transfer', 'j', 'a', 'x') end\" 0",
    );
    server.ask(main, "LOCK.TRANSFER j x a");
    check_graph(&mut server, main);
    server.ask(main, "LOCK.RELEASE j a");
    assert!(server.read(z).contains("token"));
}

/// A cycle closed by an owner of Redisson refuses no request outside it, even if the owner is part of it.
#[test]
fn a_passing_request_is_not_refused_for_an_older_cycle() {
    const OWNER: &str = "8743c9c0-0795-4907-87fd-6c719a6b4586:1";
    for (low, hi, waits_for_x) in
        [("", "", false), ("", " PRIORITY 1", false), (" PRIORITY -1", "", false), ("", " PRIORITY 1", true)]
    {
        let (mut server, main, [x, owner, listener]) = server();
        [x, owner].iter().for_each(|client| drop(server.ask(*client, "HELLO 3")));
        for line in [
            "LOCK.ACQUIRE k1 hi FAIR",
            &format!("HSET k2 {OWNER} 1"),
            "PEXPIRE k2 100000",
            "LOCK.ACQUIRE k h",
            "LOCK.ACQUIRE k3 x FAIR",
        ] {
            server.ask(main, line);
        }
        assert!(server.ask(x, &format!("LOCK.ACQUIRE k x{low} ASYNC")).contains("QUEUED"));
        assert!(server.ask(owner, "LOCK.ACQUIRE k2 hi ASYNC").contains("QUEUED"));
        // The owner that is passed is waited for, too.
        for key in if waits_for_x { &["k1", "k3"][..] } else { &["k1"] } {
            server.ask(main, &format!("RPUSH redisson_lock_queue:{{{key}}} {OWNER}"));
            server.ask(main, &format!("ZADD redisson_lock_timeout:{{{key}}} 9999999999999 {OWNER}"));
            server.ask(listener, &format!("SUBSCRIBE redisson_lock__channel:{{{key}}}:{OWNER}"));
        }
        let told = server.ask(owner, &format!("LOCK.ACQUIRE k hi{hi} ASYNC"));
        let cycle = format!("-DEADLOCK hi -> k2 -> {OWNER} -> k3 -> x -> k -> hi\r\n");
        let is_right = if waits_for_x { told == cycle } else { told.contains("QUEUED") };
        assert!(is_right, "{low}{hi}: {told}");
    }
}
