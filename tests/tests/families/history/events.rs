//! The entries of the history about locks, for every kind of holder.

use crate::history::fixture::{A, B, COMPARE_AND_DELETE, COMPARE_AND_EXTEND, Server, short};

#[test]
fn every_event_of_a_native_lock_is_recorded() {
    let mut server = Server::new();
    let [one, two] = [server.client(), server.client()];
    server.send(one, "LOCK.ACQUIRE l a PX 1000");
    server.send(one, "LOCK.ACQUIRE l a PX 2000");
    server.send(two, "LOCK.ACQUIRE l b PX 500");
    server.send(two, "LOCK.ACQUIRE l b PX 500 BLOCK 0");
    server.send(one, "LOCK.RENEW 1 l a PX 3000");
    server.send(one, "LOCK.RELEASE l a");
    server.advance(40);
    server.send(one, "LOCK.RELEASE l a");
    server.advance(500);
    server.send(two, "LOCK.RELEASE l b");
    server.send(two, "LOCK.RENEW 1 l b PX 3000");
    let told = server.entry_lines(&["owner", "grant", "holds", "ttl", "waited", "cause", "client", "by"]);
    assert_eq!(
        told,
        [
            "acquired a 1 1 1000 0 null 2 lock.acquire",
            "reentered a 1 2 2000 0 null 2 lock.acquire",
            "refused b null 0 null 0 null 3 lock.acquire",
            "queued b null 0 null 0 null 3 lock.acquire",
            "renewed a 1 2 3000 0 null 2 lock.renew",
            "released a 1 1 null 0 released 2 lock.release",
            "released a 1 0 null 0 released 2 lock.release",
            "acquired b 2 1 500 40 null 3 lock.acquire",
            "lost b 2 0 null 0 expired null null",
            "release-refused b 2 null null 0 null 3 lock.release",
            "renewal-refused b 2 null null 0 null 3 lock.renew",
        ]
    );
}

#[test]
fn redissons_scripts_are_seen_by_what_they_do() {
    let mut server = Server::new();
    let [one, two] = [server.client(), server.client()];
    server.send(one, "CLIENT SETNAME service");
    server.take(one, "l", A, 1000);
    server.take(one, "l", A, 2000);
    server.take(two, "l", B, 500);
    server.renew(one, "l", A);
    server.give_back(one, "l", A);
    server.give_back(two, "l", B);
    server.give_back(one, "l", A);
    server.renew(one, "l", A);
    let told = short(server.entry_lines(&["owner", "grant", "holds", "ttl", "kind", "clientname"]));
    assert_eq!(
        told,
        [
            "acquired A 1 1 1000 foreign service",
            "reentered A 1 2 2000 foreign service",
            "refused B null null null null null",
            "renewed A 1 2 30000 foreign service",
            "released A 1 1 30000 foreign service",
            "release-refused B null null null null null",
            "released A 1 0 null foreign service",
            "renewal-refused A null null null null service",
        ]
    );
    let by = server.history("COUNT 9")["entries"][5]["by"].clone();
    assert_eq!(by.as_str().map(str::len), Some(40), "{by}");
}

#[test]
fn text_locks_are_recorded() {
    let mut server = Server::new();
    let [one, two] = [server.client(), server.client()];
    server.send(one, "SET l t1 NX PX 1000");
    server.send(two, "SET l t2 NX PX 1000");
    server.send(one, &format!("EVAL \"{COMPARE_AND_EXTEND}\" 1 l t1 2000"));
    server.send(one, &format!("EVAL \"{COMPARE_AND_DELETE}\" 1 l t1"));
    server.send(two, "SET l t2 NX PX 100");
    server.advance(100);
    server.send(one, "SET l t1 PX 1000 NX");
    server.send(two, &format!("EVAL \"{COMPARE_AND_DELETE}\" 1 l t2"));
    server.send(two, &format!("EVAL \"{COMPARE_AND_EXTEND}\" 1 l t2 2000"));
    server.send(two, "DEL l");
    assert_eq!(
        server.entry_lines(&["owner", "grant", "ttl", "cause", "client"]),
        [
            "acquired t1 1 1000 null 2",
            "refused t2 null null null 3",
            "renewed t1 1 2000 null 2",
            "released t1 1 null released 2",
            "acquired t2 2 100 null 3",
            "lost t2 2 null expired null",
            "acquired t1 3 1000 null 2",
            "release-refused t2 2 null null 3",
            "renewal-refused t2 2 null null 3",
            "lost t1 3 null deleted 3",
        ]
    );
}

/// The commands that compare without a script: SET with IFEQ, DELIFEQ, and MSETEX.
#[test]
fn text_locks_compared_by_commands_are_recorded() {
    let mut server = Server::new();
    let [one, two] = [server.client(), server.client()];
    server.send(one, "SET l t1 NX PX 1000");
    server.send(one, "SET l t1 IFEQ t1 PX 2000");
    server.send(two, "DELIFEQ l t2");
    server.send(one, "DELIFEQ l t1");
    server.send(one, "SET l t1 NX PX 100");
    server.advance(100);
    server.send(two, "SET l t2 NX PX 1000");
    server.send(one, "DELIFEQ l t1");
    server.send(one, "SET l t1 IFEQ t1 PX 3000");
    server.send(two, "MSETEX 2 l t1 m t1 NX PX 1000");
    server.send(one, "MSETEX 2 m t1 n t1 NX PX 1000");
    server.send(two, "MSETEX 2 m t2 o t2 NX PX 1000");
    server.send(one, "DELIFEQ m t1");
    assert_eq!(
        server.entry_lines(&["key", "owner", "grant", "ttl", "cause", "client"]),
        [
            "acquired l t1 1 1000 null 2",
            "renewed l t1 1 2000 null 2",
            "released l t1 1 null released 2",
            "acquired l t1 2 100 null 2",
            "lost l t1 2 null expired null",
            "acquired l t2 3 1000 null 3",
            "release-refused l t1 2 null null 2",
            "renewal-refused l t1 2 null null 2",
            "refused l t1 2 null null 3",
            "acquired m t1 4 1000 null 2",
            "acquired n t1 5 1000 null 2",
            "refused m t2 null null null 3",
            "released m t1 4 null released 2",
        ]
    );
}

#[test]
fn a_lease_of_a_later_text_is_no_late_lease_of_a_removed_one() {
    let mut server = Server::new();
    let one = server.client();
    let removals: [&[&str]; 4] = [
        &["FLUSHALL"],
        &["FLUSHDB"],
        &["RENAME l other"],
        &["CONFIG SET lock-history no", "DEL l", "CONFIG SET lock-history yes"],
    ];
    for removal in removals {
        server.send(one, "SETNX l t1");
        for request in removal {
            server.send(one, request);
        }
        server.send(one, "SET l t2");
        server.send(one, "EXPIRE l 10");
        server.send(one, "DEL l other");
        assert!(server.entry_lines(&["key", "owner", "cause"]).is_empty(), "{removal:?}");
    }
}

#[test]
fn a_late_lease_and_observed_keys_are_recorded() {
    let mut server = Server::new();
    let one = server.client();
    server.send(one, "SETNX l t1");
    server.send(one, "EXPIRE l 10");
    server.send(one, "SET plain 1");
    server.ask("LOCK.OBSERVE mine:*");
    server.send(one, "SET mine:1 me");
    server.send(one, "HSET mine:2 worker 1");
    server.send(one, "SET mine:1 you");
    server.send(one, "HDEL mine:2 worker");
    server.send(one, "SET mine:4 us NX PX 1000");
    server.send(one, "SET mine:5 us NX");
    assert_eq!(server.ask("LOCK.OBSERVE DEL mine:*"), ":1\r\n");
    assert_eq!(server.ask("LOCK.OBSERVE DEL mine:*"), ":0\r\n");
    server.send(one, "SET mine:3 me");
    assert_eq!(
        server.entry_lines(&["key", "owner", "ttl", "cause"]),
        [
            "acquired l t1 10000 null",
            "habit l t1 null late-lease",
            "acquired mine:1 me null null",
            "acquired mine:2 worker null null",
            "lost mine:1 me null overwritten",
            "acquired mine:1 you null null",
            "released mine:2 worker null released",
            "acquired mine:4 us 1000 null",
            "acquired mine:5 us null null",
        ]
    );
}

#[test]
fn events_that_no_lock_caused_are_recorded_too() {
    let mut server = Server::new();
    let one = server.client();
    server.ask("LOCK.MARK \"the second half\"");
    server.advance(10);
    server.advance(20);
    server.ask("CLOCK.STEP -5");
    server.send(one, "LOCK.ENTER l me TOKEN 4");
    assert_eq!(server.send(one, "LOCK.LEAVE l me"), ":1\r\n");
    assert_eq!(server.send(one, "LOCK.LEAVE l me"), ":0\r\n");
    server.send(one, "LOCK.FENCE disk 4");
    server.send(one, "LOCK.FENCE disk 3");
    server.simulation.close(one);
    server.simulation.notice();
    let history = server.history("");
    let entries = history["entries"].as_array().unwrap();
    let told = |entry: &serde_json::Value| {
        let field = |name: &str| entry[name].to_string().replace('"', "");
        let (from, to) = (entry["from"].as_i64(), entry["to"].as_i64());
        let by = from.zip(to).map(|(from, to)| format!(" {}", to - from)).unwrap_or_default();
        format!("{} {} {}{by}", field("event"), field("client"), field("text"))
    };
    assert_eq!(
        entries.iter().map(told).collect::<Vec<_>>(),
        [
            "connect 1 null",
            "connect 2 null",
            "mark 1 the second half",
            "clock 1 null 30",
            "clock 1 null -5",
            "entered 2 null",
            "left 2 null",
            "fenced 2 null",
            "fence-refused 2 null",
            "disconnect 2 null",
        ]
    );
    assert_eq!(entries[5]["grant"], 4);
}

#[test]
fn lock_history_filters_and_numbers_entries() {
    let mut server = Server::new();
    let one = server.client();
    for n in 0..5 {
        server.send(one, &format!("LOCK.ACQUIRE k{} o{n} PX 1000", n % 2));
        server.send(one, &format!("LOCK.RELEASE k{} o{n}", n % 2));
    }
    let mut numbers = |options: &str| -> Vec<i64> {
        let history = server.history(options);
        assert_eq!((history["first"].as_i64(), history["last"].as_i64()), (Some(1), Some(12)));
        assert_eq!(history["truncated"], false);
        history["entries"].as_array().unwrap().iter().map(|entry| entry["seq"].as_i64().unwrap()).collect()
    };
    assert_eq!(numbers("KEY k1"), [5, 6, 9, 10]);
    assert_eq!(numbers("OWNER o[03]"), [3, 4, 9, 10]);
    assert_eq!(numbers("KEY k1 OWNER o3 SINCE 9"), [10]);
    assert_eq!(numbers("SINCE 3 COUNT 2"), [4, 5]);
    assert_eq!(numbers("COUNT 0"), [0_i64; 0]);
}

#[test]
fn a_small_ring_keeps_the_last_and_says_so() {
    let mut server = Server::new();
    let one = server.client();
    server.ask("CONFIG SET lock-history-max 3");
    for _ in 0..4 {
        server.send(one, "LOCK.ACQUIRE k o PX 1000");
        server.send(one, "LOCK.RELEASE k o");
    }
    let history = server.history("");
    assert_eq!((history["first"].as_i64(), history["last"].as_i64()), (Some(8), Some(10)));
    assert_eq!(history["truncated"], true);
    assert_eq!(history["entries"].as_array().unwrap().len(), 3);
    server.ask("CONFIG SET lock-history no");
    let off = "-ERR the history of locks is off: CONFIG SET lock-history yes turns it on\r\n";
    for request in ["LOCK.HISTORY", "LOCK.MARK x", "AWAIT.EVENT acquired"] {
        assert_eq!(server.ask(request), off, "{request}");
    }
    server.ask("CONFIG SET lock-history yes");
    assert_eq!(server.history("")["last"], 0);
    server.ask("CONTROL.RESET");
    // The history does not contain the client that the fault has disconnected.
    let history = server.history("");
    assert_eq!((&history["first"], &history["last"]), (&0.into(), &0.into()));
    let two = server.client();
    server.simulation.close(two);
    server.simulation.notice();
    let history = server.history("");
    let events: Vec<_> = history["entries"].as_array().unwrap().iter().map(|entry| &entry["event"]).collect();
    assert_eq!(events, ["connect", "disconnect"]);
}

#[test]
fn only_native_holds_are_recorded_without_the_ledger() {
    let mut server = Server::new();
    let one = server.client();
    server.ask("CONFIG SET lock-ledger no");
    server.send(one, "SET l t NX PX 1000");
    server.take(one, "r", A, 1000);
    server.send(one, "LOCK.ACQUIRE n o PX 1000");
    assert_eq!(server.entry_lines(&["owner", "grant"]), ["acquired o 1"]);
    assert!(server.send(one, "LOCK.INFO r").contains("$5\r\ngrant\r\n$-1"));
}

#[test]
fn await_event_waits_for_a_matching_entry() {
    let mut server = Server::new();
    let [one, two] = [server.client(), server.client()];
    server.send(one, "LOCK.ACQUIRE l a PX 1000");
    assert_eq!(server.ask("AWAIT.EVENT acquired KEY l"), ":4\r\n");
    server.simulation.send(server.asker, "AWAIT.EVENT refused KEY l OWNER b* COUNT 2");
    server.send(two, "LOCK.ACQUIRE l b1");
    server.send(two, "LOCK.ACQUIRE l c");
    assert_eq!(server.simulation.read(server.asker), "");
    server.send(two, "LOCK.ACQUIRE l b2");
    assert_eq!(server.simulation.read(server.asker), ":7\r\n");
    assert_eq!(server.ask("AWAIT.EVENT refused SINCE 6"), ":7\r\n");
    server.simulation.send(server.asker, "AWAIT.EVENT refused SINCE 7 LIMIT 30");
    server.pass(31);
    assert_eq!(server.simulation.read(server.asker), "$-1\r\n");
    let refused = server.ask("AWAIT.EVENT eaten");
    assert!(
        refused.starts_with("-ERR no such event 'eaten': the events are acquired, reentered, "),
        "{refused}"
    );
    let number = server.ask("AWAIT.EVENT lost COUNT 0");
    assert!(number.starts_with("-ERR value is out of range, must be positive: COUNT count"), "{number}");
    for request in ["AWAIT.EVENT lost KEY", "AWAIT.EVENT lost COUNT 1 COUNT 2", "AWAIT.EVENT lost NAME x"] {
        assert!(server.ask(request).starts_with("-ERR syntax error: "), "{request}");
    }
}

/// Entries are numbered from 1 again.
#[test]
fn await_event_sees_events_of_a_restarted_history() {
    for [before, after] in [["", ""], ["MULTI", "EXEC"]] {
        let mut server = Server::new();
        let one = server.client();
        for owner in ["a", "b", "c"] {
            server.send(one, &format!("LOCK.ACQUIRE {owner} {owner} PX 1000"));
        }
        server.simulation.send(server.asker, "AWAIT.EVENT refused KEY l");
        let last = "LOCK.ACQUIRE l other";
        let lines =
            ["CONFIG SET lock-history no", "CONFIG SET lock-history yes", "LOCK.ACQUIRE l me PX 1000", last];
        for line in [before].into_iter().chain(lines).chain([after]).filter(|line| !line.is_empty()) {
            assert_eq!(server.simulation.read(server.asker), "", "{line}");
            server.send(one, line);
        }
        assert!(server.simulation.read(server.asker).starts_with(':'), "{before}");
    }
}

/// Bytes that a history of 65,536 entries takes when locks are taken and given back with the names of the nth
/// iteration.
fn taken_by(names: impl Fn(usize) -> (String, String)) -> usize {
    let mut server = Server::new();
    let one = server.client();
    server.ask("CONFIG SET lock-history no");
    let before = server.simulation.engine().memory_parts().usage().total();
    server.ask("CONFIG SET lock-history yes");
    for n in 0..32_768 {
        let (key, owner) = names(n);
        server.send(one, &format!("LOCK.ACQUIRE {key} {owner} PX 30000"));
        server.send(one, &format!("LOCK.RELEASE {key} {owner}"));
    }
    let taken = server.simulation.engine().memory_parts().usage().total() - before;
    assert_eq!(server.history("SINCE 65535")["last"], 65_536);
    taken
}

/// Two hundred locks of fifty owners, in turn.
fn names_that_come_again(n: usize) -> (String, String) {
    (format!("orders:lock:{}", n % 200), format!("worker-{}:{}", n % 50, n % 7))
}

/// The bound also holds if each hold has an owner of its own, like the token of each `SET key token NX PX`: a UUID,
/// with or without hyphens.
#[test]
fn an_entry_takes_no_more_than_120_bytes() {
    let each = |names: &dyn Fn(usize) -> (String, String)| taken_by(names) / 65_536;
    let again = each(&names_that_come_again);
    let own = [32, 36].map(|length| each(&|n| (names_that_come_again(n).0, format!("{n:0length$}"))));
    eprintln!("bytes an entry: {again}, with tokens of 32 characters {}, of 36 {}", own[0], own[1]);
    assert!(again.max(own[0]).max(own[1]) <= 120, "{again}, {own:?} bytes an entry");
}

/// The bound also holds if the wall clock advances between all events. Advances that form one entry take no more memory
/// than one.
#[test]
fn an_entry_takes_no_more_than_120_bytes_when_the_clock_advances() {
    let mut server = Server::new();
    let one = server.client();
    server.ask("CONFIG SET lock-history no");
    let before = server.simulation.engine().memory_parts().usage().total();
    server.ask("CONFIG SET lock-history yes");
    for _ in 0..16_384 {
        server.send(one, "LOCK.ACQUIRE l a PX 30000");
        server.ask("CLOCK.STEP 10");
        server.send(one, "LOCK.RELEASE l a");
        server.ask("CLOCK.STEP -10");
    }
    let full = server.simulation.engine().memory_parts().usage().total();
    assert!(full - before <= 120 * 65_536, "{} bytes an entry", (full - before) / 65_536);
    server.ask("LOCK.MARK then");
    let mut after_turns = || {
        (0..10_000).for_each(|_| drop(server.ask("CLOCK.STEP 10")));
        server.simulation.engine().memory_parts().usage().total()
    };
    let (some, more) = (after_turns(), after_turns());
    assert!(more < some + 10_000, "from {some} to {more} bytes for one entry");
    assert_eq!(server.history("SINCE 65536")["last"], 65_538);
}

/// A name that only the two entries of one hold have takes its length, as an allocator rounds it, and no more than
/// this.
#[test]
fn a_new_name_takes_its_length_and_no_more_than_40_bytes() {
    let with_names_that_come_again = taken_by(names_that_come_again);
    for length in [32, 48] {
        let of_each_hold = |n| (names_that_come_again(n).0, format!("{n:0length$}"));
        let more = (taken_by(of_each_hold) - with_names_that_come_again) / 32_768;
        eprintln!("{more} bytes for a name of {length}");
        assert!(more <= length + 40, "{more} bytes for a name of {length}");
    }
}

#[test]
fn the_same_steps_make_the_same_bytes() {
    let run = || {
        let mut server = Server::new();
        let [one, two] = [server.client(), server.client()];
        for n in 0..20 {
            server.take(one, &format!("l{}", n % 3), A, 100);
            server.take(two, &format!("l{}", n % 3), B, 100);
            server.advance(70);
            server.give_back(one, &format!("l{}", n % 3), A);
        }
        ["MAP", "JSON", "EDN", "TEXT"].map(|format| server.ask(&format!("LOCK.HISTORY FORMAT {format}")))
    };
    assert_eq!(run(), run());
}

#[test]
fn lines_show_each_entry_and_clients_that_come_together() {
    let mut server = Server::new();
    let [one, _, _] = [server.client(), server.client(), server.client()];
    server.send(one, "CLIENT SETNAME worker");
    server.take(one, "l", A, 100);
    server.advance(100);
    server.send(one, "LOCK.MARK \"two words\"");
    server.send(one, "LOCK.MARK \"two\nlines\"");
    let text = server.ask("LOCK.HISTORY FORMAT TEXT");
    let lines: Vec<&str> = text.lines().skip(1).collect();
    let of = |event: &str| {
        let found = lines.iter().find(|line| line.split(' ').nth(3) == Some(event));
        found.unwrap_or_else(|| panic!("{event} is not in\n{text}")).to_owned()
    };
    assert!(lines[0].contains(" ms connect x") && lines[0].contains(" client="), "{text}");
    let acquired = of("acquired");
    assert!(acquired.contains(" ms acquired l db=0 kind=") && acquired.contains(" ttl=100 "), "{text}");
    assert!(acquired.contains("clientname=worker") && !acquired.contains("waited="), "{text}");
    assert!(of("lost").ends_with(" cause=expired"), "{text}");
    assert!(of("mark").ends_with(" text=two words"), "{text}");
    assert!(lines.iter().any(|line| line.ends_with(" text=\"two\\nlines\"")), "{text}");
    let one = server.ask("LOCK.HISTORY KEY l COUNT 1 FORMAT TEXT");
    assert_eq!(one.lines().nth(1), Some(acquired));
}

/// Requests for several locks, for a conversion, or for permits that were refused; also in a transaction.
#[test]
fn refusals_of_several_locks_and_in_transactions_are_recorded() {
    let mut server = Server::new();
    let [one, two] = [server.client(), server.client()];
    server.send(one, "LOCK.MACQUIRE 2 a b x");
    assert_eq!(server.send(two, "LOCK.MACQUIRE 3 c b a y"), "$-1\r\n");
    server.send(two, "LOCK.MRELEASE 2 a b y");
    server.send(one, "LOCK.ACQUIRE r x SHARED");
    server.send(two, "LOCK.ACQUIRE r y SHARED");
    server.send(two, "LOCK.CONVERT r y EXCLUSIVE");
    server.send(one, "SEM.INIT s 1");
    for request in ["MULTI", "SET t 1 NX PX 100", "SEM.ACQUIRE s x", "LOCK.ACQUIRE a x", "EXEC"] {
        server.send(one, request);
    }
    server.send(two, "SEM.ACQUIRE s y");
    for request in ["MULTI", "SET t 2 NX PX 100", "LOCK.ACQUIRE a y", "SEM.ACQUIRE s y", "EXEC"] {
        server.send(two, request);
    }
    assert_eq!(
        server.entry_lines(&["key", "owner", "client", "by"]),
        [
            "acquired a x 2 lock.macquire",
            "acquired b x 2 lock.macquire",
            "refused b y 3 lock.macquire",
            "refused a y 3 lock.macquire",
            "release-refused a y 3 lock.mrelease",
            "release-refused b y 3 lock.mrelease",
            "acquired r x 2 lock.acquire",
            "acquired r y 3 lock.acquire",
            "refused r y 3 lock.convert",
            "permits s null 2 sem.init",
            "acquired t 1 2 set",
            "permits s x 2 sem.acquire",
            "reentered a x 2 lock.acquire",
            "refused s y 3 sem.acquire",
            "refused t 2 3 set",
            "refused a y 3 lock.acquire",
            "refused s y 3 sem.acquire",
        ]
    );
}

/// A waiter has one entry, also if the queue is stored in keys.
#[test]
fn a_waiter_has_one_queued_entry() {
    let mut server = Server::new();
    let [one, two, three] = [server.client(), server.client(), server.client()];
    for options in ["FAIR", "SHARED", "EXCLUSIVE"] {
        let key = options.to_ascii_lowercase();
        let holds = if options == "SHARED" { "EXCLUSIVE" } else { options };
        server.send(one, &format!("LOCK.ACQUIRE {key} x {holds}"));
        server.send(two, &format!("LOCK.ACQUIRE {key} y {options} BLOCK 0"));
        server.send(three, &format!("LOCK.ACQUIRE {key} z {options} BLOCK 50"));
        server.advance(50);
        server.send(one, &format!("LOCK.RELEASE {key} x"));
        server.send(two, &format!("LOCK.RELEASE {key} y"));
        let told = server.entry_lines(&["key", "owner", "client", "cause"]);
        let of_key = |line: &String| line.contains(&format!(" {key} ")) && !line.contains("acquired");
        let queue: Vec<String> = told.into_iter().filter(of_key).collect();
        let (served, suffix) =
            (
                format!("left-queue {key} y 3 served"),
                |shared: &str| if options == shared { ":write" } else { "" },
            );
        let expected: Vec<String> = [
            format!("queued {key} y 3 null"),
            format!("queued {key} z 4 null"),
            format!("left-queue {key} z 4 timeout"),
            format!("released {key} x{} 2 released", if options == "FAIR" { "" } else { ":write" }),
            served.clone(),
            format!("released {key} y{} 3 released", suffix("EXCLUSIVE")),
        ]
        .into_iter()
        .filter(|line| options == "FAIR" || *line != served)
        .collect();
        assert_eq!(queue, expected, "{options}");
    }
    assert!(server.ask("LOCK.VERIFY").contains("$2\r\nok\r\n$6\r\nevents"));
    let findings = server.ask("LOCK.VERIFY");
    assert!(findings.ends_with("*0\r\n"), "{findings}");
}

/// Commands that control faults are recorded too, and so are the losses.
#[test]
fn a_failover_and_its_losses_are_recorded() {
    let mut server = Server::new();
    let [one, two] = [server.client(), server.client()];
    server.take(one, "kept", A, 30_000);
    server.send(one, "LOCK.ACQUIRE given-back a PX 30000");
    server.ask("FAULT.LAG");
    server.send(one, "LOCK.RELEASE given-back a");
    server.send(two, "LOCK.ACQUIRE new b PX 30000");
    server.send(two, "SEM.INIT s 1");
    server.ask("FAULT.FAILOVER");
    let two = server.client();
    server.send(two, "LOCK.RELEASE new b");
    server.ask("FAULT.PARTITION NAME nobody IN");
    server.ask("FAULT.HEAL");
    server.ask("FAULT.FREEZECLIENT NAME nobody 5");
    server.ask("FAULT.THAWCLIENT NAME nobody");
    server.ask("fault.restart TOKENS");
    let history = server.history("");
    let entries = history["entries"].as_array().unwrap();
    let told = |entry: &serde_json::Value| {
        let fields = ["event", "key", "owner", "cause", "client", "fault"].map(|name| match &entry[name] {
            serde_json::Value::String(text) => text.clone(),
            serde_json::Value::Null => "-".to_owned(),
            other => other.to_string(),
        });
        fields.join(" ")
    };
    let told: Vec<String> = entries.iter().map(told).filter(|line| !line.contains("connect")).collect();
    assert_eq!(
        short(told),
        [
            "acquired kept A - 2 -",
            "acquired given-back a - 2 -",
            "fault - - - - FAULT.LAG",
            "released given-back a released 2 -",
            "acquired new b - 3 -",
            "permits s - init 3 -",
            "fault - - - - FAULT.FAILOVER",
            "acquired given-back a failed-over - -",
            "lost new b failed-over 1 -",
            "permits s - failed-over 1 -",
            "release-refused new b - 4 -",
            "fault - - - - FAULT.PARTITION NAME nobody IN",
            "fault - - - - FAULT.HEAL",
            "fault - - - - FAULT.FREEZECLIENT NAME nobody 5",
            "fault - - - - FAULT.THAWCLIENT NAME nobody",
            "fault - - - - FAULT.RESTART TOKENS",
            "lost kept A failed-over 1 -",
            "lost given-back a failed-over 1 -",
        ]
    );
    let lost = server.send(server.asker, "LOCK.RELEASE new b");
    assert!(
        lost.starts_with("-LOCKLOST this owner lost the lock: grant 3 ended (failed-over) at "),
        "{lost}"
    );
}

/// A script that checks whether a key exists, and then sets it: SET NX in two steps, as node-redlock takes it.
#[test]
fn a_script_that_sets_an_absent_text_takes_a_lock() {
    let script = "for i, key in ipairs(KEYS) do if redis.call('exists', key) == 1 then return 0 end end \
                  for i, key in ipairs(KEYS) do redis.call('set', key, ARGV[1], 'PX', ARGV[2]) end return #KEYS";
    let mut server = Server::new();
    let [one, two] = [server.client(), server.client()];
    server.send(one, &format!("EVAL \"{script}\" 2 l m t1 1000"));
    server.send(two, &format!("EVAL \"{script}\" 2 l m t2 1000"));
    server.send(one, &format!("EVAL \"{COMPARE_AND_DELETE}\" 1 l t1"));
    // The key is no lock: no check came before.
    server.send(one, "EVAL \"return redis.call('set', KEYS[1], ARGV[1], 'PX', 1000)\" 1 cache page");
    server.send(one, "SET cache2 page PX 1000");
    assert_eq!(
        server.entry_lines(&["key", "owner", "grant", "ttl"]),
        ["acquired l t1 1 1000", "acquired m t1 2 1000", "released l t1 1 null"]
    );
}

/// The end of the last hold, whatever happened before it.
#[test]
fn the_end_of_the_last_hold_is_reported_as_predecessor() {
    let mut server = Server::new();
    let one = server.client();
    let next = |server: &mut Server| {
        let granted = server.send(one, "LOCK.ACQUIRE l next PX 1000");
        let (_, told) = granted.split_once("predecessor\r\n").expect("it is granted");
        let told = told.split("\r\n").nth(1).unwrap().to_owned();
        server.send(one, "DEL l");
        told
    };
    server.take(one, "l", A, 1000);
    server.give_back(one, "l", A);
    assert_eq!(next(&mut server), "released", "nothing was before");
    assert_eq!(next(&mut server), "deleted");
    server.send(one, "SET l text NX PX 1000");
    server.send(one, &format!("EVAL \"{COMPARE_AND_DELETE}\" 1 l text"));
    assert_eq!(next(&mut server), "released", "something was before");
    assert_eq!(server.send(one, "LOCK.ACQUIRE never o").matches("none").count(), 1);
}

/// The holders for whom clients wait that only listen.
#[test]
fn the_graph_names_the_owners_of_refused_scripts() {
    let mut server = Server::new();
    let [one, two, listener] = [server.client(), server.client(), server.client()];
    let c = A.replace(":1", ":3");
    let other = A.replace("8743", "9999");
    server.take(one, "l", A, 30_000);
    server.take(two, "l", B, 30_000);
    server.send(listener, "SUBSCRIBE redisson_lock__channel:{l}");
    server.take(two, "l", B, 30_000);
    // A client that asks once does not want to wait.
    server.take(two, "l", &A.replace(":1", ":4"), 30_000);
    (0..2).for_each(|_| drop(server.take(two, "l", &c, 30_000)));
    (0..2).for_each(|_| drop(server.take(one, "l", &other, 30_000)));
    let edges = |server: &mut Server, words: &str| {
        let told = server.ask(&format!("LOCK.GRAPH {words}"));
        let waiters =
            told.split("waiter\r\n").skip(1).map(|edge| edge.split("\r\n").nth(1).unwrap().to_owned());
        waiters.collect::<Vec<_>>()
    };
    assert!(edges(&mut server, "").is_empty());
    assert_eq!(edges(&mut server, "INFERRED"), [B, &c]);
    server.ask("CONFIG SET lock-history no");
    assert_eq!(edges(&mut server, "INFERRED"), ["client 4"]);
}

/// Actions of the server itself are not attributed to the last request.
#[test]
fn automatic_renewals_of_a_session_are_recorded() {
    let mut server = Server::new();
    server.ask("LOCK.ACQUIRE l a SESSION PX 600");
    server.advance(450);
    let entries = server.ask("LOCK.HISTORY FORMAT JSON");
    let count = |event: &str| entries.matches(&format!("\"event\":\"{event}\"")).count();
    assert_eq!((count("acquired"), count("renewed")), (1, 2), "{entries}");
    let mut running = Server::new();
    running.ask("CLOCK.RESUME");
    running.ask("LOCK.ACQUIRE l a SESSION PX 600");
    running.pass(450);
    let entries = running.ask("LOCK.HISTORY FORMAT JSON");
    assert!(entries.contains("\"event\":\"renewed\""), "{entries}");
}

#[test]
fn events_are_counted_as_they_come_however_short_the_history_is() {
    let mut server = Server::new();
    let [waiter, other] = [server.client(), server.client()];
    server.ask("CONFIG SET lock-history-max 1");
    assert_eq!(server.send(waiter, "AWAIT.EVENT mark COUNT 2"), "");
    server.send(other, "LOCK.MARK one");
    assert_eq!(server.simulation.read(waiter), "");
    server.send(other, "LOCK.MARK two");
    assert!(server.simulation.read(waiter).starts_with(':'));
}
