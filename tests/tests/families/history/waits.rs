//! The beginning and end of waits in the history, in that of a Jepsen test and in statistics: by tickets, by errors,
//! and for keys that are no locks.

use crate::history::fixture::Server;
use crate::history::verify::found;

/// A server, and clients that speak RESP3.
fn server<const N: usize>() -> (Server, [u64; N]) {
    let mut server = Server::new();
    let clients = [0; N].map(|_| server.client());
    clients.iter().for_each(|client| drop(server.send(*client, "HELLO 3")));
    (server, clients)
}

/// The operations of clients: the process, its request, and the instant in milliseconds.
fn operations(server: &mut Server) -> Vec<String> {
    let edn = server.edn();
    let first = edn.split(":time ").nth(1).and_then(|text| text.split(' ').next());
    let first = first.expect("a beginning").to_owned();
    let of_clients = edn.lines().filter(|line| !line.contains(":nemesis"));
    let told = of_clients.map(|line| {
        let words: Vec<&str> = line.split([' ', '{', '}']).collect();
        let after = |name: &str| words.iter().position(|word| *word == name).map(|at| words[at + 1]);
        let nanos = |text: &str| text.parse::<i64>().expect("nanoseconds");
        let ms = (nanos(after(":time").expect("a time")) - nanos(&first)) / 1_000_000;
        let [process, kind, what, key] =
            [":process", ":type", ":f", ":key"].map(|name| after(name).expect(name));
        let cause = after(":cause").map(|cause| format!(" {cause}")).unwrap_or_default();
        format!("{process} {kind} {what} {key} {ms}{cause}").replace([':', '"'], "")
    });
    told.collect()
}

fn figures(server: &mut Server, key: &str) -> Vec<i64> {
    let reply = server.ask(&format!("LOCK.STATS KEY {key}"));
    let lines: Vec<&str> = reply.split("\r\n").collect();
    let value = |name: &str| lines[lines.iter().position(|line| *line == name).expect(name) + 1][1..].parse();
    ["waits", "hand-offs", "timeouts", "commands"].map(|name| value(name).expect(name)).to_vec()
}

/// A read-write lock takes the place of another one.
const READ_INSTEAD: &str =
    "EVAL \"redis.call('del', 'k') redis.call('hset', 'k', 'mode', 'read', 'x', '1')\" 0";

/// An error ends a wait in the history, on the channel and in the counters, with or without a ticket.
#[test]
fn an_error_ends_the_wait_of_a_ticket_as_any_other() {
    for wait in ["ASYNC", "BLOCK 0"] {
        for (taken, wanted, then) in [
            ("LOCK.ACQUIRE k f PX 50000", "LOCK.ACQUIRE k e", "SET k x"),
            ("LOCK.ACQUIRE k f PX 50000", "LOCK.ACQUIRE k e", READ_INSTEAD),
            ("LOCK.ACQUIRE k f PX 50000", "LOCK.MACQUIRE 1 k e", "SET k x"),
            ("LOCK.ACQUIRE k f PX 50000", "LOCK.ACQUIRE k e NOREENTER", "LOCK.TRANSFER k f e"),
            ("LOCK.ACQUIRE k f PX 50000", "LOCK.ACQUIRE k e MAXHOLDS 1", "LOCK.TRANSFER k f e"),
            ("LOCK.ACQUIRE k f PX 50000", "LOCK.ACQUIRE k e FAIR NOREENTER", "LOCK.TRANSFER k f e"),
            ("LOCK.ACQUIRE k f SHARED", "LOCK.CONVERT k e EXCLUSIVE", "LOCK.RELEASE k e"),
        ] {
            let (mut server, [f, e, listener]) = server();
            server.send(f, taken);
            if wanted.contains("CONVERT") {
                server.send(e, taken.replace('f', "e").as_str());
            }
            server.send(listener, "SUBSCRIBE __lock@0__:k");
            server.send(e, &format!("{wanted} {wait}"));
            let before = server.ask("INFO commandstats");
            server.simulation.read(listener);
            server.ask(then);
            let (client, told) = (server.simulation.read(e), server.simulation.read(listener));
            assert!(
                client.contains("lock-cancelled") || client.starts_with('-'),
                "{wanted} {wait}: {client}"
            );
            assert!(told.contains("cancelled owner=e"), "{wanted} {wait}: {told}");
            let failed = |text: &str| {
                let line =
                    text.lines().find(|line| line.contains(&wanted[..12].to_lowercase()[5..])).unwrap();
                line.rsplit('=').next().unwrap().parse::<u64>().unwrap()
            };
            let after = server.ask("INFO commandstats");
            assert_eq!(failed(&after), failed(&before) + 1, "{wanted} {wait}");
            let left = server.entry_lines(&["owner", "kind", "client", "cause"]);
            let left = left.into_iter().filter(|line| line.starts_with("left-queue"));
            let expected = format!("left-queue e native {e} error");
            assert_eq!(left.collect::<Vec<_>>(), [expected], "{wanted} {wait}");
            server.ask("DEL k");
            server.advance(5000);
            server.ask("LOCK.ACQUIRE k z");
            let missed = found(&mut server).into_iter().filter(|found| found.contains("missed-wakeup"));
            assert_eq!(missed.count(), 0, "{wanted} {wait}");
            let ends = operations(&mut server).into_iter().filter(|line| line.ends_with(" error"));
            assert_eq!(ends.count(), 1, "{wanted} {wait}");
        }
    }
}

/// A process performs one operation at a time: the wait of a ticket is a process of its own.
#[test]
fn a_client_that_continues_with_a_ticket_is_two_processes() {
    let (mut server, [f, e]) = server();
    server.send(f, "LOCK.ACQUIRE k f");
    server.send(e, "LOCK.ACQUIRE k e ASYNC");
    server.send(e, "LOCK.ACQUIRE k e ASYNC FAIR BLOCK 15");
    server.advance(10);
    server.send(e, "LOCK.ACQUIRE m e");
    server.advance(10);
    server.send(f, "LOCK.RELEASE k f");
    server.send(e, "LOCK.RELEASE m e");
    let told = [
        "2 invoke acquire k 0",
        "2 ok acquire k 0",
        "4 invoke acquire k 0",
        "5 invoke acquire k 0",
        "3 invoke acquire m 10",
        "3 ok acquire m 10",
        "5 fail acquire k 15 timeout",
        "2 invoke release k 20",
        "2 ok release k 20 released",
        "4 ok acquire k 20",
        "3 invoke release m 20",
        "3 ok release m 20 released",
    ];
    assert_eq!(operations(&mut server), told);
}

/// A client that waits for several locks requests all of them when it begins to wait.
#[test]
fn a_waiter_for_several_locks_is_one_process_per_lock() {
    let (mut server, [f, e]) = server();
    server.send(f, "LOCK.ACQUIRE k f");
    server.send(e, "LOCK.MACQUIRE 2 k m e BLOCK 0");
    server.advance(10);
    server.send(f, "LOCK.RELEASE k f");
    server.send(e, "LOCK.MRELEASE 2 k m e");
    let told = operations(&mut server);
    let of_waiter = told.iter().filter(|line| !line.starts_with('2')).map(String::as_str);
    let expected = [
        "3 invoke acquire k 0",
        "4 invoke acquire m 0",
        "3 ok acquire k 10",
        "4 ok acquire m 10",
        "3 invoke release k 10",
        "3 ok release k 10 released",
        "3 invoke release m 10",
        "3 ok release m 10 released",
    ];
    assert_eq!(of_waiter.collect::<Vec<_>>(), expected);
}

/// A waiter in the queue of a fair lock that comes to hold it in another way was served, and not removed.
#[test]
fn a_fair_waiter_that_re_enters_was_served() {
    for wait in ["ASYNC", "BLOCK 0"] {
        let (mut server, [a, b, c]) = server();
        server.send(a, "LOCK.ACQUIRE k a FAIR");
        server.send(b, &format!("LOCK.ACQUIRE k b FAIR {wait}"));
        server.send(c, &format!("LOCK.ACQUIRE k b FAIR {wait}"));
        server.ask("LOCK.TRANSFER k a b");
        let told = server.entry_lines(&["owner", "kind", "cause", "client"]);
        let told = told.into_iter().filter(|line| !line.contains(" a "));
        assert_eq!(
            told.collect::<Vec<_>>(),
            [
                "queued b native null 3",
                "queued b native null 4",
                "acquired b native null 1",
                "reentered b native null 3",
                "reentered b native null 4",
                "left-queue b native served 4",
            ],
            "{wait}"
        );
        assert_eq!(found(&mut server), ["ok"]);
        assert_eq!(server.ask("EXISTS redisson_lock_queue:{k} redisson_lock_timeout:{k}"), ":0\r\n");
        assert_eq!(figures(&mut server, "k")[..3], [2, 2, 0]);
    }
}

/// For latches and rates, nothing else shows that a waiter was served.
#[test]
fn waits_for_latches_rates_and_permits_end_and_are_counted() {
    let (mut server, [one, two, three]) = server();
    server.ask("LATCH.SET l 1");
    server.send(one, "LATCH.AWAIT l BLOCK 0");
    server.send(two, "LATCH.AWAIT l BLOCK 5");
    server.send(three, "LATCH.AWAIT l BLOCK 0");
    server.advance(10);
    server.ask("LATCH.COUNTDOWN l");
    assert_eq!(figures(&mut server, "l"), [3, 2, 1, 3]);
    server.ask("RATE.SET r 1 100");
    server.ask("RATE.ACQUIRE r");
    [one, two, three].iter().for_each(|client| drop(server.send(*client, "RATE.ACQUIRE r BLOCK 0")));
    server.advance(300);
    assert_eq!(figures(&mut server, "r"), [3, 3, 0, 3]);
    server.ask("SEM.INIT s 1");
    server.send(one, "SEM.ACQUIRE s a");
    server.send(two, "SEM.ACQUIRE s a BLOCK 0");
    server.send(three, "SEM.ACQUIRE s a BLOCK 10");
    server.advance(20);
    server.send(one, "SEM.RELEASE s a");
    assert_eq!(figures(&mut server, "s"), [2, 1, 1, 5]);
    let told = server.entry_lines(&["key", "kind", "cause", "client", "waited", "by"]);
    let left: Vec<_> = told.into_iter().filter(|line| line.starts_with("left-queue")).collect();
    assert_eq!(
        left,
        [
            "left-queue l native timeout 3 0 null",
            "left-queue l native served 2 10 latch.await",
            "left-queue l native served 4 10 latch.await",
            "left-queue r native served 2 100 rate.acquire",
            "left-queue r native served 3 200 rate.acquire",
            "left-queue r native served 4 300 rate.acquire",
            "left-queue s native timeout 4 0 null",
        ]
    );
}
