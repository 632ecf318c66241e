//! Many owners of one lock, many waiters, and many locks that have ended: the work and the memory of one request stay
//! bounded.

use lockwheel_engine::config::Config;
use lockwheel_engine::core::Simulation;
use std::time::Duration;

/// A server on frozen clocks, and a client that controls it.
fn server() -> (Simulation, u64) {
    let mut server = Simulation::new(Config::default(), 7);
    let main = server.connect();
    server.ask(main, "CLOCK.FREEZE");
    server.ask(main, "HELLO 3");
    (server, main)
}

/// The number behind a name in a reply.
fn number(reply: &str, name: &str) -> i64 {
    let lines: Vec<&str> = reply.split("\r\n").collect();
    let at = lines.iter().position(|line| *line == name).unwrap_or_else(|| panic!("{name}"));
    lines[at + 1].trim_start_matches(':').parse().expect("a number")
}

/// The lines after each occurrence of a name in a reply.
fn values<'r>(reply: &'r str, name: &str) -> Vec<&'r str> {
    let lines: Vec<&str> = reply.split("\r\n").collect();
    let values = lines.windows(3).filter(|window| window[0] == name).map(|window| window[2]);
    values.collect()
}

/// Readers of a lock, and writers that wait for it by tickets of two connections.
fn readers_and_writers(server: &mut Simulation, main: u64, readers: usize, writers: usize) {
    let script =
        "for n = 1, ARGV[1] do redis.call('lock.acquire', 'lock', 'r' .. n, 'SHARED', 'PX', 100000) end";
    server.ask(main, &format!("EVAL \"{script}\" 0 {readers}"));
    let clients = [server.connect(), server.connect()];
    clients.iter().for_each(|client| drop(server.ask(*client, "HELLO 3")));
    for writer in 0..writers {
        let line = format!("LOCK.ACQUIRE lock w{writer} EXCLUSIVE PX 1000 ASYNC");
        assert!(server.ask(clients[writer % 2], &line).contains("QUEUED"));
    }
}

/// The number of entries behind a name in a RESP3 reply: of an array.
fn entries(reply: &str, name: &str) -> usize {
    let lines: Vec<&str> = reply.split("\r\n").collect();
    let at = lines.iter().position(|line| *line == name).unwrap_or_else(|| panic!("{name}"));
    lines[at + 1].trim_start_matches('*').parse().expect("a number of entries")
}

/// Ten million pairs come from eleven thousand entries.
#[test]
fn the_graph_names_each_of_many_readers_and_writers_once() {
    for (readers, writers) in [(3, 2), (1_000, 300), (10_000, 1_000)] {
        let (mut server, main) = server();
        readers_and_writers(&mut server, main, readers, writers);
        let graph = server.ask(main, "LOCK.GRAPH");
        assert_eq!((entries(&graph, "locks"), entries(&graph, "holders")), (1, readers));
        assert_eq!((entries(&graph, "waiters"), number(&graph, "left-out")), (writers, 0));
        let waiting = values(&graph, "waiter");
        assert!(
            (0..writers).all(|writer| waiting[writer] == format!("w{writer}")),
            "in the order of the queue"
        );
        assert_eq!(graph.matches(&format!("\r\nholders\r\n:{readers}\r\n")).count(), writers);
        assert!(graph.len() < 20 * readers + 100 * writers + 200, "{}", graph.len());
        let dot = server.ask(main, "LOCK.GRAPH DOT");
        assert_eq!(dot.matches(" -> ").count(), readers + writers);
        assert!(!dot.contains("// left out"));
    }
}

/// Requests for the same locks stand once in the queue of each, whoever stands ahead of them.
#[test]
fn the_graph_of_many_requests_for_the_same_locks_is_capped_and_says_so() {
    const LOCKS: usize = 50;
    for requests in [20, 1_100] {
        let (mut server, main) = server();
        let keys: Vec<String> = (0..LOCKS).map(|key| format!("k{key}")).collect();
        server.ask(main, &format!("LOCK.MACQUIRE {LOCKS} {} h PX 100000", keys.join(" ")));
        let clients = [server.connect(), server.connect()];
        clients.iter().for_each(|client| drop(server.ask(*client, "HELLO 3")));
        for request in 0..requests {
            let line = format!("LOCK.MACQUIRE {LOCKS} {} o{request} PX 1000 ASYNC", keys.join(" "));
            assert!(server.ask(clients[request % 2], &line).contains("QUEUED"));
        }
        // The holder has been notified that it keeps others waiting.
        server.read(main);
        let graph = server.ask(main, "LOCK.GRAPH");
        let names = LOCKS * (1 + 2 * requests);
        let shown = names.min(100_000);
        assert_eq!(number(&graph, "left-out"), (names - shown) as i64);
        assert!(graph.len() < 100 * shown, "{}", graph.len());
        // The last of the first lock waits for its holder and for all ahead of it.
        let behind = format!(
            "waiter\r\n${{}}\r\no{0}\r\n$4\r\nkind\r\n$6\r\nnative\r\n$7\r\nholders\r\n:1\r\n$5\r\nahead\r\n:{0}\r\n",
            requests - 1
        );
        let behind = behind.replace("{}", &format!("o{}", requests - 1).len().to_string());
        assert!(graph.contains(&behind));
        let dot = server.ask(main, "LOCK.GRAPH DOT");
        assert!(dot.matches(" -> ").count() < 2 * shown);
        assert_eq!(dot.contains("// left out"), shown < names);
    }
}

#[test]
fn long_owner_names_leave_out_other_owners_of_the_graph() {
    let (mut server, main) = server();
    let name = "n".repeat(1 << 20);
    for lock in 0..20 {
        server.ask(main, &format!("LOCK.ACQUIRE l{lock} h{lock} PX 100000"));
        server.ask(main, &format!("LOCK.ACQUIRE l{lock} {lock}{name} PX 1000 ASYNC"));
    }
    let graph = server.ask(main, "LOCK.GRAPH");
    assert!(number(&graph, "left-out") > 0 && graph.len() < 17 << 20, "{}", graph.len());
}

/// The product of patterns and channels, which clients choose, does not determine the time of a request.
#[test]
fn patterns_are_matched_with_a_bounded_number_of_channels() {
    const LOCKS: usize = 300;
    let (mut server, main) = server();
    let [patterns, channels] = [server.connect(), server.connect()];
    for pattern in 0..400 {
        server.ask(patterns, &format!("PSUBSCRIBE *a*{pattern}x"));
    }
    let script = "for n = 1, ARGV[1] do redis.call('hset', 'q' .. n, ARGV[2], 1) end";
    server.ask(main, &format!("EVAL \"{script}\" 0 {LOCKS} 8743c9c0-0795-4907-87fd-6c719a6b4586:1"));
    for lock in 1..=LOCKS {
        server.ask(channels, &format!("SUBSCRIBE redisson_lock__channel:{{q{lock}}}"));
    }
    let graph = server.ask(main, "LOCK.GRAPH");
    assert_eq!((entries(&graph, "locks"), number(&graph, "left-out")), (0, 0));
    let graph = server.ask(main, "LOCK.GRAPH INFERRED");
    assert_eq!(entries(&graph, "locks"), LOCKS, "those who listen to a channel are found all the same");
    // Five channels a lock, and half a million matches.
    assert_eq!(number(&graph, "left-out"), 50);
    assert!(server.ask(main, "LOCK.SCAN 0 STATE WAITED COUNT 1000").contains(&format!("*{LOCKS}\r\n")));
}

/// Redisson's readers are too many for a lookup of each one every time. Their leases count all the same.
#[test]
fn leases_of_many_foreign_readers_are_counted() {
    const FOREIGN: usize = 70;
    let (mut server, main) = server();
    let script = "for n = 1, ARGV[1] do \
                  redis.call('hset', 'l', 'f' .. n, 1) \
                  redis.call('set', '{l}:f' .. n .. ':rwlock_timeout:1', 1, 'px', 5000 + n) end \
                  redis.call('hset', 'l', 'mode', 'read')";
    server.ask(main, &format!("EVAL \"{script}\" 0 {FOREIGN}"));
    for native in 0..8 {
        server.ask(main, &format!("LOCK.ACQUIRE l n{native} SHARED PX {}", 1000 + native));
    }
    let left = |server: &mut Simulation, native: usize| {
        assert_eq!(server.ask(main, &format!("LOCK.RELEASE l n{native}")), ":0\r\n");
        server.ask(main, "PTTL l")
    };
    assert_eq!(left(&mut server, 0), ":5070\r\n");
    server.ask(main, "PEXPIRE {l}:f9:rwlock_timeout:1 9000");
    assert_eq!(left(&mut server, 1), ":9000\r\n", "a lease is longer");
    server.ask(main, "DEL {l}:f9:rwlock_timeout:1");
    assert_eq!(left(&mut server, 2), ":5070\r\n", "a lease is gone");
    server.ask(main, "HINCRBY l f9 1");
    server.ask(main, "SET {l}:f9:rwlock_timeout:2 1 PX 7000");
    assert_eq!(left(&mut server, 3), ":7000\r\n", "a hold was taken again");
    server.ask(main, "HDEL l f9");
    assert_eq!(left(&mut server, 4), ":5070\r\n", "a reader has left, not its lease");
    server.ask(main, "CLOCK.ADVANCE 5069");
    assert_eq!(server.ask(main, "HLEN l"), format!(":{}\r\n", FOREIGN), "the native ones are over");
    server.ask(main, "LOCK.ACQUIRE l n9 SHARED PX 100");
    assert_eq!(left(&mut server, 9), ":1\r\n");
}

/// Names of locks, which do not count as names of owners, take room too, in both forms of the reply.
#[test]
fn long_lock_names_leave_out_other_locks_of_the_graph() {
    let (mut server, main) = server();
    let holder = server.connect();
    let name = "n".repeat(2 << 20);
    for lock in 0..20 {
        server.ask(holder, &format!("LOCK.ACQUIRE {lock}{name} h PX 100000"));
        server.ask(main, &format!("LOCK.ACQUIRE {lock}{name} w PX 1000 ASYNC"));
    }
    let graph = server.ask(main, "LOCK.GRAPH");
    assert!(graph.len() < 17 << 20, "{}", graph.len());
    let shown = entries(&graph, "locks");
    assert!(shown >= 7, "{shown}");
    assert_eq!(number(&graph, "left-out"), 2 * (20 - shown as i64));
    let dot = server.ask(main, "LOCK.GRAPH DOT");
    assert!(dot.len() < 17 << 20 && dot.contains("// left out"), "{}", dot.len());
}

/// The name of a lock stands once, however many arrows lead to it and from it.
#[test]
fn the_dot_graph_contains_the_name_of_a_lock_once() {
    let (mut server, main) = server();
    let [key, other] = [b'n', b'\\'].map(|byte| char::from(byte).to_string().repeat(1 << 20));
    for reader in 0..30 {
        server.ask(main, &format!("LOCK.ACQUIRE {key} r{reader} SHARED PX 100000"));
    }
    server.ask(main, &format!("LOCK.ACQUIRE {key} w EXCLUSIVE PX 1000 ASYNC"));
    server.ask(main, &format!("LOCK.MACQUIRE 2 {key} {other} l0 EXCLUSIVE PX 1000 ASYNC"));
    server.ask(main, &format!("LOCK.MACQUIRE 2 {key} {other} several EXCLUSIVE PX 1000 ASYNC"));
    server.read(main);
    let dot = server.ask(main, "LOCK.GRAPH DOT");
    assert_eq!(dot.matches(&key).count(), 1);
    assert_eq!(dot.matches(" -> \"r").count(), 30);
    assert!(dot.len() < 4 << 20, "{}", dot.len());
    // An owner is no lock, whatever its name is.
    assert!(dot.contains("\"l0\" -> \"lock\\n"), "{}", &dot[dot.len() - 500..]);
}

/// The graph is about waits: holders are left out first.
#[test]
fn the_graph_leaves_out_holders_before_waits() {
    let (mut server, main) = server();
    readers_and_writers(&mut server, main, 100_000, 1);
    server.ask(main, "LOCK.ACQUIRE other h PX 100000");
    server.ask(main, "LOCK.ACQUIRE other w PX 1000 ASYNC");
    server.read(main);
    let graph = server.ask(main, "LOCK.GRAPH");
    assert_eq!(entries(&graph, "locks"), 2);
    assert_eq!(values(&graph, "waiter"), ["w0", "w"]);
    assert_eq!((entries(&graph, "holders"), number(&graph, "left-out")), (99_997, 3));
    assert!(graph.contains("other\r\n$7\r\nholders\r\n*1\r\n$1\r\nh\r\n"));
}

/// Checks the share that each lock has of the room for its holders and first waiters, in both forms of the reply.
#[test]
fn many_waiters_of_one_lock_leave_room_for_other_locks_in_the_graph() {
    const WAITERS: usize = 100_000;
    const OTHERS: usize = 3;
    let (mut server, main) = server();
    server.ask(main, "LOCK.ACQUIRE a h PX 100000");
    let waiting: Vec<u64> = (0..100).map(|_| server.connect()).collect();
    waiting.iter().for_each(|client| drop(server.ask(*client, "HELLO 3")));
    for waiter in 0..WAITERS {
        let line = format!("LOCK.ACQUIRE a w{waiter} PX 1000 ASYNC");
        assert!(server.ask(waiting[waiter % waiting.len()], &line).contains("QUEUED"));
    }
    for other in 0..OTHERS {
        server.ask(main, &format!("LOCK.ACQUIRE b{other} h{other} PX 100000"));
        server.ask(waiting[0], &format!("LOCK.ACQUIRE b{other} x PX 1000 ASYNC"));
        server.ask(waiting[0], &format!("LOCK.ACQUIRE b{other} y PX 1000 ASYNC"));
    }
    server.read(main);
    let graph = server.ask(main, "LOCK.GRAPH");
    assert_eq!(entries(&graph, "locks"), 1 + OTHERS);
    let others = 3 * OTHERS;
    assert_eq!(entries(&graph, "waiters"), WAITERS - 1 - others);
    assert_eq!(number(&graph, "left-out"), 1 + others as i64);
    let shown = values(&graph, "waiter");
    let of_first = WAITERS - 1 - others;
    assert!((0..of_first).all(|waiter| shown[waiter] == format!("w{waiter}")), "in the order of the queue");
    assert_eq!(shown[of_first..], ["x", "y"].repeat(OTHERS));
    for other in 0..OTHERS {
        assert!(graph.contains(&format!("b{other}\r\n$7\r\nholders\r\n*1\r\n$2\r\nh{other}\r\n")));
    }
    let dot = server.ask(main, "LOCK.GRAPH DOT");
    assert!((0..OTHERS).all(|other| dot.contains(&format!("-> \"h{other}\""))) && dot.contains("-> \"h\""));
}

/// A name that has no room by itself does not exclude the others.
#[test]
fn only_the_name_that_is_too_long_is_left_out() {
    let (mut server, main) = server();
    let holder = server.connect();
    let long = "n".repeat(17 << 20);
    server.ask(holder, &format!("LOCK.ACQUIRE a {long} PX 100000"));
    server.ask(holder, "LOCK.ACQUIRE b h PX 100000");
    server.ask(main, "LOCK.ACQUIRE b first PX 1000 ASYNC");
    server.ask(main, &format!("LOCK.ACQUIRE b {long} PX 1000 ASYNC"));
    server.ask(main, "LOCK.ACQUIRE a w PX 1000 ASYNC");
    server.ask(holder, &format!("LOCK.ACQUIRE {long} h PX 100000"));
    server.ask(main, &format!("LOCK.ACQUIRE {long} w PX 1000 ASYNC"));
    let graph = server.ask(main, "LOCK.GRAPH");
    assert_eq!(values(&graph, "waiter"), ["w", "first"]);
    // The holder of one lock, a waiter for another, and both of the lock with the long name.
    assert_eq!((entries(&graph, "locks"), number(&graph, "left-out")), (2, 4));
    assert!(graph.len() < 1_000 && graph.contains("holders\r\n*1\r\n$1\r\nh\r\n"));
}

/// Cycles have a room of their own, in which the names of locks count.
#[test]
fn cycles_of_long_names_are_left_out() {
    let [one, two] = THREADS;
    for (length, told) in [(1 << 20, 1), (9 << 20, 0)] {
        let (mut server, main) = server();
        let name = "n".repeat(length);
        for (lock, holder, waiter) in [("m", one, two), ("n", two, one)] {
            server.ask(main, &format!("HSET {lock}{name} {holder} 1"));
            let client = server.connect();
            server.ask(client, &format!("SUBSCRIBE redisson_lock__channel:{{{lock}{name}}}:{waiter}"));
        }
        let graph = server.ask(main, "LOCK.GRAPH");
        assert_eq!(entries(&graph, "cycles"), told);
        assert!(graph.len() < 17 << 20, "{}", graph.len());
    }
}

#[test]
fn a_cycle_is_refused_despite_many_readers_and_writers() {
    let (mut server, main) = server();
    readers_and_writers(&mut server, main, 300, 200);
    server.ask(main, "LOCK.ACQUIRE x one PX 100000");
    server.ask(main, "LOCK.ACQUIRE y two PX 100000");
    server.ask(main, "LOCK.ACQUIRE y one PX 1000 BLOCK 0 ASYNC");
    let refused = server.ask(main, "LOCK.ACQUIRE x two PX 1000 BLOCK 0 ASYNC");
    assert!(refused.starts_with("-DEADLOCK"), "{refused}");
}

/// Two threads of Redisson whose waits for fair locks nobody refuses.
const THREADS: [&str; 2] =
    ["8743c9c0-0795-4907-87fd-6c719a6b4586:1", "8743c9c0-0795-4907-87fd-6c719a6b4586:2"];

/// The cycles of a graph.
fn cycles(server: &mut Simulation, main: u64) -> Vec<String> {
    let graph = server.ask(main, "LOCK.GRAPH");
    graph.split("\r\n").filter(|line| line.contains(" -> ")).map(str::to_owned).collect()
}

/// A cycle is found beside a crowd, and through the crowd.
#[test]
fn the_graph_names_cycles_among_and_apart_from_many_waiters() {
    let [one, two] = THREADS;
    for crowd in ["a-lock", "z-lock"] {
        let (mut server, main) = server();
        for reader in 0..300 {
            server.ask(main, &format!("LOCK.ACQUIRE {crowd} r{reader} SHARED PX 100000"));
        }
        server.ask(main, &format!("LOCK.ACQUIRE {crowd} {two} SHARED PX 100000"));
        for writer in 0..200 {
            server.ask(main, &format!("LOCK.ACQUIRE {crowd} w{writer} EXCLUSIVE PX 1000 BLOCK 0 ASYNC"));
        }
        for (lock, owner) in [("m", one), ("n", two)] {
            server.ask(main, &format!("HSET {lock} {owner} 1"));
        }
        let listen = |server: &mut Simulation, lock: &str, owner: &str| {
            let client = server.connect();
            server.ask(client, &format!("SUBSCRIBE redisson_lock__channel:{{{lock}}}:{owner}"));
            client
        };
        assert_eq!(cycles(&mut server, main), [""; 0]);
        let waits_for_two = listen(&mut server, "n", one);
        assert_eq!(cycles(&mut server, main), [""; 0]);
        // Beside the crowd.
        let waits_for_one = listen(&mut server, "m", two);
        assert_eq!(cycles(&mut server, main), [format!("{one} -> n -> {two} -> m -> {one}")], "{crowd}");
        server.close(waits_for_two);
        server.notice();
        assert_eq!(cycles(&mut server, main), [""; 0]);
        // Through it.
        listen(&mut server, crowd, one);
        assert_eq!(cycles(&mut server, main), [format!("{one} -> {crowd} -> {two} -> m -> {one}")]);
        server.close(waits_for_one);
        server.notice();
        assert_eq!(cycles(&mut server, main), [""; 0], "{crowd}");
    }
}

#[test]
fn a_connection_gets_one_contention_push_for_many_holds() {
    let (mut server, _) = server();
    let [holder, other, waiter] = [(); 3].map(|()| server.connect());
    server.ask(holder, "HELLO 3");
    server.ask(other, "HELLO 3");
    for owner in 0..500 {
        server.ask(holder, &format!("LOCK.ACQUIRE lock r{owner} SHARED PX 100000"));
    }
    server.ask(other, "LOCK.ACQUIRE lock other SHARED PX 100000");
    server.send(waiter, "LOCK.ACQUIRE lock w EXCLUSIVE BLOCK 0");
    for client in [holder, other] {
        assert_eq!(server.read(client).matches("lock-contended").count(), 1);
    }
}

#[test]
fn the_memory_of_ended_locks_is_bounded() {
    let (mut server, main) = server();
    let name = "n".repeat(10_000);
    for lock in 0..1000 {
        server.ask(main, &format!("LOCK.ACQUIRE {lock}{name} {lock}{name} PX 1"));
    }
    server.ask(main, "CLOCK.ADVANCE 10");
    let stats = server.ask(main, "MEMORY STATS");
    let past = number(&stats, "locks.past");
    assert!((1_000_000..4_000_000).contains(&past), "{past}");
    assert!(server.ask(main, "INFO memory").contains(&format!("mem_locks_past:{past}\r\n")));
    // The last lock is remembered.
    let lost = server.ask(main, &format!("LOCK.RELEASE 999{name} 999{name}"));
    assert!(lost.starts_with("-LOCKLOST"), "{}", &lost[..40]);
    // Keys have priority.
    let used = number(&server.ask(main, "MEMORY STATS"), "total.allocated");
    server.ask(main, &format!("CONFIG SET maxmemory {}", used - past / 2));
    assert_eq!(server.ask(main, "SET key value"), "+OK\r\n");
    assert_eq!(number(&server.ask(main, "MEMORY STATS"), "locks.past"), 0);
}

/// Tokens of resources outlive FLUSHALL. They are bounded, and cause no write to be refused.
#[test]
fn fenced_resources_are_bounded_and_not_part_of_maxmemory() {
    const MAX: i64 = 4 << 20;
    let (mut server, main) = server();
    let before = number(&server.ask(main, "MEMORY STATS"), "total.allocated");
    let name = "n".repeat(10_000);
    server.ask(main, "LOCK.FENCE used 7");
    for resource in 0..1000 {
        assert_eq!(server.ask(main, &format!("LOCK.FENCE {resource}{name} 1")), "+OK\r\n");
        server.ask(main, &format!("LOCK.ACQUIRE {resource}{name} o FENCED FENCE f{resource}{name}"));
        assert_eq!(server.ask(main, "LOCK.FENCE used 6"), "-STALE token 6 is below the highest token 7\r\n");
    }
    server.ask(main, "FLUSHALL");
    let stats = server.ask(main, "MEMORY STATS");
    let fences = number(&stats, "locks.fences");
    assert!((MAX / 2..=MAX).contains(&fences), "{fences}");
    assert!(server.ask(main, "INFO memory").contains(&format!("mem_locks_fences:{fences}\r\n")));
    // The resource in repeated use has stayed, the oldest of the others has not, and the newest has.
    assert_eq!(server.ask(main, &format!("LOCK.FENCEINFO 0{name}")), "_\r\n");
    assert_ne!(server.ask(main, &format!("LOCK.FENCEINFO 999{name}")), "_\r\n");
    let too_large = "-ERR the names of the resource and its lock are too long: \
                     a resource takes at most 4194304 bytes\r\n";
    let long = "n".repeat(MAX as usize);
    assert_eq!(server.ask(main, &format!("LOCK.FENCE {long} 1")), too_large);
    assert_eq!(server.ask(main, &format!("LOCK.ACQUIRE lock o FENCE {long}")), too_large);
    assert_eq!(server.ask(main, "EXISTS lock"), ":0\r\n");
    // The tokens do not count.
    server.ask(main, &format!("CONFIG SET maxmemory {}", before + MAX / 4));
    assert_eq!(server.ask(main, "SET key value"), "+OK\r\n");
    assert_eq!(number(&server.ask(main, "MEMORY STATS"), "locks.fences"), fences);
    assert_eq!(server.ask(main, "LOCK.FENCE used 6"), "-STALE token 6 is below the highest token 7\r\n");
}

/// Sections, patterns, the history, rules and partitions outlive FLUSHALL. They cause no write to be refused.
#[test]
fn test_tools_do_not_count_towards_maxmemory() {
    let (mut server, main) = server();
    let before = number(&server.ask(main, "MEMORY STATS"), "total.allocated");
    let (name, short) = ("n".repeat(2_000), "s".repeat(1_000));
    server.ask(main, "CONFIG SET lock-history yes");
    for tool in 0..400 {
        let declare = [
            format!("LOCK.ENTER {tool}{name} o"),
            format!("LOCK.OBSERVE {tool}{name}"),
            format!("FAULT.ADD {tool} KEY {short} DO DELAY 1"),
            format!("FAULT.PARTITION NAME {tool}{short} IN"),
        ];
        for request in declare {
            let answer = server.ask(main, &request);
            assert!(!answer.starts_with('-'), "{answer}");
        }
    }
    server.ask(main, "FLUSHALL");
    let grown = number(&server.ask(main, "MEMORY STATS"), "total.allocated") - before;
    assert!(grown > 3_000_000, "{grown}");
    server.ask(main, &format!("CONFIG SET maxmemory {}", before + grown / 8));
    assert_eq!(server.ask(main, "SET key value"), "+OK\r\n");
}

/// The end of a latch stays until its waiters have been served, and then until keys need the memory.
#[test]
fn remembered_ends_of_latches_cause_no_refused_write() {
    let (mut server, main) = server();
    let waiter = server.connect();
    let before = number(&server.ask(main, "MEMORY STATS"), "total.allocated");
    let latch = "l".repeat(4 << 20);
    server.ask(main, &format!("LATCH.SET {latch} 1"));
    server.send(waiter, &format!("LATCH.AWAIT {latch} BLOCK 0"));
    server.ask(main, "FLUSHALL");
    assert!(server.read(waiter).contains("deleted"));
    server.close(waiter);
    server.notice();
    assert!(number(&server.ask(main, "MEMORY STATS"), "locks.past") > 4 << 20);
    server.ask(main, &format!("CONFIG SET maxmemory {}", before + (2 << 20)));
    assert_eq!(server.ask(main, "SET key value"), "+OK\r\n");
    assert_eq!(number(&server.ask(main, "MEMORY STATS"), "locks.past"), 0);
}

#[test]
fn waits_that_count_clients_are_not_woken_by_key_changes() {
    let (mut server, main) = server();
    let waits =
        ["AWAIT.BLOCKED 1000", "AWAIT.CLIENTS 1000", "AWAIT.WAITERS lock 1000", "AWAIT.SUBSCRIBERS c 1000"];
    for _ in 0..20 {
        for wait in waits {
            let client = server.connect();
            server.send(client, wait);
        }
    }
    server.ask(main, "PING");
    let before = server.engine().retried_requests();
    for _ in 0..100 {
        server.ask(main, "SET key value");
    }
    assert_eq!(server.engine().retried_requests(), before);
    // One more client affects only the 20 requests that wait for clients.
    server.connect();
    server.ask(main, "PING");
    assert_eq!(server.engine().retried_requests(), before + 20);
}

#[test]
fn await_clients_by_name_is_woken_by_renames() {
    for (naming, unnaming) in [("CLIENT SETNAME me", "CLIENT SETNAME you"), ("HELLO 3 SETNAME me", "RESET")] {
        let (mut server, _) = server();
        let [waiter, other] = [server.connect(), server.connect()];
        server.send(waiter, "AWAIT.CLIENTS 1 NAME me");
        server.ask(other, naming);
        assert_eq!(server.read(waiter), ":1\r\n", "{naming}");
        server.send(waiter, "AWAIT.CLIENTS 0 EXACT NAME me");
        server.ask(other, unnaming);
        assert_eq!(server.read(waiter), ":1\r\n", "{unnaming}");
    }
}

#[test]
fn a_long_advance_renews_many_leases_at_the_same_instants() {
    let (mut server, main) = server();
    for lock in 0..500 {
        server.ask(main, &format!("LOCK.ACQUIRE lock-{lock} owner SESSION PX 1000"));
    }
    // If each were renewed three times a second, these would be more than a million renewals.
    let fired = number(&server.ask(main, "CLOCK.ADVANCE 1000000"), "fired");
    assert!((100..=200).contains(&fired), "{fired}");
    for lock in 0..500 {
        assert_eq!(server.ask(main, &format!("PTTL lock-{lock}")), ":1000\r\n");
    }
}

#[test]
fn other_clients_are_served_during_an_advance_with_many_deadlines() {
    const KEYS: i64 = 140_000;
    let (mut server, main) = server();
    let script = "for key = 1, ARGV[1] do redis.call('set', 'key' .. key, 'v', 'px', key) end";
    server.ask(main, &format!("EVAL \"{script}\" 0 {KEYS}"));
    let [turner, other] = [server.connect(), server.connect()];
    server.send(turner, &format!("CLOCK.ADVANCE {KEYS}"));
    assert_eq!(server.read(turner), "");
    assert_eq!(server.ask(other, "PING"), "+PONG\r\n");
    server.pass(Duration::from_secs(1));
    assert_eq!(number(&server.read(turner), "fired"), KEYS);
    assert_eq!(server.ask(other, "DBSIZE"), ":0\r\n");
}

#[test]
fn waits_for_an_unrelated_key_state_or_event_are_not_rechecked() {
    let (mut server, main) = server();
    server.ask(main, "CONFIG SET lock-history yes");
    let waits = ["AWAIT.KEY k TYPE hash", "AWAIT.EVENT mark COUNT 1000", "AWAIT.EVENT acquired KEY x*"];
    for _ in 0..20 {
        for wait in waits {
            let client = server.connect();
            server.send(client, wait);
        }
    }
    server.ask(main, "PING");
    let before = server.engine().retried_requests();
    for number in 0..100 {
        server.ask(main, &format!("SET k {number}"));
        server.ask(main, "LOCK.MARK text");
        server.ask(main, "LOCK.ACQUIRE lock me");
        server.ask(main, "LOCK.RELEASE lock me");
    }
    assert_eq!(server.engine().retried_requests(), before);
    server.ask(main, "DEL k");
    server.ask(main, "HSET k field value");
    server.ask(main, "LOCK.ACQUIRE xlock me");
    assert_eq!(server.engine().retried_requests(), before + 40);
    for _ in 100..1000 {
        server.ask(main, "LOCK.MARK text");
    }
    assert_eq!(server.engine().retried_requests(), before + 60);
}
