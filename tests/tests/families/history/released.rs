//! A key that a `LOCK` command has taken counts as a lock from then on, whoever takes it next.

use crate::history::fixture::Server;
use crate::history::verify::found;

#[test]
fn an_owner_written_into_a_released_lock_has_acquired_it() {
    let mut server = Server::new();
    let [one, two] = [server.client(), server.client()];
    server.send(two, "HSET before o 1");
    server.send(one, "LOCK.ACQUIRE k o");
    server.send(one, "LOCK.RELEASE k o");
    server.send(two, "HSET k o 1");
    server.send(two, "PEXPIRE k 100");
    assert!(server.ask("LOCK.INFO k").contains("grant\r\n:2\r\n"));
    assert_eq!(server.send(one, "LOCK.RENEW 1 k o PX 5000"), "*1\r\n:1\r\n");
    server.send(one, "LOCK.RELEASE k o");
    server.send(two, "SELECT 1");
    server.send(two, "HSET k o 1");
    let told = server.entry_lines(&["owner", "grant", "ttl", "kind", "client", "by"]);
    assert_eq!(
        told,
        [
            "acquired o 1 30000 native 2 lock.acquire",
            "released o 1 null native 2 lock.release",
            "acquired o 2 null foreign 3 hset",
            "renewed o 2 100 foreign 3 pexpire",
            "renewed o 2 5000 foreign 2 lock.renew",
            "released o 2 null foreign 2 lock.release",
        ]
    );
}

/// A lock that comes back by RESTORE is held, and can be released. `mode` and the field of a delay belong to no owner.
#[test]
fn a_restored_lock_is_held_and_a_delay_has_no_owner() {
    let mut server = Server::new();
    let one = server.client();
    server.send(one, "HSET k o 1");
    server.send(one, "RENAME k other");
    server.send(one, "LOCK.ACQUIRE k o PX 10 DELAY 20");
    server.advance(30);
    assert_eq!(server.send(one, "EXISTS k"), ":0\r\n");
    server.send(one, "HSET k mode read");
    server.send(one, "DEL k");
    let dump = |server: &mut Server| {
        server.send(one, "EVAL \"return redis.call('restore', 'k', 0, redis.call('dump', 'other'))\" 0")
    };
    assert_eq!(dump(&mut server), "+OK\r\n");
    assert_eq!(server.send(one, "LOCK.RELEASE k o"), ":0\r\n");
    let told = server.entry_lines(&["owner", "grant", "kind", "cause"]);
    assert_eq!(
        told,
        [
            "acquired o 1 native null",
            "lost o 1 native expired",
            "acquired o 2 foreign null",
            "released o 2 foreign released",
        ]
    );
}

/// The number of remembered names is the one in the documentation; the oldest go first.
#[test]
fn the_last_names_of_released_locks_are_remembered() {
    let mut server = Server::new();
    let one = server.client();
    for n in 0..4097 {
        server.send(one, &format!("LOCK.ACQUIRE k{n} o"));
        server.send(one, &format!("LOCK.RELEASE k{n} o"));
    }
    for (key, grants) in [("k0", 0), ("k1", 1), ("k4096", 1)] {
        server.send(one, &format!("HSET {key} o 1"));
        let history = server.history(&format!("KEY {key} SINCE 8190"));
        let entries = history["entries"].as_array().expect("entries").iter();
        let by_hset = entries.filter(|entry| entry["by"] == "hset");
        assert_eq!(by_hset.count(), grants, "{key}");
    }
}

/// A client that names the owner of the lock that it overwrites has read it, by whichever of its connections.
#[test]
fn an_overwrite_that_names_the_owner_is_a_release() {
    let swap = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('set', KEYS[1], ARGV[2]) end";
    for (overwrite, cause, verdict) in [
        ("SET k two IFEQ one PX 100".to_owned(), "released", "ok"),
        (format!("EVAL \"{swap}\" 1 k one two"), "released", "ok"),
        ("SET k two PX 100".to_owned(), "overwritten", "violated"),
        ("EVAL \"return redis.call('set', KEYS[1], ARGV[1])\" 1 k two".to_owned(), "overwritten", "violated"),
    ] {
        let mut server = Server::new();
        let [one, two] = [server.client(), server.client()];
        server.send(one, "CLIENT SETNAME one");
        server.send(two, "CLIENT SETNAME two");
        server.send(one, "SET k one NX PX 100");
        assert_eq!(server.send(two, &overwrite), "+OK\r\n", "{overwrite}");
        let told = server.entry_lines(&["owner", "cause"]);
        assert!(told.iter().any(|line| line.ends_with(&format!(" one {cause}"))), "{told:?}");
        assert_eq!(found(&mut server)[0], verdict, "{overwrite}");
    }
}
