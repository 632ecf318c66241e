//! Semaphores, latches and rates in LOCK.INFO and the rest of the server, and commands of one kind on keys of another.

use lockwheel_tests::client::Client;
use lockwheel_tests::ours;

#[test]
fn lock_info_shows_waiters_for_keys_that_are_no_locks() {
    let mut s = ours::manual_scenario();
    s.run("SEM.INIT k 0");
    s.run("LATCH.SET l 1");
    s.run("RATE.SET r 1 100");
    s.run("RATE.ACQUIRE r");
    for (key, line, owner) in [
        ("k", "SEM.ACQUIRE k a BLOCK 0", "\"a\""),
        ("l", "LATCH.AWAIT l BLOCK 0", "(nil)"),
        ("r", "RATE.ACQUIRE r BLOCK 0", "(nil)"),
    ] {
        s.on(key).send(line);
        s.check(&format!("AWAIT.WAITERS {key} 1"), ":1");
        s.check_that(&format!("LOCK.INFO {key}"), |reply| {
            let text = reply.to_string().replace("\": ", "\", ").replace('{', "[");
            text.contains(r#""mode", "none", "layout", "none""#)
                && text.contains(r#""holders", []"#)
                && text
                    .contains(&format!(r#""waiters", [["owner", {owner}, "mode", (nil), "kind", "native","#))
        });
    }
}

#[test]
fn a_lock_is_no_semaphore_and_a_semaphore_is_no_lock() {
    let mut s = ours::manual_scenario();
    let wrong_type = "-WRONGTYPE Operation against a key holding the wrong kind of value";
    s.run("LOCK.ACQUIRE lock a");
    for line in ["SEM.INIT lock 3 FORCE", "SEM.ACQUIRE lock a", "LATCH.SET lock 1", "CL.THROTTLE lock 1 1 1"]
    {
        s.check(line, wrong_type);
    }
    s.run("SEM.INIT k 3");
    s.check("LOCK.ACQUIRE k a", wrong_type).check("RATE.SET k 1 1", wrong_type);
    s.check("LOCK.RELEASE lock a", ":0");
}

/// Clients close while they wait, at every position of the queue: nobody behind them is stranded, and no closed client
/// is served.
#[test]
fn the_others_are_served_when_any_waiter_closes() {
    for line in [
        "SEM.ACQUIRE k w BLOCK 0",
        "SEM.ACQUIRE k w IDS BLOCK 0",
        "RATE.ACQUIRE k BLOCK 0",
        "LATCH.AWAIT k BLOCK 0",
    ] {
        let (init, open) = match line {
            _ if line.starts_with("SEM") => ("SEM.INIT k 0", "SEM.ADJUST k 1"),
            _ if line.starts_with("RATE") => ("RATE.SET k 1 10", "CLOCK.ADVANCE 10"),
            _ => ("LATCH.SET k 1", "LATCH.COUNTDOWN k"),
        };
        for closed in 0..4 {
            let server = ours::manual_server();
            let mut main = Client::connect(server.addr());
            main.line(init);
            if line.starts_with("RATE") {
                main.line("RATE.ACQUIRE k");
            }
            let mut waiters: Vec<Client> = (0..4).map(|_| Client::connect(server.addr())).collect();
            for (n, waiter) in waiters.iter_mut().enumerate() {
                waiter.send_line(line);
                assert_eq!(main.line(&format!("AWAIT.WAITERS k {}", n + 1)).to_string(), ":1");
            }
            waiters.remove(closed).close();
            for mut waiter in waiters {
                main.line(open);
                let reply = waiter.read_reply();
                assert!(!reply.is_error() && reply.to_string() != "(nil)", "{line}, {closed}: {reply}");
            }
            assert_eq!(main.line("AWAIT.BLOCKED 0 EXACT").to_string(), ":1");
        }
    }
}
