//! `no-eternal-lock`: locks without a lease, all ways to take or to lose one, and keys that are no locks.

use crate::history::fixture::{A, COMPARE_AND_DELETE, Server};
use crate::history::verify::{found, verify};

const ETERNAL: &str = "violation no-eternal-lock";
const MAYBE: &str = "suspect no-eternal-lock";
const HABIT: &str = "lint bare-habits";

/// Returns the findings after these requests of one client.
fn findings_after(lines: &[&str]) -> Vec<String> {
    let mut server = Server::new();
    lines.iter().for_each(|line| drop(server.ask(line)));
    found(&mut server)
}

#[test]
fn a_lock_that_is_taken_without_a_lease_is_eternal() {
    let mut server = Server::new();
    server.ask("SET lock:a me NX");
    let (found, text) = verify(&mut server, "LOCK.VERIFY KEY lock:a");
    assert_eq!(found, ["violated", ETERNAL]);
    assert!(
        text.contains("me holds lock:a without a lease: if the owner dies, the lock stays taken"),
        "{text}"
    );
    assert_eq!(server.entry_lines(&["owner", "ttl"]), ["acquired me null"]);
    for line in [
        "SETNX order:1:lock me",
        "SET orderLock me NX GET",
        "SET lock:a me NX KEEPTTL",
        "MSETNX lock:a me stock 1",
        "MSETEX 1 lock:a me NX",
        "EVAL \"return redis.call('setnx', KEYS[1], ARGV[1])\" 1 job-mutex me",
        &format!("HSET anything {A} 1"),
    ] {
        assert_eq!(findings_after(&[line]), ["violated", ETERNAL], "{line}");
    }
}

#[test]
fn a_lock_that_loses_its_lease_is_eternal() {
    for line in ["PERSIST l", "GETEX l PERSIST", "SET l me", "SET l me XX", "GETSET l me", "MSET l me"] {
        assert_eq!(findings_after(&["SET l me NX PX 1000", line])[..2], ["violated", ETERNAL], "{line}");
    }
    assert_eq!(findings_after(&["LOCK.ACQUIRE l me PX 1000", "PERSIST l"]), ["violated", ETERNAL]);
    for line in
        ["SET l me KEEPTTL", "SET l me PX 500", "EXPIRE l 5", "GETEX l", "PEXPIRE l 1", "SET l me XX PX 7"]
    {
        assert_eq!(findings_after(&["SET l me NX PX 1000", line]), ["ok"], "{line}");
    }
}

/// Another text in the place of a lock belongs to its owner from then on.
#[test]
fn a_lock_that_is_overwritten_without_a_lease_is_eternal() {
    let taken = "SET lock:a me NX PX 1000";
    assert_eq!(findings_after(&[taken, "SET lock:a you"]), ["violated", HABIT, ETERNAL]);
    assert_eq!(findings_after(&[taken, "SET lock:a you KEEPTTL"]), ["ok", HABIT]);
    assert_eq!(findings_after(&[taken, "SET lock:a you PX 50"]), ["ok", HABIT]);
    // A result also replaces a mark that keeps other clients from computing it.
    assert_eq!(findings_after(&["SET answer:42 pending NX PX 1000", "SET answer:42 result"]), ["ok", HABIT]);
}

#[test]
fn a_lease_that_comes_later_is_a_habit_and_no_eternal_lock() {
    for take in ["SET lock:a me NX", "SETNX lock:a me", "SETNX a me"] {
        for lease in
            ["EXPIRE lock:a 10", "PEXPIREAT lock:a 99999999999999", "GETEX lock:a EX 5", "SET lock:a me PX 9"]
        {
            let lease =
                if take.ends_with("NX a me") { lease.replace("lock:a", "a") } else { lease.to_owned() };
            if lease.starts_with("SET a") {
                // A lease set together with a text, under a name that shows no lock, says nothing about this rule.
                continue;
            }
            assert_eq!(findings_after(&[take, &lease]), ["ok", HABIT], "{take}, {lease}");
        }
        // Until the lease comes, the lock has none; if the owner dies or releases before, the lock never had one.
        let mut server = Server::new();
        server.ask(&take.replace(" a ", " lock:b "));
        assert_eq!(found(&mut server)[..2], ["violated", ETERNAL], "{take}");
    }
    assert_eq!(findings_after(&["SET lock:a me NX", "DEL lock:a"]), ["violated", ETERNAL, HABIT]);
    assert_eq!(
        findings_after(&["SET lock:a me NX", "EXPIRE lock:a 10", "PERSIST lock:a"]),
        ["violated", HABIT, ETERNAL]
    );
}

/// A hash field is a lock just as a text is: the same rule applies.
#[test]
fn a_lease_that_comes_later_to_a_hash_is_a_habit_and_no_eternal_lock() {
    for take in [format!("HSET l {A} 1"), format!("HINCRBY l {A} 1"), format!("HSETNX l {A} 1")] {
        for lease in ["PEXPIRE l 30000", "EXPIRE l 30", "PEXPIREAT l 99999999999999"] {
            assert_eq!(findings_after(&[&take, lease]), ["ok", HABIT], "{take}, {lease}");
        }
        assert_eq!(findings_after(&[&take]), ["violated", ETERNAL], "{take}");
        assert_eq!(findings_after(&["MULTI", &take, "PEXPIRE l 30000", "EXEC"]), ["ok"], "{take}");
        let lost = [&take, "PEXPIRE l 30000", "PERSIST l"];
        assert_eq!(findings_after(&lost), ["violated", HABIT, ETERNAL], "{take}");
    }
    // The hold had no lease until its owner gave it back.
    assert_eq!(
        findings_after(&[&format!("HSET l {A} 1"), &format!("HDEL l {A}")])[..2],
        ["violated", ETERNAL]
    );
}

#[test]
fn a_lease_set_in_the_same_transaction_gives_no_finding() {
    let script = "redis.call('setnx', KEYS[1], ARGV[1]) redis.call('pexpire', KEYS[1], 1000)";
    for key in ["lock:a", "a"] {
        assert_eq!(findings_after(&[&format!("EVAL \"{script}\" 1 {key} me")]), ["ok"]);
        for set in ["SETNX", "SET"] {
            let set = if set == "SET" { format!("SET {key} me NX") } else { format!("SETNX {key} me") };
            assert_eq!(findings_after(&["MULTI", &set, &format!("EXPIRE {key} 5"), "EXEC"]), ["ok"], "{set}");
        }
        let apart =
            ["MULTI", &format!("SETNX {key} me"), "EXEC", "MULTI", &format!("EXPIRE {key} 5"), "EXEC"];
        assert_eq!(findings_after(&apart), ["ok", HABIT]);
    }
}

/// Counters, marks and unique names are also set by NX without a lease.
#[test]
fn a_key_without_a_lock_name_counts_as_a_lock_by_its_use() {
    for lines in [
        &["SETNX visits 0", "INCR visits", "SETNX visits 0"][..],
        &["SETNX clock:start 17", "SETNX blocks 2", "SETNX blocks 2"],
        &["SETNX mail:me@example.com 7", "DEL mail:me@example.com"],
        &["MSETNX a 1 b 2", "GET a"],
        &["SET answer pending NX", "SET answer result", "SETNX answer pending"],
        &["SETNX bits 0", "SETBIT bits 3 1", "APPEND bits x", "SETNX bits 0"],
    ] {
        assert_eq!(findings_after(lines), ["ok"], "{lines:?}");
    }
    let mut server = Server::new();
    server.ask("SETNX visits 0");
    assert_eq!(server.history("")["entries"].as_array().map(Vec::len), Some(1), "the beginning alone");
    let release = format!("EVAL \"{COMPARE_AND_DELETE}\" 1 job:7 me");
    for line in
        ["SET job:7 you NX", "SETNX job:7 you", "MSETNX job:7 you other x", &release, "DELIFEQ job:7 me"]
    {
        assert_eq!(findings_after(&["SET job:7 me NX", line, line]), ["suspect", MAYBE], "{line}");
    }
    // LOCK commands request locks.
    let asked = ["SET job:7 me NX", "LOCK.ACQUIRE job:7 you"];
    assert_eq!(findings_after(&asked), ["violated", ETERNAL]);
    assert_eq!(findings_after(&[asked[0], asked[1], "EXPIRE job:7 10"]), ["ok", HABIT]);
    assert_eq!(findings_after(&["SET job:7 me NX", "SET job:7 you NX", "EXPIRE job:7 10"]), ["ok", HABIT]);
}

/// RENAME and COPY keep the way in which a text was set; RESTORE does not.
#[test]
fn a_renamed_or_copied_text_keeps_the_way_it_was_set() {
    for line in ["RENAME lock:b lock:a", "RENAMENX lock:b lock:a", "COPY lock:b lock:a"] {
        let found = findings_after(&["SET lock:b me NX", line]);
        assert_eq!(found.iter().filter(|one| *one == ETERNAL).count(), 2, "{line}: {found:?}");
    }
    let restore = r#"RESTORE lock:a 0 "\x00\x01v\x0a\x00\x91\x08\xce\xb2\x198\x8a\xce""#;
    for lines in [
        &["SET x me", "RENAME x lock:a"][..],
        &["SET x me", "COPY x lock:a"],
        &["SET x me NX", "RENAME x lock:a"],
        &["INCR lock:a"],
        &["APPEND lock:a me"],
        &["GETSET lock:a me"],
        &[restore],
        &["LOCK.OBSERVE lock:*", "INCR lock:a"],
        &["LOCK.OBSERVE lock:*", restore],
    ] {
        let mut server = Server::new();
        lines.iter().for_each(|line| drop(server.ask(line)));
        assert_eq!(found(&mut server), ["ok"], "{lines:?}");
        let info = server.ask("LOCK.INFO lock:a");
        assert!(info.contains("holders\r\n*1\r\n"), "{lines:?}: {info}");
    }
}

#[test]
fn sessions_and_leases_are_no_eternal_locks() {
    let mut server = Server::new();
    let holder = server.client();
    server.send(holder, "LOCK.ACQUIRE lock:a a SESSION");
    server.ask("SETNX lock:a b");
    server.ask("SET lock:b b NX PX 100");
    server.advance(1000);
    server.take(holder, "lock:c", A, 1000);
    assert_eq!(found(&mut server), ["ok"]);
}

/// The ledger records it too while there is no history.
#[test]
fn a_text_with_a_lock_name_has_a_grant() {
    let mut server = Server::new();
    server.ask("CONFIG SET lock-history no");
    server.ask("SET lock:a me NX");
    server.ask("SET visits 0 NX");
    let grant = |server: &mut Server, key| {
        let info = server.ask(&format!("LOCK.INFO {key}"));
        info.split_once("grant\r\n").map(|(_, rest)| rest.starts_with(':'))
    };
    assert_eq!([grant(&mut server, "lock:a"), grant(&mut server, "visits")], [Some(true), Some(false)]);
}

/// Taking a lock and giving it a lease count as one step, however long the names are.
#[test]
fn a_lock_of_a_long_name_has_the_lease_that_it_was_given() {
    for (key, owner) in
        [("k".repeat(1025), A.to_owned()), ("k".to_owned(), format!("{A}{}", "0".repeat(1100)))]
    {
        let mut server = Server::new();
        let client = server.client();
        server.take(client, &key, &owner, 1000);
        assert_eq!(server.entry_lines(&["ttl"]), ["acquired 1000"]);
        server.take(client, &key, &owner, 1000);
        server.give_back(client, &key, &owner);
        server.give_back(client, &key, &owner);
        assert_eq!(found(&mut server), ["ok"]);
    }
}
