//! Real time: a command begins at its own instant, and no timeout ends before its time has passed.

use lockwheel::Server;
use lockwheel_tests::client::Client;
use lockwheel_tests::own_process;
use lockwheel_tests::reply::Reply;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Whole milliseconds of the system's wall clock.
fn wall_ms() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("the epoch is past").as_millis()
}

/// Microseconds of the server's TIME.
fn time_us(reply: &Reply) -> i64 {
    let text = reply.to_string();
    let parts: Vec<i64> = text.split('"').filter_map(|part| part.parse().ok()).collect();
    parts[0] * 1_000_000 + parts[1]
}

fn a_command_behind_a_slow_one_begins_at_its_own_instant() {
    let busy = "local from = os.clock() for i = 1, 3e7 do end return math.floor((os.clock() - from) * 1e6)";
    for threads in [1, 2, 4] {
        let server = Server::builder().port(0).seed(7).threads(threads).start().expect("a server starts");
        let mut client = Client::connect(server.addr());
        let requests: [&[&str]; 8] = [
            &["TIME"],
            &["EVAL", busy, "0"],
            &["TIME"],
            &["SET", "k", "v", "PX", "1000000"],
            &["PEXPIRETIME", "k"],
            &["LOCK.ACQUIRE", "lock", "owner", "PX", "1000000"],
            &["PTTL", "lock"],
            &["GET", "k"],
        ];
        let replies = client.pipeline(&requests.map(|words| words.to_vec()));
        let spent: i64 = replies[1].to_string()[1..].parse().expect("a number");
        let (before, after) = (time_us(&replies[0]), time_us(&replies[2]));
        assert!(after - before >= spent - 1000, "{} us later, but {spent} us were spent", after - before);
        let deadline: i64 = replies[4].to_string()[1..].parse().expect("a number");
        assert!(deadline - 1_000_000 >= after / 1000, "the lease was counted from before the script");
        assert_eq!(replies[7].to_string(), "\"v\"");
    }
}

/// No timeout ends before its time has passed, measured by a clock that the client reads before the request.
fn while_time_runs_no_lease_and_no_wait_is_shorter_than_asked() {
    for threads in [1, 2] {
        let server = Server::builder().port(0).seed(7).threads(threads).start().expect("a server starts");
        let (mut client, mut waiter) = (Client::connect(server.addr()), Client::connect(server.addr()));
        for round in 0..50 {
            let ms = 1 + round % 5;
            let asked = Instant::now();
            client.line(&format!("SET k v PX {ms}"));
            while client.line("GET k").to_string() == "\"v\"" {}
            assert!(asked.elapsed().as_millis() >= ms, "a key was gone after {:?}", asked.elapsed());
            // A client whose clock has whole milliseconds measures the same.
            let (asked, wall) = (Instant::now(), wall_ms());
            assert_eq!(client.line(&format!("BLPOP q 0.00{ms}")).to_string(), "(nil)");
            assert!(asked.elapsed().as_millis() >= ms, "a wait ended after {:?}", asked.elapsed());
            let waited = wall_ms() - wall;
            assert!(waited > ms, "a wait of {ms} ms took {waited} ms of the wall's");
            let asked = Instant::now();
            client.line(&format!("LOCK.ACQUIRE lock first PX {ms}"));
            assert!(waiter.line("LOCK.ACQUIRE lock next BLOCK 0").to_string().contains("token"));
            assert!(asked.elapsed().as_millis() >= ms, "a lock went on after {:?}", asked.elapsed());
            assert_eq!(waiter.line("LOCK.RELEASE lock next").to_string(), ":0");
        }
    }
}

/// The scripts run one after the other: a script's `os.clock` counts the time of the whole process.
#[test]
fn a_command_has_its_own_instant_and_nothing_ends_early() {
    if !own_process::is_of("instants::a_command_has_its_own_instant_and_nothing_ends_early") {
        return;
    }
    a_command_behind_a_slow_one_begins_at_its_own_instant();
    while_time_runs_no_lease_and_no_wait_is_shorter_than_asked();
}
