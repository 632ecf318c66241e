//! The options of `LOCK.MACQUIRE`: each applies to all of its locks.

use super::sessions::close;
use lockwheel_engine::config::Config;
use lockwheel_engine::core::Simulation;

/// A server on frozen clocks, a client that controls it, and one that sends requests.
fn server() -> (Simulation, u64, u64) {
    let mut server = Simulation::new(Config::default(), 7);
    let [main, client] = [server.connect(), server.connect()];
    server.ask(main, "CLOCK.FREEZE");
    (server, main, client)
}

/// Returns the output of this command for both locks.
fn both(server: &mut Simulation, main: u64, command: &str) -> [String; 2] {
    ["x", "y"].map(|key| server.ask(main, &command.replace("{}", key)))
}

fn twice(text: &str) -> [String; 2] {
    [text.to_owned(), text.to_owned()]
}

#[test]
fn lease_layout_and_mode_apply_to_each_lock() {
    for (options, shows, shown) in [
        ("EX 5", "PTTL {}", ":5000\r\n"),
        ("PX 70", "PTTL {}", ":70\r\n"),
        ("LAYOUT STRING", "GET {}", "$1\r\na\r\n"),
        ("LAYOUT HASH", "HGETALL {}", "*2\r\n$1\r\na\r\n$1\r\n1\r\n"),
        ("SHARED", "HMGET {} mode a", "*2\r\n$4\r\nread\r\n$1\r\n1\r\n"),
        ("SHARED PX 70", "PTTL {{}}:a:rwlock_timeout:1", ":70\r\n"),
        ("EXCLUSIVE", "HMGET {} mode a:write", "*2\r\n$5\r\nwrite\r\n$1\r\n1\r\n"),
        ("FENCED", "GET redisson_lock_token:{{}}", "$1\r\n1\r\n"),
    ] {
        let (mut server, main, client) = server();
        assert!(
            server.ask(client, &format!("LOCK.MACQUIRE 2 x y a {options}")).contains("tokens"),
            "{options}"
        );
        assert_eq!(both(&mut server, main, shows), twice(shown), "{options}");
        assert_eq!(server.ask(client, "LOCK.MRELEASE 2 x y a"), "*2\r\n:0\r\n:0\r\n", "{options}");
        assert_eq!(both(&mut server, main, "EXISTS {}"), twice(":0\r\n"), "{options}");
    }
}

#[test]
fn a_limit_reached_by_one_lock_refuses_all_locks() {
    let (mut server, main, client) = server();
    server.ask(client, "LOCK.ACQUIRE y a");
    for (options, error) in [
        ("NOREENTER", "-REENTRANT this owner already holds the lock\r\n"),
        ("MAXHOLDS 1", "-HOLDLIMIT this owner already holds the lock 1 time"),
    ] {
        let told = server.ask(client, &format!("LOCK.MACQUIRE 2 x y a {options}"));
        assert!(told.starts_with(error), "{told}");
        assert_eq!(server.ask(main, "EXISTS x"), ":0\r\n");
    }
    assert!(server.ask(client, "LOCK.MACQUIRE 2 x y a MAXHOLDS 2").contains("tokens"));
    assert_eq!(server.ask(main, "HGET y a"), "$1\r\n2\r\n");
}

#[test]
fn macquire_raises_the_highest_token_of_a_fenced_resource() {
    let (mut server, main, client) = server();
    server.ask(client, "LOCK.MACQUIRE 2 x y a FENCE disk");
    assert_eq!(server.ask(main, "LOCK.FENCE disk 1"), "-STALE token 1 is below the highest token 2\r\n");
    assert_eq!(server.ask(main, "LOCK.FENCE disk 2"), "+OK\r\n");
    // One resource takes tokens of one source; the request then takes nothing.
    server.ask(client, "LOCK.MRELEASE 2 x y a");
    assert!(server.ask(client, "LOCK.MACQUIRE 2 x y a FENCE disk FENCED").starts_with("-ERR"));
    assert_eq!(server.ask(main, "EXISTS x y redisson_lock_token:{x}"), ":0\r\n");
}

#[test]
fn data_and_delay_apply_to_each_lock() {
    let (mut server, main, client) = server();
    server.ask(client, "LOCK.MACQUIRE 2 x y a PX 100 DELAY 50 DATA here");
    let data =
        both(&mut server, main, "LOCK.INFO {}").map(|info| info.contains("$4\r\ndata\r\n$4\r\nhere\r\n"));
    assert_eq!(data, [true, true]);
    let told = server.ask(main, "LOCK.MACQUIRE 2 w y b GETHOLDER");
    for part in ["$3\r\nkey\r\n$1\r\ny\r\n", "$6\r\nholder\r\n$1\r\na\r\n", "$4\r\ndata\r\n$4\r\nhere\r\n"] {
        assert!(told.contains(part), "{told}");
    }
    server.ask(main, "CLOCK.ADVANCE 100");
    assert_eq!(both(&mut server, main, "PTTL {}"), twice(":50\r\n"));
    assert_eq!(server.ask(main, "LOCK.MACQUIRE 2 x y b"), "$-1\r\n");
    server.ask(main, "CLOCK.ADVANCE 50");
    assert!(server.ask(main, "LOCK.MACQUIRE 2 x y b").contains("tokens"));
}

#[test]
fn a_session_releases_all_locks_on_disconnect() {
    let (mut server, main, client) = server();
    let waiter = server.connect();
    server.ask(client, "LOCK.MACQUIRE 2 x y a SESSION PX 300");
    server.send(waiter, "LOCK.MACQUIRE 2 y x b BLOCK 0");
    server.ask(main, "CLOCK.ADVANCE 86400000");
    assert_eq!(server.read(waiter), "");
    close(&mut server, client);
    assert!(server.read(waiter).contains("tokens"));
}
