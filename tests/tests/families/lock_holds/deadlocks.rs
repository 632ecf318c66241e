//! Deadlocks, found when a request would close one, and the graph of waits.

use lockwheel_engine::config::Config;
use lockwheel_engine::core::Simulation;
use std::time::Instant;

fn server<const N: usize>() -> (Simulation, u64, [u64; N]) {
    let mut server = Simulation::new(Config::default(), 7);
    let main = server.connect();
    let clients = [0; N].map(|_| server.connect());
    (server, main, clients)
}

#[test]
fn a_request_that_would_close_a_cycle_gets_deadlock() {
    let (mut server, main, [a, b]) = server();
    server.ask(a, "LOCK.ACQUIRE k1 a");
    server.ask(b, "LOCK.ACQUIRE k2 b");
    server.send(b, "LOCK.ACQUIRE k1 b BLOCK 0");
    // A request that does not wait closes no cycle.
    assert_eq!(server.ask(a, "LOCK.ACQUIRE k2 a"), "$-1\r\n");
    assert_eq!(server.ask(a, "LOCK.ACQUIRE k2 a BLOCK 1000"), "-DEADLOCK a -> k2 -> b -> k1 -> a\r\n");
    assert_eq!(server.ask(main, "HKEYS k1"), "*1\r\n$1\r\na\r\n");
    assert_eq!(server.ask(main, "AWAIT.BLOCKED 1 KEY k1"), ":1\r\n");
    assert_eq!(server.ask(a, "LOCK.RELEASE k1 a"), ":0\r\n");
    assert!(server.read(b).contains("token"));
    // The cycle is gone with the hold.
    server.send(a, "LOCK.ACQUIRE k2 a BLOCK 0");
    assert_eq!(server.read(a), "");
}

/// A waiter that wants to share several locks does not wait for readers of those that can be read, and does not block
/// them.
#[test]
fn readers_and_multi_lock_readers_do_not_wait_for_each_other() {
    let (mut server, main, [several, reader, other]) = server();
    server.ask(main, "CLOCK.FREEZE");
    server.ask(main, "LOCK.ACQUIRE j c EXCLUSIVE");
    server.ask(main, "LOCK.ACQUIRE k b SHARED");
    server.send(several, "LOCK.MACQUIRE 2 k j m SHARED BLOCK 0");
    assert!(server.ask(other, "LOCK.ACQUIRE k d SHARED").contains("token"));
    assert_eq!(server.ask(reader, "LOCK.ACQUIRE j b SHARED BLOCK 0"), "");
    assert!(server.ask(main, "LOCK.GRAPH").ends_with("cycles\r\n*0\r\n"));
    for owner in ["b", "d"] {
        server.ask(main, &format!("LOCK.RELEASE k {owner}"));
    }
    assert_eq!(server.ask(main, "LOCK.ACQUIRE k w EXCLUSIVE"), "$-1\r\n", "it is kept for who wants both");
    server.ask(main, "LOCK.RELEASE j c");
    assert!(server.read(several).contains("tokens"));
    assert!(server.read(reader).contains("token"));
}

#[test]
fn a_reader_behind_a_multi_lock_reader_is_served_once_no_writer_waits() {
    let (mut server, main, [writer, several, reader]) = server();
    for line in ["CLOCK.FREEZE", "LOCK.ACQUIRE j c EXCLUSIVE", "LOCK.ACQUIRE k b SHARED"] {
        server.ask(main, line);
    }
    server.send(writer, "LOCK.ACQUIRE k w EXCLUSIVE BLOCK 100");
    server.send(several, "LOCK.MACQUIRE 2 k j m SHARED BLOCK 0");
    server.send(reader, "LOCK.ACQUIRE k r SHARED BLOCK 0");
    // The request waits for the writer, and so for the reader before.
    assert_eq!(server.ask(main, "LOCK.ACQUIRE j b EXCLUSIVE BLOCK 0"), "-DEADLOCK b -> j -> m -> k -> b\r\n");
    assert_eq!(server.read(reader), "");
    server.ask(main, "CLOCK.ADVANCE 100");
    assert!(server.read(reader).contains("token"));
    assert_eq!(server.read(several), "");
    server.ask(main, "LOCK.RELEASE j c");
    assert!(server.read(several).contains("tokens"));
}

#[test]
fn the_error_names_the_shortest_cycle() {
    let (mut server, _, clients) = server::<4>();
    for (n, client) in clients.iter().enumerate() {
        server.ask(*client, &format!("LOCK.ACQUIRE k{n} o{n}"));
    }
    for (n, client) in clients.iter().enumerate().skip(1) {
        server.send(*client, &format!("LOCK.ACQUIRE k{} o{n} BLOCK 0", n - 1));
    }
    assert_eq!(
        server.ask(clients[0], "LOCK.ACQUIRE k3 o0 BLOCK 0"),
        "-DEADLOCK o0 -> k3 -> o3 -> k2 -> o2 -> k1 -> o1 -> k0 -> o0\r\n"
    );
    assert_eq!(
        server.ask(clients[0], "LOCK.ACQUIRE k1 o0 BLOCK 0"),
        "-DEADLOCK o0 -> k1 -> o1 -> k0 -> o0\r\n"
    );
}

#[test]
fn owners_of_one_name_in_different_databases_are_different_owners() {
    let (mut server, _, [a, b]) = server();
    server.ask(a, "LOCK.ACQUIRE k1 a");
    for line in ["SELECT 1", "LOCK.ACQUIRE k2 b"] {
        server.ask(b, line);
    }
    server.send(b, "LOCK.ACQUIRE k1 b BLOCK 0");
    assert!(server.read(b).contains("token"), "it is another lock");
    assert_eq!(
        server.ask(a, "LOCK.ACQUIRE k1 a BLOCK 0").len(),
        server.ask(a, "LOCK.ACQUIRE k1 a BLOCK 0").len()
    );
}

#[test]
fn scripts_and_transactions_do_not_wait_and_close_no_cycle() {
    let (mut server, _, [a, b]) = server();
    server.ask(a, "LOCK.ACQUIRE k1 a");
    server.ask(b, "LOCK.ACQUIRE k2 b");
    server.send(b, "LOCK.ACQUIRE k1 b BLOCK 0");
    for line in ["MULTI", "LOCK.ACQUIRE k2 a BLOCK 0"] {
        server.ask(a, line);
    }
    assert_eq!(server.ask(a, "EXEC"), "*1\r\n$-1\r\n");
    assert_eq!(
        server.ask(a, "EVAL \"return redis.call('LOCK.ACQUIRE', 'k2', 'a', 'BLOCK', 0)\" 0"),
        "$-1\r\n"
    );
}

#[test]
fn the_graph_shows_waits_and_cycles() {
    let (mut server, main, [a, b, c]) = server();
    server.ask(a, "LOCK.ACQUIRE k1 a");
    server.ask(b, "LOCK.ACQUIRE k2 b");
    server.send(b, "LOCK.ACQUIRE k1 b BLOCK 0");
    server.send(c, "LOCK.ACQUIRE k1 c BLOCK 0");
    let waiter = |owner: &str| {
        format!(
            "*8\r\n$6\r\nwaiter\r\n$1\r\n{owner}\r\n$4\r\nkind\r\n$6\r\nnative\r\n$7\r\nholders\r\n:1\r\n\
             $5\r\nahead\r\n:0\r\n"
        )
    };
    let lock = format!(
        "*8\r\n$3\r\nkey\r\n$2\r\nk1\r\n$7\r\nholders\r\n*1\r\n$1\r\na\r\n$5\r\nahead\r\n*0\r\n\
         $7\r\nwaiters\r\n*2\r\n{}{}",
        waiter("b"),
        waiter("c")
    );
    assert_eq!(
        server.ask(main, "LOCK.GRAPH"),
        format!("*6\r\n$5\r\nlocks\r\n*1\r\n{lock}$8\r\nleft-out\r\n:0\r\n$6\r\ncycles\r\n*0\r\n")
    );
    // A cycle with an owner of Redisson is closed when that owner is given a lock: the owner cannot be notified.
    const OWNER: &str = "8743c9c0-0795-4907-87fd-6c719a6b4586:1";
    server.ask(a, &format!("SUBSCRIBE redisson_lock__channel:{{k2}}:{OWNER}"));
    server.ask(main, &format!("LOCK.TRANSFER k1 a {OWNER}"));
    let graph = server.ask(main, "LOCK.GRAPH");
    let cycle = format!("{OWNER} -> k2 -> b -> k1 -> {OWNER}");
    assert!(graph.ends_with(&format!("cycles\r\n*1\r\n${}\r\n{cycle}\r\n", cycle.len())), "{graph}");
    let dot = server.ask(main, "LOCK.GRAPH DOT");
    for line in [
        "\"lock\\n0\" [shape=box, label=\"lock\\nk1\"]",
        "\"b\" -> \"lock\\n0\"",
        &format!("\"lock\\n0\" -> \"{OWNER}\""),
    ] {
        assert!(dot.contains(&format!("  {line};\n")), "{dot}");
    }
    assert!(server.ask(main, "LOCK.GRAPH FOO").starts_with("-ERR syntax error: "));
    assert!(server.ask(main, "LOCK.GRAPH DOT DOT").starts_with("-ERR syntax error: "));
}

#[test]
fn fair_waiters_of_redisson_are_in_the_graph_others_only_with_inferred() {
    let (mut server, main, [fair, plain]) = server();
    server.ask(main, "LOCK.ACQUIRE k a");
    server.ask(fair, "SUBSCRIBE redisson_lock__channel:{k}:8743c9c0-0795-4907-87fd-6c719a6b4586:1");
    server.ask(plain, "SUBSCRIBE redisson_lock__channel:{k}");
    let dot = |server: &mut Simulation, words: &str| server.ask(main, &format!("LOCK.GRAPH DOT{words}"));
    let text = dot(&mut server, "");
    assert!(text.contains("\"8743c9c0-0795-4907-87fd-6c719a6b4586:1\" -> \"lock\\n0\";"), "{text}");
    assert!(text.contains("\"lock\\n0\" -> \"a\";"), "{text}");
    assert!(!text.contains("client"), "{text}");
    let text = dot(&mut server, " INFERRED");
    assert!(text.contains("\"client 3\" -> \"lock\\n0\";"), "{text}");
    // The channel of read-write locks has another name.
    server.ask(main, "LOCK.ACQUIRE rw a EXCLUSIVE");
    server.ask(plain, "SUBSCRIBE redisson_rwlock:{rw}");
    let text = dot(&mut server, " INFERRED");
    assert!(text.contains("\"client 3\" -> \"lock\\n1\";"), "{text}");
}

/// An owner that waits twice comes to hold the lock for which those behind it wait.
#[test]
fn a_grant_that_closes_a_cycle_ends_the_new_holders_other_wait() {
    let (mut server, main, [a, b, c]) = server();
    server.ask(a, "HELLO 3");
    server.ask(c, "LOCK.ACQUIRE k1 c");
    server.ask(b, "LOCK.ACQUIRE k2 b");
    server.ask(c, "LOCK.ACQUIRE k3 c");
    for key in ["k1", "k2", "k3"] {
        assert!(server.ask(a, &format!("LOCK.ACQUIRE {key} a ASYNC")).starts_with("*2\r\n+QUEUED"));
    }
    server.ask(main, "PSUBSCRIBE __lock@0__:*");
    server.send(b, "LOCK.ACQUIRE k1 b BLOCK 0");
    assert_eq!(server.read(a), "");
    server.ask(c, "LOCK.RELEASE k1 c");
    let told = server.read(a);
    let pushes: Vec<&str> = told.split(">2\r\n").skip(1).collect();
    assert!(pushes[0].contains("lock-granted") && pushes[0].contains("$2\r\nk1\r\n"), "{told}");
    let error = "$32\r\nDEADLOCK a -> k2 -> b -> k1 -> a\r\n";
    assert!(pushes[1].contains("lock-cancelled") && pushes[1].contains("$2\r\nk2\r\n"), "{told}");
    assert!(pushes[1].ends_with(error), "{told}");
    // Its wait for the lock that is in no cycle continues, and so do the waits for the owner.
    assert_eq!((pushes.len(), server.read(b)), (2, String::new()));
    let heard = server.read(main);
    assert!(heard.contains("deadlock owner=a cycle=\"a -> k2 -> b -> k1 -> a\""), "{heard}");
    assert!(server.ask(a, "LOCK.RELEASE k1 a").contains(":0"));
    assert!(server.read(b).contains("token"));
    server.ask(c, "LOCK.RELEASE k3 c");
    assert!(server.read(a).contains("lock-granted"));
}

/// Two blocking connections of one owner, one of which requests several locks, form such a cycle too.
#[test]
fn a_grant_that_closes_a_cycle_ends_the_new_holders_blocked_wait() {
    let (mut server, _, [a, same, b, c]) = server();
    server.ask(c, "LOCK.ACQUIRE k1 c");
    server.ask(b, "LOCK.ACQUIRE k2 b");
    server.send(a, "LOCK.ACQUIRE k1 a BLOCK 0");
    server.send(same, "LOCK.MACQUIRE 2 k2 free a BLOCK 0");
    server.send(b, "LOCK.ACQUIRE k1 b BLOCK 0");
    server.ask(c, "LOCK.RELEASE k1 c");
    assert!(server.read(a).contains("token"));
    assert_eq!(server.read(same), "-DEADLOCK a -> k2 -> b -> k1 -> a\r\n");
    assert_eq!(server.ask(a, "LOCK.RELEASE k1 a"), ":0\r\n");
    assert!(server.read(b).contains("token"));
}

/// The wait of a Redisson owner in a fair queue is known, whatever the configuration.
#[test]
fn a_cycle_through_a_fair_waiter_of_redisson_is_refused() {
    const OWNER: &str = "8743c9c0-0795-4907-87fd-6c719a6b4586:1";
    let (mut server, main, [a, redisson]) = server();
    server.ask(a, "LOCK.ACQUIRE k1 a");
    server.ask(main, &format!("HSET k2 {OWNER} 1"));
    server.ask(main, "PEXPIRE k2 30000");
    server.ask(main, &format!("RPUSH redisson_lock_queue:{{k1}} {OWNER}"));
    server.ask(main, &format!("ZADD redisson_lock_timeout:{{k1}} 1893456000000 {OWNER}"));
    server.send(redisson, &format!("SUBSCRIBE redisson_lock__channel:{{k1}}:{OWNER}"));
    let error = format!("-DEADLOCK a -> k2 -> {OWNER} -> k1 -> a\r\n");
    let asked = ["LOCK.ACQUIRE k2 a", "LOCK.ACQUIRE k2 a FAIR", "LOCK.MACQUIRE 2 x k2 a"];
    for line in asked.map(|line| format!("{line} BLOCK 0")) {
        assert_eq!(server.ask(a, &line), error, "{line}");
    }
    assert_eq!(server.ask(main, "EXISTS redisson_lock_queue:{k2}"), ":0\r\n");
    // There is no wait to refuse without one, and an owner that has stopped listening no longer waits.
    assert_eq!(server.ask(a, "LOCK.ACQUIRE k2 a"), "$-1\r\n");
    // In a cluster, the owner listens to a channel of its slot.
    server.send(redisson, &format!("SSUBSCRIBE redisson_lock__channel:{{k1}}:{OWNER}"));
    server.send(redisson, "UNSUBSCRIBE");
    assert_eq!(server.ask(a, "LOCK.ACQUIRE k2 a BLOCK 0"), error);
    server.send(redisson, "SUNSUBSCRIBE");
    assert_eq!(server.ask(a, "LOCK.ACQUIRE k2 a BLOCK 0"), "");
}

/// The history tells for which lock the waiters of a shared subscription wait, and may be wrong. The configuration
/// decides whether a client that would close such a cycle is refused.
#[test]
fn an_inferred_cycle_is_refused_if_the_configuration_says_so() {
    const OWNER: &str = "8743c9c0-0795-4907-87fd-6c719a6b4586:1";
    const TRY: &str = "EVAL \"if redis.call('exists', KEYS[1]) == 0 or redis.call('hexists', KEYS[1], ARGV[2]) == 1 \
        then redis.call('hincrby', KEYS[1], ARGV[2], 1) redis.call('pexpire', KEYS[1], ARGV[1]) return nil end \
        return redis.call('pttl', KEYS[1])\" 1";
    for (inferred, history) in [("yes", "yes"), ("no", "yes"), ("yes", "no")] {
        let (mut server, main, [a, redisson, listener]) = server();
        server.ask(main, &format!("CONFIG SET lock-history {history} lock-deadlock-inferred {inferred}"));
        server.ask(a, "LOCK.ACQUIRE k1 a");
        server.ask(redisson, &format!("{TRY} k2 30000 {OWNER}"));
        server.ask(redisson, &format!("{TRY} k1 30000 {OWNER}"));
        server.send(listener, "SUBSCRIBE redisson_lock__channel:{k1}");
        server.ask(redisson, &format!("{TRY} k1 30000 {OWNER}"));
        let expected = match (inferred, history) {
            ("yes", "yes") => format!("-DEADLOCK a -> k2 -> {OWNER} -> k1 -> a\r\n"),
            _ => String::new(),
        };
        assert_eq!(server.ask(a, "LOCK.ACQUIRE k2 a BLOCK 0"), expected, "{inferred} {history}");
    }
}

/// A writer's field, and the name that its scripts use, has a suffix: it is the same owner.
#[test]
fn a_cycle_through_a_read_write_lock_of_redisson_is_found() {
    const OWNER: &str = "8743c9c0-0795-4907-87fd-6c719a6b4586:1";
    const WRITE: &str = "EVAL \"local mode = redis.call('hget', KEYS[1], 'mode') \
        if mode == false then redis.call('hset', KEYS[1], 'mode', 'write') redis.call('hset', KEYS[1], ARGV[2], 1) \
        redis.call('pexpire', KEYS[1], ARGV[1]) return nil end return redis.call('pttl', KEYS[1])\" 1";
    const READ: &str = "EVAL \"redis.call('hset', KEYS[1], 'mode', 'read') redis.call('hset', KEYS[1], ARGV[2], 1) \
        redis.call('set', '{' .. KEYS[1] .. '}:' .. ARGV[2] .. ':rwlock_timeout:1', 1, 'px', ARGV[1]) \
        redis.call('pexpire', KEYS[1], ARGV[1]) return nil\" 1";
    let writer = format!("{OWNER}:write");
    for (take, held_as) in [(WRITE, &*writer), (READ, OWNER)] {
        let (mut server, main, [a, redisson, listener]) = server();
        server.ask(main, "CONFIG SET lock-history yes lock-deadlock-inferred yes");
        server.ask(a, "LOCK.ACQUIRE k1 a EXCLUSIVE");
        server.ask(redisson, &format!("{take} k2 30000 {held_as}"));
        server.ask(redisson, &format!("{WRITE} k1 30000 {writer}"));
        server.send(listener, "SUBSCRIBE redisson_rwlock:{k1}");
        server.ask(redisson, &format!("{WRITE} k1 30000 {writer}"));
        let expected = format!("-DEADLOCK a -> k2 -> {OWNER} -> k1 -> a\r\n");
        assert_eq!(server.ask(a, "LOCK.ACQUIRE k2 a EXCLUSIVE BLOCK 0"), expected, "{held_as}");
        // If nobody refuses the request, the graph has the cycle.
        server.ask(main, "CONFIG SET lock-deadlock-inferred no");
        assert_eq!(server.ask(a, "LOCK.ACQUIRE k2 a EXCLUSIVE BLOCK 0"), "");
        let graph = server.ask(main, "LOCK.GRAPH INFERRED");
        let cycles =
            [format!("a -> k2 -> {OWNER} -> k1 -> a"), format!("{OWNER} -> k1 -> a -> k2 -> {OWNER}")];
        assert!(cycles.iter().any(|cycle| graph.contains(cycle)), "{graph}");
    }
}

/// A hundred owners in a chain, each waiting for the next one's lock. The test bounds the time of finding that the last
/// request would close a cycle.
#[test]
fn a_cycle_of_a_hundred_owners_is_found_at_once() {
    const DEPTH: usize = 100;
    let (mut server, _, clients) = server::<DEPTH>();
    for (n, client) in clients.iter().enumerate() {
        server.ask(*client, &format!("LOCK.ACQUIRE k{n} o{n}"));
    }
    for (n, client) in clients.iter().enumerate().skip(1) {
        server.send(*client, &format!("LOCK.ACQUIRE k{} o{n} BLOCK 0", n - 1));
    }
    let line = format!("LOCK.ACQUIRE k{} o0 BLOCK 0", DEPTH - 1);
    let took = (0..50).map(|_| {
        let began = Instant::now();
        let error = server.ask(clients[0], &line);
        assert_eq!(error.matches(" -> ").count(), 2 * DEPTH);
        began.elapsed()
    });
    eprintln!("a deadlock of depth {DEPTH} was found in {:?}", took.min());
}

#[test]
fn several_locks_are_taken_together_or_not_at_all() {
    let (mut server, main, [a, b]) = server();
    assert_eq!(
        server.ask(a, "LOCK.MACQUIRE 2 x y a PX 5000"),
        "*4\r\n$6\r\ntokens\r\n*2\r\n:1\r\n:2\r\n$6\r\nwaited\r\n:0\r\n"
    );
    assert_eq!(server.ask(b, "LOCK.MACQUIRE 2 z y b"), "$-1\r\n");
    assert_eq!(
        (server.ask(main, "EXISTS z"), server.ask(main, "PTTL x")),
        (":0\r\n".into(), ":5000\r\n".into())
    );
    for (line, error) in [
        ("LOCK.MACQUIRE 2 x x b", "-ERR key 'x' is given twice"),
        ("LOCK.MACQUIRE 0 x b", "-ERR numkeys should be greater than 0: "),
        ("LOCK.MACQUIRE 2 x b", "-ERR syntax error: "),
        ("LOCK.MACQUIRE 9223372036854775807 x b", "-ERR syntax error: "),
        ("LOCK.MACQUIRE 1 x mode", "-ERR invalid owner: "),
        ("LOCK.MACQUIRE 1 x b FOO", "-ERR syntax error: "),
        ("LOCK.MACQUIRE 1 z b FAIR", "-ERR LOCK.MACQUIRE does not accept FAIR: use LOCK.ACQUIRE\r\n"),
        ("LOCK.MACQUIRE 2 z y a NOREENTER", "-REENTRANT this owner already holds the lock\r\n"),
    ] {
        assert!(server.ask(main, line).starts_with(error), "{line}");
    }
    server.ask(main, "RPUSH list v");
    assert!(server.ask(main, "LOCK.MACQUIRE 2 z list b").starts_with("-WRONGTYPE"));
    assert_eq!(server.ask(main, "EXISTS z"), ":0\r\n");
    assert_eq!(server.ask(a, "LOCK.MRELEASE 2 x y a"), "*2\r\n:0\r\n:0\r\n");
}

#[test]
fn a_multi_lock_waiter_is_served_once_it_is_first_in_every_queue() {
    let (mut server, main, [several, late, other]) = server();
    server.ask(main, "LOCK.ACQUIRE x h");
    server.ask(main, "LOCK.ACQUIRE y h");
    server.send(several, "LOCK.MACQUIRE 3 x y z a BLOCK 0");
    // A free lock for which the request also waits is not given to a later one.
    server.send(late, "LOCK.ACQUIRE z b BLOCK 0");
    assert_eq!(server.ask(main, "LOCK.ACQUIRE z c"), "$-1\r\n");
    server.send(other, "LOCK.MACQUIRE 2 y w c BLOCK 0");
    server.ask(main, "LOCK.RELEASE x h");
    assert_eq!((server.read(several), server.read(late)), (String::new(), String::new()));
    server.ask(main, "LOCK.RELEASE y h");
    assert!(server.read(several).starts_with("*4\r\n$6\r\ntokens\r\n*3\r\n"));
    assert_eq!(server.read(other), "");
    server.ask(main, "LOCK.MRELEASE 3 x y z a");
    assert!(server.read(late).contains("token") && server.read(other).contains("tokens"));
}

#[test]
fn ending_a_wait_for_several_locks_strands_no_waiter() {
    for end in ["close", "kill", "unblock", "timeout", "cancel"] {
        let (mut server, main, [several, late, other]) = server();
        server.ask(main, "CLOCK.FREEZE");
        server.ask(main, "LOCK.ACQUIRE x h");
        server.send(several, "LOCK.MACQUIRE 2 x z a BLOCK 100");
        server.send(late, "LOCK.ACQUIRE z b BLOCK 0");
        server.send(other, "LOCK.MACQUIRE 2 z w c BLOCK 0");
        match end {
            "close" => {
                server.close(several);
                server.notice();
            }
            "kill" => drop(server.ask(main, &format!("CLIENT KILL ID {several}"))),
            "unblock" => drop(server.ask(main, &format!("CLIENT UNBLOCK {several}"))),
            "cancel" => drop(server.ask(main, "LOCK.CANCEL z a")),
            _ => drop(server.ask(main, "CLOCK.ADVANCE 100")),
        }
        assert!(server.read(late).contains("token"), "{end}");
        assert_eq!(server.ask(main, "LOCK.RELEASE z b"), ":0\r\n");
        assert!(server.read(other).contains("tokens"), "{end}");
    }
}

#[test]
fn a_request_for_several_locks_can_close_a_cycle() {
    let (mut server, main, [a, b, c]) = server();
    server.ask(a, "LOCK.ACQUIRE x a");
    server.ask(b, "LOCK.ACQUIRE y b");
    server.send(b, "LOCK.MACQUIRE 2 x z b BLOCK 0");
    assert_eq!(server.ask(a, "LOCK.MACQUIRE 2 w y a BLOCK 0"), "-DEADLOCK a -> y -> b -> x -> a\r\n");
    // A client waits for a free lock behind the request that has it in its queue.
    assert_eq!(server.ask(a, "LOCK.ACQUIRE z a BLOCK 0"), "-DEADLOCK a -> z -> b -> x -> a\r\n");
    server.send(c, "LOCK.ACQUIRE z c BLOCK 0");
    assert_eq!(server.ask(main, "AWAIT.BLOCKED 2 KEY z"), ":1\r\n");
    assert_eq!(server.ask(a, "LOCK.RELEASE x a"), ":0\r\n");
    assert!(server.read(b).contains("tokens"));
}

/// A client with a higher priority stands before those who wait already: it does not wait for them, and they wait for
/// it.
#[test]
fn the_priority_determines_the_wait_for_graph() {
    let (mut server, main, [low, high]) = server();
    server.ask(main, "LOCK.ACQUIRE x h");
    server.ask(main, "LOCK.ACQUIRE z o");
    server.send(low, "LOCK.MACQUIRE 2 x z b BLOCK 0");
    // The request stands before the waiter for its own lock, and so is served.
    assert_eq!(server.ask(high, "LOCK.ACQUIRE x o BLOCK 0"), "-DEADLOCK o -> x -> b -> z -> o\r\n");
    assert_eq!(server.ask(high, "LOCK.ACQUIRE x o PRIORITY 1 BLOCK 0"), "");
    server.ask(main, "LOCK.RELEASE x h");
    assert!(server.read(high).contains("token"));

    let (mut server, main, [low, high]) = self::server();
    server.ask(main, "LOCK.ACQUIRE x h");
    server.ask(main, "LOCK.ACQUIRE z o");
    server.send(low, "LOCK.ACQUIRE x o BLOCK 0");
    // The request would keep the lock from the owner whose lock it waits for.
    let told = server.ask(high, "LOCK.MACQUIRE 2 x z w PRIORITY 1 BLOCK 0");
    assert_eq!(told, "-DEADLOCK w -> z -> o -> x -> w\r\n");
    assert_eq!(server.ask(high, "LOCK.MACQUIRE 2 x z w BLOCK 0"), "");
    server.ask(main, "LOCK.RELEASE x h");
    assert!(server.read(low).contains("token"));
}

/// A request that passes others by its priority is checked at once: they wait for its owner from now on.
#[test]
fn a_request_that_passes_a_waiter_of_its_cycle_is_refused_at_once() {
    let cycle = "-DEADLOCK hi -> k2 -> low -> k -> hi\r\n";
    for (holder, low, hi, told) in [
        ("", "", " PRIORITY 10", cycle),
        ("", " PRIORITY -1", "", cycle),
        ("", " PRIORITY -1", " FAIR", cycle),
        ("", " FAIR", " PRIORITY 1", cycle),
        (" EXCLUSIVE", " EXCLUSIVE", " SHARED PRIORITY 1", cycle),
        (" EXCLUSIVE", " SHARED", " EXCLUSIVE PRIORITY 1", cycle),
        (" SHARED", " EXCLUSIVE", " EXCLUSIVE PRIORITY 1", cycle),
        // Both read the lock as soon as it is free.
        (" EXCLUSIVE", " SHARED", " SHARED PRIORITY 1", "QUEUED"),
        // Nobody is passed.
        ("", " PRIORITY 1", " PRIORITY 1", "QUEUED"),
        ("", "", "", "QUEUED"),
    ] {
        let (mut server, main, [a, b]) = server();
        [a, b].iter().for_each(|client| drop(server.ask(*client, "HELLO 3")));
        server.ask(main, &format!("LOCK.ACQUIRE k h{holder}"));
        server.ask(main, "LOCK.ACQUIRE k2 low");
        assert!(server.ask(a, &format!("LOCK.ACQUIRE k low{low} ASYNC")).contains("QUEUED"));
        assert!(server.ask(b, "LOCK.ACQUIRE k2 hi ASYNC").contains("QUEUED"));
        let answer = server.ask(b, &format!("LOCK.ACQUIRE k hi{hi} ASYNC"));
        assert!(answer.contains(told), "{holder}{low}{hi}: {answer}");
        // The later of its two requests is refused.
        server.ask(main, "LOCK.CANCEL k hi");
        server.ask(main, "LOCK.CANCEL k2 hi");
        server.read(b);
        assert!(server.ask(b, &format!("LOCK.ACQUIRE k hi{hi} ASYNC")).contains("QUEUED"));
        let answer = server.ask(b, "LOCK.ACQUIRE k2 hi ASYNC");
        assert!(answer.contains(told), "{holder}{low}{hi}: {answer}");
    }
}

/// A passed owner also waits through other waiters between, and through a writer for whom both must wait.
#[test]
fn a_passed_waiter_also_waits_through_others() {
    let (mut server, main, [a, b, c]) = server();
    [a, b, c].iter().for_each(|client| drop(server.ask(*client, "HELLO 3")));
    server.ask(main, "LOCK.ACQUIRE k h EXCLUSIVE");
    server.ask(main, "LOCK.ACQUIRE k2 middle");
    server.ask(main, "LOCK.ACQUIRE k3 low");
    for (client, line) in [
        (a, "LOCK.ACQUIRE k writer EXCLUSIVE ASYNC"),
        (a, "LOCK.ACQUIRE k low SHARED ASYNC"),
        (b, "LOCK.ACQUIRE k3 middle ASYNC"),
        (c, "LOCK.ACQUIRE k2 hi ASYNC"),
    ] {
        assert!(server.ask(client, line).contains("QUEUED"), "{line}");
    }
    let told = server.ask(c, "LOCK.ACQUIRE k hi SHARED PRIORITY 1 ASYNC");
    assert_eq!(told, "-DEADLOCK hi -> k2 -> middle -> k3 -> low -> k -> hi\r\n");
    // An owner that waits for nothing else is in no cycle.
    assert!(server.ask(c, "LOCK.ACQUIRE k other SHARED PRIORITY 1 ASYNC").contains("QUEUED"));
}

/// An owner that wants several locks does not wait for those that it holds.
#[test]
fn a_multi_lock_waiter_does_not_wait_for_locks_that_it_holds() {
    let (mut server, _, [a, b]) = server();
    [a, b].iter().for_each(|client| drop(server.ask(*client, "HELLO 3")));
    server.ask(a, "LOCK.ACQUIRE k a");
    server.ask(b, "LOCK.ACQUIRE m b");
    assert!(server.ask(a, "LOCK.MACQUIRE 2 k m a ASYNC").contains("QUEUED"));
    server.read(b);
    let told = server.ask(b, "LOCK.MACQUIRE 2 m k b ASYNC");
    assert_eq!(told, "-DEADLOCK b -> k -> a -> m -> b\r\n");
    // Nor does the owner wait for those who stand before it in such a lock's queue.
    let (mut server, main, [a, b, c]) = self::server();
    [a, c].iter().for_each(|client| drop(server.ask(*client, "HELLO 3")));
    server.ask(a, "LOCK.ACQUIRE k a");
    server.ask(b, "LOCK.ACQUIRE m b");
    assert!(server.ask(c, "LOCK.MACQUIRE 2 k o c ASYNC").contains("QUEUED"));
    server.read(a);
    assert!(server.ask(a, "LOCK.MACQUIRE 2 k m a ASYNC").contains("QUEUED"));
    let graph = server.ask(main, "LOCK.GRAPH");
    assert!(graph.contains("cycles\r\n*0\r\n"), "{graph}");
    server.ask(b, "LOCK.RELEASE m b");
    assert!(server.read(a).contains("lock-granted"));
}

/// A waiter that shares several locks waits behind others of its kind: such a wait can be in a cycle too.
#[test]
fn multi_lock_readers_can_be_in_a_cycle_with_each_other() {
    let (mut server, main, [a, c, x]) = server();
    [a, c].iter().for_each(|client| drop(server.ask(*client, "HELLO 3")));
    server.ask(c, "LOCK.ACQUIRE k1 c EXCLUSIVE");
    server.ask(x, "LOCK.ACQUIRE m x EXCLUSIVE");
    assert!(server.ask(a, "LOCK.MACQUIRE 2 k1 k0 a SHARED ASYNC").contains("QUEUED"));
    server.read(c);
    // A free lock goes at once to a newcomer, as it does when one lock is requested.
    assert!(server.ask(c, "LOCK.MACQUIRE 2 k0 free c SHARED").contains("tokens"));
    server.ask(c, "LOCK.MRELEASE 2 k0 free c");
    let told = server.ask(c, "LOCK.MACQUIRE 2 k0 m c SHARED ASYNC");
    assert_eq!(told, "-DEADLOCK c -> k0 -> a -> k1 -> c\r\n");
    let other = server.connect();
    server.send(other, "LOCK.MACQUIRE 2 k0 m o SHARED BLOCK 0");
    let graph = server.ask(main, "LOCK.GRAPH");
    let lock = "k0\r\n$7\r\nholders\r\n*0\r\n$5\r\nahead\r\n*2\r\n$1\r\na\r\n$1\r\no\r\n";
    let waits = "o\r\n$4\r\nkind\r\n$6\r\nnative\r\n$7\r\nholders\r\n:0\r\n$5\r\nahead\r\n:1\r\n";
    assert!(graph.contains(lock) && graph.contains(waits), "{graph}");
    server.ask(c, "LOCK.RELEASE k1 c");
    assert!(server.read(a).contains("lock-granted"));
    server.ask(x, "LOCK.RELEASE m x");
    assert!(server.read(other).contains("tokens"));
}

/// A request for several locks that is refused because of one is refused wherever that lock stands in the list, also
/// while the owner holds others.
#[test]
fn the_order_of_several_locks_decides_no_refusal() {
    let (mut server, main, [a, x]) = server();
    server.ask(x, "LOCK.ACQUIRE held x");
    server.ask(x, "LOCK.ACQUIRE written x EXCLUSIVE");
    server.ask(a, "LOCK.ACQUIRE own a");
    server.ask(a, "LOCK.ACQUIRE read a SHARED");
    server.ask(main, "RPUSH list v");
    for (keys, options, error) in [
        (["held", "own"], "NOREENTER", "-REENTRANT this owner already holds the lock\r\n"),
        (
            ["held", "own"],
            "MAXHOLDS 1",
            "-HOLDLIMIT this owner already holds the lock 1 times, MAXHOLDS is 1\r\n",
        ),
        (
            ["written", "read"],
            "EXCLUSIVE",
            "-DEADLOCK this owner holds the lock in shared mode: use LOCK.CONVERT\r\n",
        ),
        (["held", "read"], "", "-LOCKMODE the key holds a read-write lock\r\n"),
        (["held", "list"], "", "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n"),
    ] {
        for [one, other] in [keys, [keys[1], keys[0]]] {
            for waits in ["", " BLOCK 0"] {
                let line = format!("LOCK.MACQUIRE 2 {one} {other} a {options}{waits}");
                assert_eq!(server.ask(a, &line), error, "{line}");
            }
        }
    }
}
