//! What SEM.INFO counts: what is left and what is held are always what there was and what was added.

use lockwheel::Config;
use lockwheel_engine::core::Simulation;

/// What SEM.INFO says is left and held, and how many permits there were and were added.
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
fn a_permit_that_is_taken_over_is_held_once() {
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

/// Permits that cannot be counted any more are not given.
#[test]
fn adjustments_at_the_far_end_are_refused() {
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
