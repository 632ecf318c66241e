//! `DELAY`: after a loss, nobody gets the lock for a while.

use super::sessions::close;
use lockwheel_engine::config::Config;
use lockwheel_engine::core::Simulation;
use lockwheel_tests::ours;

/// A server on frozen clocks, with a client that controls it.
fn server() -> (Simulation, u64) {
    let mut server = Simulation::new(Config::default(), 7);
    let main = server.connect();
    server.ask(main, "CLOCK.FREEZE");
    (server, main)
}

#[test]
fn no_client_gets_a_lost_lock_during_its_delay() {
    for layout in ["", "EXCLUSIVE", "FAIR", "LAYOUT STRING"] {
        let (mut server, main) = server();
        let waiter = server.connect();
        server.ask(main, &format!("LOCK.ACQUIRE l a PX 1000 DELAY 700 {layout}"));
        assert!(server.ask(main, "LOCK.INFO l").contains("$5\r\ndelay\r\n:700\r\n"));
        server.send(waiter, &format!("LOCK.ACQUIRE l b BLOCK 0 PX 50 {layout}"));
        server.ask(main, "CLOCK.ADVANCE 1000");
        assert_eq!(
            (server.read(waiter), server.ask(main, "PTTL l")),
            (String::new(), ":700\r\n".into()),
            "{layout}"
        );
        server.ask(main, "CLOCK.ADVANCE 100");
        let info = server.ask(main, "LOCK.INFO l");
        assert!(info.contains("holders\r\n*0\r\n") && info.contains("$5\r\ndelay\r\n:600\r\n"), "{info}");
        let told = server.ask(main, &format!("LOCK.ACQUIRE l c GETHOLDER {layout}"));
        assert!(told.contains("holder\r\n$-1\r\n$3\r\nttl\r\n:600\r\n"), "{told}");
        assert!(
            server
                .ask(main, "LOCK.RELEASE l a")
                .starts_with("-LOCKLOST this owner lost the lock: grant 1 ended (expired)")
        );
        assert_eq!(server.ask(main, "LOCK.SCAN 0 STATE HELD"), "*2\r\n$1\r\n0\r\n*0\r\n");
        server.ask(main, "CLOCK.ADVANCE 599");
        assert_eq!(server.read(waiter), "", "{layout}");
        server.ask(main, "CLOCK.ADVANCE 1");
        let served = server.read(waiter);
        assert!(
            served.contains(":1700\r\n") && served.contains("predecessor\r\n$7\r\nexpired"),
            "{layout} {served}"
        );
        // The delay of one hold is not that of the next.
        server.ask(main, "CLOCK.ADVANCE 50");
        assert_eq!(server.ask(main, "EXISTS l"), ":0\r\n", "{layout}");
    }
}

#[test]
fn a_release_or_delete_ends_a_hold_without_a_delay() {
    for end in [
        "LOCK.RELEASE l a",
        "DEL l",
        "FLUSHALL",
        "LOCK.FORCEUNLOCK l",
        "EVAL \"redis.call('del', 'l')\" 0",
        "LOCK.MRELEASE 1 l a",
    ] {
        let (mut server, main) = server();
        server.ask(main, "LOCK.ACQUIRE l a DELAY 5000");
        server.ask(main, end);
        assert_eq!(server.ask(main, "DBSIZE"), ":0\r\n", "{end}");
    }
    let (mut server, main) = server();
    server.ask(main, "LOCK.ACQUIRE l a DELAY 5000");
    server.ask(main, "LOCK.TRANSFER l a b PX 10");
    server.ask(main, "CLOCK.ADVANCE 10");
    assert_eq!(server.ask(main, "DBSIZE"), ":0\r\n", "the delay was the first owner's");
}

#[test]
fn a_disconnect_starts_the_delay_and_forceunlock_ends_it() {
    for layout in ["", "EXCLUSIVE", "LAYOUT STRING", "SHARED"] {
        let (mut server, main) = server();
        let [holder, waiter] = [server.connect(), server.connect()];
        server.ask(holder, &format!("LOCK.ACQUIRE l a SESSION DELAY 9000 {layout}"));
        let waits = if layout == "SHARED" { "EXCLUSIVE" } else { layout };
        server.send(waiter, &format!("LOCK.ACQUIRE l b BLOCK 0 {waits}"));
        close(&mut server, holder);
        assert_eq!(
            (server.read(waiter), server.ask(main, "PTTL l")),
            (String::new(), ":9000\r\n".into()),
            "{layout}"
        );
        assert_eq!(server.ask(main, "LOCK.FORCEUNLOCK l OWNER a"), ":0\r\n");
        assert_eq!(server.read(waiter), "");
        assert_eq!(server.ask(main, "LOCK.FORCEUNLOCK l"), ":0\r\n");
        assert!(server.read(waiter).contains("disconnected"), "{layout}");
    }
}

#[test]
fn during_the_delay_of_a_reader_others_read_and_nobody_writes() {
    let (mut server, main) = server();
    let writer = server.connect();
    server.ask(main, "LOCK.ACQUIRE l a SHARED PX 1000 DELAY 3000");
    server.ask(main, "LOCK.ACQUIRE l b SHARED PX 1500");
    server.send(writer, "LOCK.ACQUIRE l w EXCLUSIVE BLOCK 0");
    server.ask(main, "CLOCK.ADVANCE 1500");
    assert!(server.ask(main, "LOCK.INFO l").contains("delay\r\n:2500\r\n"));
    assert!(server.ask(main, "LOCK.ACQUIRE l c SHARED PRIORITY 1 PX 9000").contains("token"));
    server.ask(main, "CLOCK.ADVANCE 2500");
    assert_eq!((server.read(writer), server.ask(main, "HLEN l")), (String::new(), ":2\r\n".into()));
    assert_eq!(server.ask(main, "LOCK.RELEASE l c"), ":0\r\n");
    assert!(server.read(writer).contains("token"));
    assert_eq!(server.ask(main, "DBSIZE"), ":1\r\n");
}

#[test]
fn a_delay_must_be_positive_and_may_be_the_maximum() {
    let mut s = ours::manual_scenario();
    s.run("CLOCK.SET 5000000");
    let range = "-ERR value is out of range, must be positive: *";
    for ms in ["0", "-1", "9223372036854775807", "9223372036849775808"] {
        s.check(&format!("LOCK.ACQUIRE l a DELAY {ms}"), range);
    }
    s.check("LOCK.ACQUIRE l a DELAY", "-ERR syntax error: expected milliseconds at the end")
        .check("LOCK.ACQUIRE l lockwheel:delay", "-ERR invalid owner: *");
    s.check("LOCK.ACQUIRE l a DELAY 1 DELAY 1", "-ERR syntax error: 'DELAY' is given twice")
        .check("DBSIZE", ":0");
    s.run("LOCK.ACQUIRE l a PX 10 DELAY 9223372036849775807");
    s.run("CLOCK.ADVANCE 10");
    s.check("PEXPIRETIME l", ":9223372036854775807")
        .check("LOCK.FORCEUNLOCK l", ":0")
        .check("EXISTS l", ":0");
}

#[test]
fn a_delay_stays_in_the_database_of_its_lock() {
    let (mut server, main) = server();
    server.ask(main, "SELECT 3");
    for n in 0..3 {
        server.ask(main, &format!("LOCK.ACQUIRE l{n} a PX 100 DELAY 500"));
    }
    server.ask(main, "SWAPDB 3 5");
    server.ask(main, "SELECT 0");
    server.ask(main, "CLOCK.ADVANCE 100");
    server.ask(main, "SELECT 5");
    for n in 0..3 {
        assert_eq!(server.ask(main, &format!("PTTL l{n}")), ":500\r\n");
    }
    server.ask(main, "LOCK.ACQUIRE own a DELAY 500");
    assert_eq!(server.ask(main, "PEXPIRE own 0"), ":1\r\n");
    assert_eq!(server.ask(main, "PTTL own"), ":-2\r\n", "that is a DEL, as in Redis");
}

/// A key that has lost its deadline stays, and so does the delay, until a client ends it.
#[test]
fn a_delay_without_a_deadline_stays_and_is_shown() {
    for layout in ["", "SHARED", "EXCLUSIVE", "LAYOUT STRING"] {
        let (mut server, main) = server();
        server.ask(main, &format!("LOCK.ACQUIRE k a PX 1000 DELAY 500 {layout}"));
        server.ask(main, "CLOCK.ADVANCE 1000");
        for key in ["k", "{k}:lockwheel:delay:rwlock_timeout:1"] {
            server.ask(main, &format!("PERSIST {key}"));
        }
        server.ask(main, "CLOCK.ADVANCE 5000");
        for full in ["", " FULL"] {
            let info = server.ask(main, &format!("LOCK.INFO k{full}"));
            assert!(info.contains("ttl\r\n:-1\r\n"), "{layout}: {info}");
            assert!(info.contains("delay\r\n:-1\r\n"), "{layout}: {info}");
        }
        assert_eq!(server.ask(main, "LOCK.FORCEUNLOCK k"), ":0\r\n", "{layout}");
        assert!(server.ask(main, "LOCK.INFO k").contains("ttl\r\n:-2\r\n"), "{layout}");
    }
    let (mut server, main) = server();
    server.ask(main, "RPUSH list a");
    assert!(server.ask(main, "LOCK.INFO list").contains("ttl\r\n:-1\r\n"), "it is there, and no lock");
}
