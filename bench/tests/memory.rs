//! Tests of the memory of this process, with the allocator of the server: the cost of a key, and its return.

use lockwheel_bench::stream::{Client, request};
use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

const LOCKS: usize = 200_000;
/// A safety net, for memory that never comes back.
const MAX_WAIT: Duration = Duration::from_secs(60);

fn resident() -> usize {
    let status = fs::read_to_string("/proc/self/status").expect("the system tells");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("there is such a line");
    line.trim().trim_end_matches(" kB").parse::<usize>().expect("a number") * 1024
}

/// Sets locks of one field as Redisson names it, each with a deadline.
fn take_locks(client: &mut Client, lease_ms: &str) {
    for chunk in 0..LOCKS / 100 {
        let requests = (0..100).flat_map(|n| {
            let lock = format!("lock:{:012}", chunk * 100 + n);
            let held = request(&["HSET", &lock, "8743c9c0-0795-4907-87fd-6c719a6b4586:1", "1"]);
            [held, request(&["PEXPIRE", &lock, lease_ms])].concat()
        });
        let answers = client.send(&requests.collect::<Vec<u8>>());
        assert_eq!(answers.len(), 200 * b":1\r\n".len(), "{}", answers.escape_ascii());
    }
}

/// Waits until the allocator has given back all memory, except for a few MiB.
fn wait_until_back(before: usize, after: &str) {
    let start = Instant::now();
    while resident() > before + (6 << 20) {
        assert!(start.elapsed() < MAX_WAIT, "{} bytes more than before, after {after}", resident() - before);
        sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_lock_takes_few_bytes_and_gives_them_back() {
    let mut client = Client::new();
    let before = resident();
    take_locks(&mut client, "1000000");
    let each = (resident() - before) / LOCKS;
    assert!(each <= 140, "{each} bytes a lock");
    client.send(&request(&["FLUSHALL"]));
    // Flushed data is freed at the next request, since no other thread has taken it.
    client.send(&request(&["PING"]));
    wait_until_back(before, "FLUSHALL");
    take_locks(&mut client, "1");
    // Each request moves the clock by a fraction of a millisecond.
    (0..100).for_each(|_| assert_eq!(client.send(&request(&["PING"])), b"+PONG\r\n"));
    assert_eq!(client.send(&request(&["DBSIZE"])), b":0\r\n");
    wait_until_back(before, "expiry");
}
