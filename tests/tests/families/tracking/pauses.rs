//! CLIENT PAUSE: the clients that are held, the time, and the order in which they continue. On a manual clock.

use lockwheel::{Config, Time};
use lockwheel_engine::core::Simulation;

use crate::tracking::leave;

/// A server on a manual clock, and some clients.
fn server<const N: usize>() -> (Simulation, [u64; N]) {
    let mut config = Config::default();
    config.time = Time::Manual;
    let mut server = Simulation::new(config, 7);
    let clients = [0; N].map(|_| server.connect());
    (server, clients)
}

#[test]
fn a_write_pause_holds_writes_and_no_reads() {
    let (mut server, [steer, client, other]) = server();
    server.ask(steer, "SCRIPT LOAD \"#!lua flags=no-writes\\nreturn 2\"");
    let load = "FUNCTION LOAD \"#!lua name=l\\nredis.register_function{function_name='reads', callback=function() \
                return 1 end, flags={'no-writes'}} redis.register_function('f', function() return 1 end)\"";
    assert_eq!(server.ask(steer, load), "$1\r\nl\r\n");
    server.ask(steer, "CLIENT PAUSE 1000 WRITE");
    for line in [
        "GET k",
        "PING",
        "SCRIPT LOAD \"return 1\"",
        "EVAL \"#!lua flags=no-writes\\nreturn 1\" 0",
        "EVAL_RO \"return 1\" 0",
        "EVALSHA_RO e0e1f9fabfc9d4800c877a703b823ac0578ff8db 0",
        "EVALSHA ae33f9227913b24d053a555637f98260b23bd3a3 0",
        "FCALL reads 0",
        "WAIT 0 0",
        "SET k",
        "NOSUCH",
        "CONFIG SET maxmemory 0",
        "LOCK.INFO l",
        "XREAD STREAMS s 0",
        "SORT_RO k",
    ] {
        assert_ne!(server.ask(client, line), "", "{line}");
    }
    for line in [
        "SET k 1",
        "PFCOUNT h",
        "PUBLISH c m",
        "SPUBLISH c m",
        "EVAL \"return 1\" 0",
        "EVAL \"#!lua\\nreturn 1\" 0",
        "EVAL \"#!nothing\\nreturn 1\" 0",
        "EVALSHA abc 0",
        "EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 0",
        "FCALL f 0",
        "FCALL nothing 0",
        "FLUSHALL",
        "LOCK.ACQUIRE l o PX 1000",
        "SORT k STORE l",
        "BLPOP l 1",
        "GETEX k",
    ] {
        let held = server.connect();
        assert_eq!(server.ask(held, line), "", "{line}");
        leave(&mut server, held);
    }
    assert_eq!(server.ask(other, "MULTI"), "+OK\r\n");
    assert_eq!(server.ask(other, "GET k"), "+QUEUED\r\n");
    assert_eq!(server.ask(other, "EXEC"), "*1\r\n$-1\r\n");
}

#[test]
fn a_write_pause_holds_transactions_with_writes() {
    let (mut server, [steer, writes, declared, late]) = server();
    for client in [writes, declared] {
        server.ask(client, "MULTI");
    }
    server.ask(writes, "SET k 1");
    server.ask(declared, "EVAL \"#!lua flags=no-writes\\nreturn 12\" 0");
    server.ask(steer, "CLIENT PAUSE 1000 WRITE");
    assert_eq!(server.ask(writes, "EXEC"), "");
    assert_eq!(server.ask(declared, "EXEC"), "*1\r\n:12\r\n");
    server.ask(late, "MULTI");
    assert_eq!(server.ask(late, "SET k 2"), "", "before it is queued");
    server.ask(steer, "CLIENT UNPAUSE");
    assert_eq!(server.read(writes), "*1\r\n+OK\r\n");
    assert_eq!(server.read(late), "+QUEUED\r\n");
}

#[test]
fn a_pause_holds_requests_except_clock_advances_and_keeps_their_order() {
    let (mut server, [steer, one, two, three]) = server();
    server.ask(steer, "CLIENT PAUSE 1000");
    server.send(one, "RPUSH l 1");
    server.send(one, "RPUSH l 4");
    server.send(two, "RPUSH l 2");
    server.send(three, "LLEN l");
    server.send(two, "PING");
    assert_eq!(server.ask(steer, "PING"), "");
    assert!(server.ask(three, "CLOCK.NOW").is_empty(), "behind a request that is held");
    let turner = server.connect();
    assert!(server.ask(turner, "CLOCK.ADVANCE 999").contains(":0"), "nothing fires");
    assert_eq!([one, two, three].map(|client| server.read(client)), ["", "", ""]);
    server.ask(turner, "CLOCK.ADVANCE 1");
    assert_eq!(server.read(steer), "+PONG\r\n");
    assert_eq!(server.read(one), ":1\r\n:3\r\n");
    assert_eq!(server.read(two), ":2\r\n+PONG\r\n");
    assert!(server.read(three).starts_with(":2\r\n"));
    assert_eq!(server.ask(turner, "LRANGE l 0 -1"), "*3\r\n$1\r\n1\r\n$1\r\n2\r\n$1\r\n4\r\n");
}

#[test]
fn two_pauses_combine_to_the_later_end_and_the_stricter_kind() {
    let (mut server, [steer, reader, writer]) = server();
    server.ask(steer, "CLIENT PAUSE 1000 WRITE");
    server.ask(steer, "CLIENT PAUSE 10 ALL");
    assert_eq!(server.ask(reader, "GET k"), "");
    assert_eq!(server.ask(writer, "SET k v"), "");
    let turner = server.connect();
    server.ask(turner, "CLOCK.ADVANCE 999");
    assert_eq!(server.read(reader), "");
    server.ask(turner, "CLOCK.ADVANCE 1");
    assert_eq!(server.read(reader), "$-1\r\n");
    assert_eq!(server.read(writer), "+OK\r\n");
}

#[test]
fn client_pause_checks_its_time() {
    let (mut server, [client]) = server();
    for (line, answer) in [
        ("CLIENT PAUSE x", "-ERR timeout is not an integer or out of range\r\n"),
        ("CLIENT PAUSE 1.5", "-ERR timeout is not an integer or out of range\r\n"),
        ("CLIENT PAUSE 9223372036854775808", "-ERR timeout is not an integer or out of range\r\n"),
        ("CLIENT PAUSE -1", "-ERR timeout is negative\r\n"),
        ("CLIENT PAUSE 10 some", "-ERR CLIENT PAUSE mode must be WRITE or ALL\r\n"),
        ("CLIENT UNPAUSE", "+OK\r\n"),
        ("CLIENT PAUSE 0", "+OK\r\n"),
        ("CONTROL.RESET", "+OK\r\n"),
        ("CLIENT PAUSE 9223372036854775000 WRITE", "-ERR timeout is out of range\r\n"),
        ("CLIENT PAUSE 9223370000000000000 WRITE", "+OK\r\n"),
        ("CLIENT UNPAUSE", "+OK\r\n"),
        ("PING", "+PONG\r\n"),
    ] {
        assert_eq!(server.ask(client, line), answer, "{line}");
    }
}

#[test]
fn keys_stay_while_clients_are_paused() {
    let (mut server, [steer, reader, waiter]) = server();
    server.ask(steer, "MSET k v j v");
    server.ask(steer, "PEXPIRE k 10");
    server.ask(steer, "PEXPIRE j 10");
    server.ask(steer, "CLIENT PAUSE 1000 WRITE");
    server.ask(steer, "CLOCK.ADVANCE 500");
    let expired = |server: &mut Simulation| {
        let info = server.ask(steer, "INFO stats");
        info.lines().find(|line| line.starts_with("expired_keys")).map(str::to_owned)
    };
    assert_eq!(server.ask(reader, "GET k"), "$-1\r\n");
    assert_eq!(server.ask(reader, "DBSIZE"), ":0\r\n");
    assert_eq!(server.ask(reader, "MGET k j"), "*2\r\n$-1\r\n$-1\r\n");
    assert_eq!(server.ask(reader, "EVAL_RO \"return redis.call('exists', 'k')\" 0"), ":0\r\n");
    assert_eq!(expired(&mut server).as_deref(), Some("expired_keys:0"));
    server.ask(waiter, "SET k new NX");
    server.ask(steer, "CLOCK.ADVANCE 500");
    assert_eq!(server.read(waiter), "+OK\r\n");
    assert_eq!(server.ask(reader, "GET k"), "$3\r\nnew\r\n");
    assert_eq!(expired(&mut server).as_deref(), Some("expired_keys:2"));
}

/// A transaction's writes behind its own CLIENT PAUSE are executed.
#[test]
fn a_pause_in_a_transaction_begins_after_it() {
    let (mut server, [steer, other, waiter]) = server();
    server.send(waiter, "BLPOP l 0");
    server.ask(steer, "SET due v PX 10");
    server.ask(steer, "MULTI");
    server.ask(steer, "CLIENT PAUSE 1000 WRITE");
    server.ask(steer, "RPUSH l x");
    server.ask(steer, "SET due new");
    assert_eq!(server.ask(steer, "EXEC"), "*3\r\n+OK\r\n:1\r\n+OK\r\n");
    assert_eq!(server.read(waiter), "*2\r\n$1\r\nl\r\n$1\r\nx\r\n");
    assert_eq!(server.ask(other, "SET k v"), "");
    assert_eq!(server.ask(steer, "GET due"), "$3\r\nnew\r\n");
}

#[test]
fn a_paused_client_can_be_killed_but_not_unblocked() {
    let (mut server, [steer, one, two]) = server();
    server.ask(steer, "CLIENT PAUSE 1000 WRITE");
    server.send(one, "SET k 1");
    server.send(two, "SET k 2");
    let info = server.ask(steer, "INFO clients");
    assert!(info.contains("blocked_clients:2"), "{info}");
    assert!(server.ask(steer, "CLIENT LIST").contains("flags=b "));
    assert_eq!(server.ask(steer, &format!("CLIENT UNBLOCK {one}")), ":0\r\n");
    assert_eq!(server.ask(steer, &format!("CLIENT UNBLOCK {one} ERROR")), ":0\r\n");
    assert_eq!(server.ask(steer, &format!("CLIENT KILL ID {one}")), ":1\r\n");
    assert!(!server.is_connected(one));
    leave(&mut server, two);
    assert!(server.ask(steer, "INFO clients").contains("blocked_clients:0"));
    server.ask(steer, "CLIENT UNPAUSE");
    assert_eq!(server.ask(steer, "EXISTS k"), ":0\r\n");
}

#[test]
fn a_reset_ends_a_pause() {
    let (mut server, [steer, one, two]) = server();
    server.ask(steer, "CLIENT PAUSE 100000");
    server.send(one, "SET k 1");
    assert_eq!(server.ask(two, "CONTROL.RESET KEEPCLIENTS"), "+OK\r\n");
    assert_eq!(server.read(one), "+OK\r\n");
    assert_eq!(server.ask(steer, "GET k"), "$1\r\n1\r\n");
    server.ask(steer, "CLIENT PAUSE 100000");
    server.send(one, "SET k 1");
    assert_eq!(server.ask(two, "CONTROL.RESET"), "+OK\r\n");
    assert!(!server.is_connected(one));
    assert_eq!(server.ask(two, "EXISTS k"), ":0\r\n");
}

/// The first client that continues pauses the others again: they keep their order.
#[test]
fn a_resumed_client_may_pause_the_others_again() {
    let (mut server, [steer, first, second, third]) = server();
    server.ask(steer, "CLIENT PAUSE 1000");
    server.send(first, "CLIENT PAUSE 500");
    server.send(second, "RPUSH l 2");
    server.send(third, "RPUSH l 3");
    let turner = server.connect();
    server.ask(turner, "CLOCK.ADVANCE 1000");
    assert_eq!([first, second, third].map(|client| server.read(client)), ["+OK\r\n", "", ""]);
    server.ask(turner, "CLOCK.ADVANCE 500");
    assert_eq!([second, third].map(|client| server.read(client)), [":1\r\n", ":2\r\n"]);
}
