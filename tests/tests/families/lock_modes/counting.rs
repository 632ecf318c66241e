//! The cost of a hand-over with a thousand waiters: the clients that it wakes, and the number of requests that it
//! retries.

use lockwheel::Config;
use lockwheel_engine::core::Simulation;

const MANY: usize = 1_000;

/// A server, a holder, and waiters.
struct Crowd {
    server: Simulation,
    main: u64,
}

impl Crowd {
    fn new() -> Self {
        let mut server = Simulation::new(Config::default(), 7);
        let main = server.connect();
        server.ask(main, "CLOCK.FREEZE");
        Crowd { server, main }
    }

    /// Connects a client that sends a request and waits. Returns its id.
    fn wait(&mut self, line: &str) -> u64 {
        let client = self.server.connect();
        let told = self.server.ask(client, line);
        assert_eq!(told, "", "{line} waits");
        client
    }

    /// Checks the answer to another client's request, the number of woken clients, and the number of retried requests.
    #[track_caller]
    fn check(&mut self, line: &str, answer: &str, woken: usize, retried: usize) {
        let before = self.counted();
        let told = self.server.ask(self.main, line);
        assert!(told.starts_with(answer), "{line}: {told}");
        let after = self.counted();
        let told = (after.0 - before.0, after.1 - before.1);
        assert_eq!(told, (woken as u64, retried as u64), "{line}: woken and retried");
    }

    /// The time at which Redisson would give up an owner that waits for the fair lock `f`.
    fn ends_ms(&mut self, owner: &str) -> i64 {
        let told = self.server.ask(self.main, &format!("ZSCORE redisson_lock_timeout:{{f}} {owner}"));
        told.lines().nth(1).and_then(|score| score.parse().ok()).unwrap_or_else(|| panic!("{owner}: {told}"))
    }

    fn counted(&self) -> (u64, u64) {
        (self.server.engine().unblocked_clients(), self.server.engine().retried_requests())
    }
}

/// A writer lets a thousand readers in: each is retried once, and apart from them only the writer behind them. Each
/// leaving reader makes the writer retry, and the last one lets it in.
#[test]
fn a_batch_of_readers_is_retried_once() {
    let mut crowd = Crowd::new();
    crowd.check("LOCK.ACQUIRE l writer EXCLUSIVE", "*10", 0, 0);
    for n in 0..MANY {
        crowd.wait(&format!("LOCK.ACQUIRE l r{n} SHARED BLOCK 0"));
    }
    crowd.wait("LOCK.ACQUIRE l next EXCLUSIVE BLOCK 0");
    for n in 0..MANY {
        crowd.wait(&format!("LOCK.ACQUIRE l s{n} SHARED BLOCK 0"));
    }
    crowd.check("LOCK.RELEASE l writer", ":0", MANY, MANY + 2);
    for n in 1..MANY {
        crowd.check(&format!("LOCK.RELEASE l r{n}"), ":0", 0, 1);
    }
    crowd.check("LOCK.RELEASE l r0", ":0", 1, 3);
    crowd.check("LOCK.RELEASE l next", ":0", MANY, MANY);
}

/// A waiting conversion stands before all others: it alone is retried until it is served.
#[test]
fn only_a_waiting_conversion_is_retried_before_many_waiters() {
    let mut crowd = Crowd::new();
    for owner in ["a", "b", "c"] {
        crowd.check(&format!("LOCK.ACQUIRE l {owner} SHARED"), "*10", 0, 0);
    }
    for n in 0..MANY {
        let mode = if n % 2 == 0 { "EXCLUSIVE" } else { "SHARED" };
        crowd.wait(&format!("LOCK.ACQUIRE l w{n} {mode} BLOCK 0"));
    }
    crowd.wait("LOCK.CONVERT l a EXCLUSIVE BLOCK 0");
    crowd.check("LOCK.RELEASE l b", ":0", 0, 1);
    crowd.check("LOCK.RELEASE l c", ":0", 1, 3);
    // The owner continues to read, so that nobody else can write.
    crowd.check("LOCK.RELEASE l a EXCLUSIVE", ":0", 0, 1);
    crowd.check("LOCK.RELEASE l a", ":0", 1, 3);
    crowd.check("LOCK.RELEASE l w0", ":0", 1, 3);
}

/// A fair lock and a semaphore behave alike: one waiter is served, and one more is retried. The queue of a fair lock
/// stands in a key of its own, whose change also retries the next waiter.
#[test]
fn fair_locks_and_semaphores_retry_one_more_waiter() {
    let mut crowd = Crowd::new();
    crowd.check("LOCK.ACQUIRE f holder FAIR", "*10", 0, 0);
    crowd.check("SEM.INIT s 1", ":1", 0, 0);
    crowd.check("SEM.ACQUIRE s holder", "*10", 0, 0);
    for n in 0..MANY {
        crowd.wait(&format!("LOCK.ACQUIRE f w{n} FAIR BLOCK 0"));
        crowd.wait(&format!("SEM.ACQUIRE s w{n} BLOCK 0"));
    }
    let mut holder = "holder".to_owned();
    let last = format!("w{}", MANY - 1);
    let before = crowd.ends_ms(&last);
    for n in 0..10 {
        crowd.check(&format!("LOCK.RELEASE f {holder}"), ":0", 1, 4);
        crowd.check(&format!("SEM.RELEASE s {holder}"), ":1", 1, 3);
        holder = format!("w{n}");
    }
    // Each grant takes one waiter's time off the later ones, as Redisson's script does.
    assert_eq!(crowd.ends_ms(&last), before - 10 * 300_000);
    assert_eq!(
        crowd.server.ask(crowd.main, "ZCARD redisson_lock_timeout:{f}"),
        format!(":{}\r\n", MANY - 10)
    );
    // So does a head that gives up; a waiter in the middle takes its time off the later ones only.
    let (second, third) = (crowd.ends_ms("w11"), crowd.ends_ms("w12"));
    crowd.check("LOCK.CANCEL f w10", ":1", 0, 2);
    assert_eq!((crowd.ends_ms("w11"), crowd.ends_ms(&last)), (second - 300_000, before - 11 * 300_000));
    crowd.check("LOCK.CANCEL f w11", ":1", 0, 2);
    crowd.check("LOCK.CANCEL f w500", ":1", 0, 2);
    assert_eq!(crowd.ends_ms("w12"), third - 2 * 300_000);
    assert_eq!(crowd.ends_ms(&last), before - 13 * 300_000);
}
