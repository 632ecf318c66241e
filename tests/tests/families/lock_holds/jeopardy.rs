//! `lock-jeopardy`: an owner is notified when little of its lease is left.

use lockwheel_engine::config::Config;
use lockwheel_engine::core::Simulation;

/// A server on frozen clocks that warns of the last 300 ms of leases, with a client that controls it. A holder speaks
/// RESP3, and another client listens.
fn server() -> (Simulation, [u64; 3]) {
    let mut server = Simulation::new(Config::default(), 7);
    let clients @ [main, holder, listener] = [0; 3].map(|_| server.connect());
    server.ask(main, "CLOCK.FREEZE");
    server.ask(main, "CONFIG SET lock-jeopardy 300");
    server.ask(holder, "HELLO 3");
    server.ask(listener, "PSUBSCRIBE __lock@*");
    (server, clients)
}

/// Returns the number of warnings that a client got by then.
fn count_warnings(server: &mut Simulation, client: u64) -> usize {
    server.read(client).matches("jeopardy").count()
}

#[test]
fn an_owner_gets_one_warning_before_the_end_of_each_lease() {
    let (mut server, [main, holder, listener]) = server();
    server.ask(holder, "LOCK.ACQUIRE l a PX 1000");
    server.read(listener);
    server.ask(main, "CLOCK.ADVANCE 699");
    assert_eq!((count_warnings(&mut server, holder), count_warnings(&mut server, listener)), (0, 0));
    server.ask(main, "CLOCK.ADVANCE 1");
    assert_eq!(
        server.read(holder),
        ">2\r\n$13\r\nlock-jeopardy\r\n%5\r\n$2\r\ndb\r\n:0\r\n$3\r\nkey\r\n$1\r\nl\r\n$5\r\nowner\r\n$1\r\na\r\n\
         $5\r\ngrant\r\n:1\r\n$3\r\nttl\r\n:300\r\n"
    );
    assert!(server.read(listener).contains("jeopardy owner=a grant=1 ttl=300"));
    server.ask(main, "CLOCK.ADVANCE 299");
    server.ask(holder, "LOCK.RENEW 1 l a PX 1000");
    server.ask(main, "CLOCK.ADVANCE 699");
    assert_eq!(count_warnings(&mut server, holder), 0);
    server.ask(main, "CLOCK.ADVANCE 1");
    assert_eq!(count_warnings(&mut server, holder), 1);
    server.ask(main, "CLOCK.ADVANCE 300");
    assert_eq!((server.ask(main, "EXISTS l"), count_warnings(&mut server, holder)), (":0\r\n".into(), 0));
    assert!(server.ask(main, "CLOCK.INFO").contains("$6\r\ntimers\r\n:0\r\n"));
}

#[test]
fn a_timely_renewal_causes_no_warning_and_a_release_leaves_no_timer() {
    let (mut server, [main, holder, listener]) = server();
    server.ask(holder, "LOCK.ACQUIRE l a SESSION PX 900");
    server.ask(main, "CLOCK.ADVANCE 100000");
    assert_eq!((count_warnings(&mut server, holder), count_warnings(&mut server, listener)), (0, 0));
    server.ask(holder, "LOCK.RELEASE l a");
    server.ask(holder, "LOCK.ACQUIRE l a PX 5000");
    server.ask(main, "SWAPDB 0 1");
    server.ask(main, "SELECT 1");
    server.ask(main, "DEL l");
    assert!(server.ask(main, "CLOCK.INFO").contains("$6\r\ntimers\r\n:0\r\n"));
}

#[test]
fn jeopardy_is_published_for_foreign_locks_too() {
    let (mut server, [main, _, listener]) = server();
    let owner = "8743c9c0-0795-4907-87fd-6c719a6b4586:1";
    let lock = "redis.call('hincrby', KEYS[1], ARGV[2], 1) redis.call('pexpire', KEYS[1], ARGV[1])";
    server.ask(main, &format!("EVAL \"{lock}\" 1 l 1000 {owner}"));
    server.ask(main, "SET s x NX PX 1000");
    server.ask(main, "LOCK.ACQUIRE rw r SHARED PX 200");
    let at_once = server.read(listener);
    assert!(at_once.contains("jeopardy owner=r grant=3 ttl=200") && at_once.matches("jeopardy").count() == 1);
    server.ask(main, "CLOCK.ADVANCE 700");
    let text = server.read(listener);
    for told in [format!("jeopardy owner={owner} grant=1 ttl=300"), "jeopardy owner=x grant=2 ttl=300".into()]
    {
        assert!(text.contains(&told), "{text}");
    }
}

#[test]
fn lock_jeopardy_0_disables_warnings_and_the_maximum_works() {
    let (mut server, [main, holder, listener]) = server();
    server.ask(holder, "LOCK.ACQUIRE l a PX 1000");
    server.ask(main, "CONFIG SET lock-jeopardy 0");
    server.ask(main, "CLOCK.ADVANCE 1000");
    assert_eq!((count_warnings(&mut server, holder), count_warnings(&mut server, listener)), (0, 0));
    server.ask(main, "CONFIG SET lock-jeopardy 9223372036854775807");
    let at_once = server.ask(holder, "LOCK.ACQUIRE l a PX 1000");
    assert_eq!(at_once.matches("jeopardy").count(), 1, "{at_once}");
    assert!(server.ask(main, "CONFIG SET lock-jeopardy -1").contains("ERR"));
}

#[test]
fn a_changed_lock_jeopardy_applies_to_held_locks() {
    let (mut server, [main, holder, listener]) = server();
    server.ask(holder, "LOCK.ACQUIRE l a PX 1000");
    server.ask(holder, "LOCK.ACQUIRE told a PX 200");
    assert_eq!(count_warnings(&mut server, listener), 1);
    server.read(holder);
    server.ask(main, "CONFIG SET lock-jeopardy 400");
    server.ask(main, "CLOCK.ADVANCE 599");
    assert_eq!(count_warnings(&mut server, holder), 0);
    server.ask(main, "CLOCK.ADVANCE 1");
    assert!(server.read(listener).contains("jeopardy owner=a grant=1 ttl=400"));
    server.ask(holder, "LOCK.RENEW 1 l a PX 1000");
    // Less of the lease is left than the new threshold: the warning comes at once, once.
    server.ask(main, "CONFIG SET lock-jeopardy 5000");
    server.ask(main, "PING");
    assert_eq!(count_warnings(&mut server, listener), 1);
}

/// The earlier warning was about another lease.
#[test]
fn a_renewed_lease_gets_its_own_warning_in_time() {
    for again in [
        "LOCK.RENEW 1 l a PX 400",
        "LOCK.ACQUIRE l a PX 400",
        "PEXPIRE l 400",
        "EVAL \"return redis.call('pexpire', KEYS[1], 400)\" 1 l",
    ] {
        let (mut server, [main, holder, _]) = server();
        server.ask(holder, "LOCK.ACQUIRE l a PX 1000");
        server.ask(main, "CLOCK.ADVANCE 700");
        assert_eq!(count_warnings(&mut server, holder), 1);
        server.ask(holder, again);
        server.ask(main, "CLOCK.ADVANCE 99");
        assert_eq!(count_warnings(&mut server, holder), 0, "{again}");
        server.ask(main, "CLOCK.ADVANCE 1");
        assert_eq!(count_warnings(&mut server, holder), 1, "{again}");
    }
}

#[test]
fn readers_are_warned_of_their_own_leases() {
    let (mut server, [main, holder, listener]) = server();
    server.ask(main, "LOCK.ACQUIRE l other SHARED PX 9000");
    server.ask(holder, "LOCK.ACQUIRE l a SHARED PX 1000");
    server.ask(holder, "LOCK.ACQUIRE l a SHARED PX 2000");
    server.ask(main, "CLOCK.ADVANCE 1699");
    assert_eq!((count_warnings(&mut server, holder), count_warnings(&mut server, listener)), (0, 0));
    server.ask(main, "CLOCK.ADVANCE 1");
    assert_eq!(count_warnings(&mut server, holder), 1);
    assert!(server.read(listener).contains("jeopardy owner=a grant=2 ttl=300"));
    server.ask(main, "CLOCK.ADVANCE 6999");
    assert_eq!(count_warnings(&mut server, listener), 0);
    server.ask(main, "CLOCK.ADVANCE 1");
    assert!(server.read(listener).contains("jeopardy owner=other grant=1 ttl=300"));
    server.ask(main, "CLOCK.ADVANCE 300");
    assert_eq!(server.ask(main, "DBSIZE"), ":0\r\n");
    assert!(server.ask(main, "CLOCK.INFO").contains("$6\r\ntimers\r\n:0\r\n"));
}

/// A service may take a lock over several connections, under one name.
#[test]
fn each_connection_of_an_owner_is_warned() {
    let (mut server, [main, holder, _]) = server();
    let second = server.connect();
    server.ask(second, "HELLO 3");
    for client in [holder, second] {
        server.ask(client, "LOCK.ACQUIRE l a PX 1000");
    }
    server.ask(main, "CLOCK.ADVANCE 700");
    assert_eq!((count_warnings(&mut server, holder), count_warnings(&mut server, second)), (1, 1));
    let waiter = server.connect();
    server.ask(waiter, "LOCK.ACQUIRE l b BLOCK 0");
    for client in [holder, second] {
        assert!(server.read(client).contains("lock-contended"));
    }
    server.ask(main, "LOCK.FORCEUNLOCK l");
    for client in [holder, second] {
        let text = server.read(client);
        assert_eq!(text.matches("lock-lost").count(), 1, "{text}");
    }
}

/// The lease of a read hold says nothing of the hold of a writer.
#[test]
fn a_writer_that_also_reads_is_warned_of_both_leases() {
    let (mut server, [main, holder, listener]) = server();
    server.ask(holder, "LOCK.ACQUIRE l a EXCLUSIVE PX 1000");
    server.ask(holder, "LOCK.ACQUIRE l a SHARED PX 900");
    for (ms, count) in [(600, 1), (99, 0), (1, 1), (299, 0)] {
        server.ask(main, &format!("CLOCK.ADVANCE {ms}"));
        assert_eq!(
            (count_warnings(&mut server, holder), count_warnings(&mut server, listener)),
            (count, count),
            "{ms}"
        );
    }
}

/// The first hold of a connection may have a lease of its own, and the next one that of the lock.
#[test]
fn a_connection_with_two_readers_is_warned_of_both_leases() {
    let (mut server, [main, holder, _]) = server();
    server.ask(holder, "LOCK.ACQUIRE l one SHARED PX 900");
    server.ask(holder, "LOCK.ACQUIRE l two SHARED");
    // The script acts as a client that counts no leases of readers.
    assert_eq!(server.ask(main, "DEL {l}:two:rwlock_timeout:1"), ":1\r\n");
    server.ask(main, "PEXPIRE l 1000");
    for (ms, owner) in [(600, "one"), (100, "two")] {
        server.ask(main, &format!("CLOCK.ADVANCE {ms}"));
        let text = server.read(holder);
        assert!(
            text.matches("jeopardy").count() == 1 && text.contains(&format!("\r\n{owner}\r\n")),
            "{owner}: {text}"
        );
    }
}

/// Each reader has a lease of its own.
#[test]
fn a_connection_with_many_readers_is_warned_once_an_instant() {
    let (mut server, [main, holder, listener]) = server();
    for owner in ["a", "b", "c"] {
        server.ask(holder, &format!("LOCK.ACQUIRE l {owner} SHARED PX 1000"));
    }
    server.ask(holder, "LOCK.ACQUIRE l d SHARED PX 1001");
    server.read(listener);
    server.ask(main, "CLOCK.ADVANCE 700");
    assert_eq!((count_warnings(&mut server, holder), count_warnings(&mut server, listener)), (1, 3));
    // The hold is renewed at the same instant.
    server.ask(main, "LOCK.RENEW 1 l a SHARED PX 200");
    server.ask(main, "PING");
    let again = count_warnings(&mut server, listener);
    assert_eq!((count_warnings(&mut server, holder), again), (again, again));
    server.ask(main, "CLOCK.ADVANCE 1");
    assert_eq!((count_warnings(&mut server, holder), count_warnings(&mut server, listener)), (1, 1));
}
