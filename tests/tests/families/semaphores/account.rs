//! The accounting of SEM.INFO: the permits left and held always add up to the initial ones and the adjustments.

use lockwheel::Config;
use lockwheel_engine::core::Simulation;

/// The numbers of SEM.INFO: left, held, initial, adjustments.
fn account(server: &mut Simulation, client: u64) -> [i64; 4] {
    let told = server.ask(client, "SEM.INFO s");
    let lines: Vec<&str> = told.split("\r\n").collect();
    ["left", "held", "initial", "adjustments"].map(|name| {
        let at = lines.iter().position(|line| *line == name).expect("it is told");
        lines[at + 1].strip_prefix(':').and_then(|number| number.parse().ok()).expect("a number")
    })
}

fn server() -> (Simulation, u64) {
    let mut config = Config::default();
    config.lock_history = true;
    let mut server = Simulation::new(config, 7);
    let client = server.connect();
    server.ask(client, "CLOCK.FREEZE");
    (server, client)
}

#[test]
fn an_expired_permit_taken_by_another_owner_is_held_once() {
    for waits in [false, true] {
        let (mut server, client) = server();
        server.ask(client, "SEM.INIT s 3");
        server.ask(client, "SEM.ACQUIRE s a PERMITS 3 IDS PX 100");
        if waits {
            let waiter = server.connect();
            server.send(waiter, "SEM.ACQUIRE s b PERMITS 2 IDS BLOCK 0");
            server.ask(client, "CLOCK.ADVANCE 100");
        } else {
            server.ask(client, "CLOCK.ADVANCE 100");
            server.ask(client, "SEM.ACQUIRE s b PERMITS 2 IDS");
        }
        let [left, held, initial, adjustments] = account(&mut server, client);
        assert_eq!((left + held, initial, adjustments), (3, 3, 0), "{waits}");
        let history = server.ask(client, "LOCK.HISTORY FORMAT JSON");
        assert!(history.contains(r#""cause":"expired""#), "{history}");
        assert!(server.ask(client, "LOCK.VERIFY").contains("verdict\r\n$2\r\nok\r\n"));
    }
}

/// Permits beyond the range of counts are not granted.
#[test]
fn adjustments_out_of_range_are_refused() {
    let (mut server, client) = server();
    server.ask(client, "SEM.INIT s 9223372036854775807");
    server.ask(client, "SEM.ACQUIRE s a PERMITS 2147483648");
    assert!(!server.ask(client, "SEM.ADJUST s -9223372036854775808").starts_with('-'));
    let before = account(&mut server, client);
    assert_eq!(server.ask(client, "SEM.ADJUST s -5"), "-ERR increment or decrement would overflow\r\n");
    assert_eq!(account(&mut server, client), before);
    let (mut server, client) = self::server();
    server.ask(client, "SEM.INIT s 9223372036854775807");
    server.ask(client, "SEM.ACQUIRE s a PERMITS 5");
    assert_eq!(server.ask(client, "SEM.ADJUST s 5"), "-ERR increment or decrement would overflow\r\n");
    assert_eq!(account(&mut server, client), [i64::MAX - 5, 5, i64::MAX, 0]);
    let (mut server, client) = self::server();
    for line in [
        "SEM.INIT s 9223372036854775807",
        "SEM.ACQUIRE s a PERMITS 9223372036854775807 PX 5",
        "SEM.RELEASE s a PERMITS 1 FORCE",
        "SEM.RELEASE s b PERMITS 1 FORCE",
        "SEM.ADJUST s -9223372036854775808",
    ] {
        server.ask(client, line);
    }
    assert!(server.ask(client, "LOCK.VERIFY").contains("verdict\r\n$2\r\nok\r\n"));
}

/// The remaining lease of an expired permit is none, and the permit has no holder until a client wants it.
#[test]
fn a_permit_with_an_ended_lease_is_not_released() {
    let (mut server, client) = server();
    server.ask(client, "SEM.INIT s 2");
    server.ask(client, "SEM.ACQUIRE s e IDS PX 300");
    server.ask(client, "SEM.ACQUIRE s e IDS PX 3000");
    server.ask(client, "CLOCK.ADVANCE 301");
    for rest in [2699, 1] {
        let told = server.ask(client, "SEM.INFO s");
        let rests: Vec<&str> = told.split("$3\r\nttl\r\n").skip(2).collect();
        let rests: Vec<&str> = rests.iter().map(|text| text.split("\r\n").next().unwrap()).collect();
        assert_eq!(rests, [":0".to_owned(), format!(":{rest}")], "{told}");
        server.ask(client, "CLOCK.ADVANCE 2698");
    }
    let not_held = "-NOTHELD this owner does not hold that many permits\r\n";
    assert_eq!(server.ask(client, "SEM.RELEASE s e"), not_held);
    assert_eq!(account(&mut server, client), [0, 2, 2, 0]);
    // A returned permit that nobody holds counts as an adjustment.
    assert_eq!(server.ask(client, "SEM.RELEASE s e FORCE"), ":1\r\n");
    assert_eq!(account(&mut server, client), [1, 2, 2, 1]);
    assert!(server.ask(client, "SEM.ACQUIRE s f PERMITS 3 IDS").contains("permits"));
    assert_eq!(account(&mut server, client), [0, 3, 2, 1]);
}

/// A permit whose lease is not over is found behind expired ones.
#[test]
fn a_release_returns_the_oldest_permit_with_a_running_lease() {
    let (mut server, client) = server();
    server.ask(client, "SEM.INIT s 2");
    server.ask(client, "SEM.ACQUIRE s e IDS PX 300");
    server.ask(client, "SEM.ACQUIRE s e IDS PX 3000");
    server.ask(client, "CLOCK.ADVANCE 1000");
    assert_eq!(server.ask(client, "SEM.RELEASE s e"), ":1\r\n");
    assert!(server.ask(client, "SEM.RELEASE s e").starts_with("-NOTHELD"));
    assert_eq!(account(&mut server, client), [1, 1, 2, 0]);
}

/// Permits that came back though nobody was seen to hold them stay an adjustment, whatever is taken later.
#[test]
fn permits_added_by_other_commands_stay_an_adjustment() {
    let (mut server, client) = server();
    server.ask(client, "SEM.INIT s 2");
    server.ask(client, "INCR s");
    assert_eq!(account(&mut server, client), [3, 0, 2, 1]);
    server.ask(client, "DECRBY s 2");
    assert_eq!(account(&mut server, client), [1, 2, 2, 1]);
    server.ask(client, "INCRBY s 2");
    assert_eq!(account(&mut server, client), [3, 0, 2, 1]);
    // A lease that appears without a change of the count is held, and comes back once.
    server.ask(client, "ZADD {s}:timeout 9e15 0123456789abcdef");
    assert_eq!(account(&mut server, client), [3, 1, 2, 2]);
    server.ask(client, "ZREM {s}:timeout 0123456789abcdef");
    assert_eq!(account(&mut server, client), [3, 1, 2, 2]);
    // Native commands report their effect themselves.
    server.ask(client, "SEM.ACQUIRE s a PERMITS 2 PX 50");
    server.ask(client, "SEM.ACQUIRE s b IDS PX 50");
    server.ask(client, "SEM.RELEASE s b");
    server.ask(client, "CLOCK.ADVANCE 50");
    assert_eq!(account(&mut server, client), [3, 1, 2, 2]);
}
