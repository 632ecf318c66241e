//! `LOCK.STATS`: statistics about the use of locks.

use lockwheel_engine::config::Config;
use lockwheel_engine::core::Simulation;

fn server() -> (Simulation, [u64; 3]) {
    let mut server = Simulation::new(Config::default(), 7);
    let clients @ [main, ..] = [0; 3].map(|_| server.connect());
    server.ask(main, "CLOCK.FREEZE");
    server.ask(main, "CONFIG SET lock-history yes");
    (server, clients)
}

/// The figures, as `name=value`.
fn stats(server: &mut Simulation, client: u64, options: &str) -> String {
    let reply = server.ask(client, &format!("LOCK.STATS {options}"));
    let mut words = reply.split("\r\n").skip(1).filter(|line| !line.starts_with('$') || *line == "$-1");
    let mut text = String::new();
    while let (Some(name), Some(value)) = (words.next(), words.next()) {
        let value = if value == "$-1" { "none" } else { value.trim_start_matches(':') };
        text += &format!("{name}={value} ");
    }
    text.trim_end().to_owned()
}

#[test]
fn holds_and_waits_are_counted_and_measured() {
    let (mut server, [main, one, two]) = server();
    server.ask(main, "LOCK.ACQUIRE l a");
    server.send(one, "LOCK.ACQUIRE l b BLOCK 0");
    server.send(two, "LOCK.ACQUIRE l c BLOCK 50");
    server.ask(main, "CLOCK.ADVANCE 100");
    server.ask(main, "LOCK.RELEASE l a");
    server.ask(main, "CLOCK.ADVANCE 40");
    server.ask(main, "LOCK.ACQUIRE l b");
    server.ask(main, "LOCK.RELEASE l b");
    server.ask(main, "LOCK.RELEASE l b");
    server.ask(main, "LOCK.ACQUIRE other d");
    assert_eq!(
        stats(&mut server, main, "KEY l"),
        "since=0 truncated=0 holds=2 waits=2 hand-offs=1 timeouts=1 commands=7 commands-per-hand-off=7 wait-p50=100 \
         wait-p99=100 hold-p50=40 hold-p99=100"
    );
    assert!(stats(&mut server, main, "").contains("holds=3 waits=2 hand-offs=1 timeouts=1 commands=8"));
    let none = "holds=0 waits=0 hand-offs=0 timeouts=0 commands=0 commands-per-hand-off=none wait-p50=none \
                wait-p99=none hold-p50=none hold-p99=none";
    assert!(stats(&mut server, main, "KEY nothing").ends_with(none));
    assert!(stats(&mut server, main, "RESET KEY other").contains("holds=1 "));
    assert!(stats(&mut server, main, "").ends_with(none));
    server.ask(main, "LOCK.ACQUIRE x d SHARED");
    assert!(stats(&mut server, main, "").contains("holds=1 "));
    server.ask(main, "CONTROL.RESET KEEPCLIENTS");
    assert!(server.ask(main, "LOCK.STATS").starts_with("-ERR the history of locks is off"));
    server.ask(main, "CONFIG SET lock-history yes");
    assert!(stats(&mut server, main, "").starts_with("since=0 truncated=0 holds=0"));
}

/// The server's own actions for a live connection are no request, and not another client's either.
#[test]
fn renewals_of_a_session_are_no_commands() {
    let (mut server, [main, one, _]) = server();
    server.ask(one, "LOCK.ACQUIRE l a SESSION PX 3000");
    server.ask(main, "CLOCK.ADVANCE 10000");
    assert!(stats(&mut server, main, "").contains(" commands=1 "), "{}", stats(&mut server, main, ""));
    let history = server.ask(main, "LOCK.HISTORY KEY l FORMAT JSON");
    let renewals = history.matches("\"event\":\"renewed\"").count();
    assert_eq!(renewals, 10, "{history}");
    assert_eq!(history.matches("\"by\":\"lock.acquire\"").count(), 1, "{history}");
    assert!(!history.contains("clock.advance"), "{history}");
}

#[test]
fn a_native_hand_off_takes_fewer_requests_than_one_of_redisson() {
    let (mut server, [main, one, two]) = server();
    server.ask(main, "LOCK.ACQUIRE l o0");
    for n in 0..20 {
        let waiter = if n % 2 == 0 { one } else { two };
        server
            .send(waiter, &format!("LOCK.ACQUIRE l o{} BLOCK 0 EXCLUSIVE", n + 1).replace(" EXCLUSIVE", ""));
        server.ask(main, &format!("LOCK.RELEASE l o{n}"));
        assert!(server.read(waiter).contains("token"));
    }
    // One more request, the first of all.
    assert!(stats(&mut server, main, "RESET").contains("hand-offs=20 timeouts=0 commands=41"));
    let owner = "8743c9c0-0795-4907-87fd-6c719a6b4586:1";
    let lock = "if redis.call('exists', KEYS[1]) == 0 then redis.call('hincrby', KEYS[1], ARGV[2], 1) \
                redis.call('pexpire', KEYS[1], ARGV[1]) return nil end return redis.call('pttl', KEYS[1])";
    let request = format!("EVAL \"{lock}\" 1 l 30000 {owner}");
    assert!(server.ask(one, &request).starts_with(':'));
    server.ask(two, "SUBSCRIBE redisson_lock__channel:{l}");
    assert!(server.ask(one, &request).starts_with(':'));
    server.ask(main, "CLOCK.ADVANCE 9");
    server.ask(main, "LOCK.RELEASE l o20");
    assert_eq!(server.ask(one, &request), "$-1\r\n");
    server.ask(two, "UNSUBSCRIBE redisson_lock__channel:{l}");
    let told = stats(&mut server, main, "");
    assert!(
        told.contains("waits=1 hand-offs=1 timeouts=0 commands=6 commands-per-hand-off=6 wait-p50=9"),
        "{told}"
    );
}

#[test]
fn lock_stats_refuses_invalid_requests() {
    let (mut server, [main, ..]) = server();
    for line in ["LOCK.STATS RESET RESET", "LOCK.STATS KEY", "LOCK.STATS KEY a KEY b", "LOCK.STATS FOO"] {
        assert!(server.ask(main, line).starts_with("-ERR syntax error: "), "{line}");
    }
    server.ask(main, "CONFIG SET lock-history-max 4");
    for n in 0..9 {
        server.ask(main, &format!("LOCK.ACQUIRE l{n} a"));
    }
    assert!(stats(&mut server, main, "").starts_with("since=0 truncated=1 holds=4"));
}
