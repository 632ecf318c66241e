//! Tests of waits on a whole engine.

use crate::clients::{Outbox, Peer};
use crate::config::Config;
use crate::core::Engine;
use lockwheel_store::time::Now;

fn at(ms: u64) -> Now {
    Now { wall_us: ms as i64 * 1000, monotonic_us: ms * 1000 }
}

/// The limit is in real milliseconds, independent of the manual clock.
#[test]
fn a_wait_without_a_limit_ends_after_five_seconds() {
    for request in [
        "AWAIT.BLOCKED 1",
        "AWAIT.WAITERS k 1",
        "AWAIT.SUBSCRIBERS c 1",
        "AWAIT.CLIENTS 3",
        "AWAIT.CALLS get 1",
        "AWAIT.KEY k EXISTS",
        "AWAIT.IDLE 9000",
    ] {
        let mut engine = Engine::new(Config::default(), 7, at(0));
        engine.begin(at(0));
        let [main, waiter] = [0; 2].map(|_| engine.connect(Peer::default()));
        engine.execute(main, &[b"CLOCK.FREEZE"]);
        let argv: Vec<&[u8]> = request.split(' ').map(str::as_bytes).collect();
        engine.execute(waiter, &argv);
        engine.execute(main, &[b"CLOCK.ADVANCE", b"3600000"]);
        let told = |engine: &mut Engine, ms| {
            engine.begin(at(ms));
            let mut answer = Outbox::default();
            engine.take_output(waiter, &mut answer);
            String::from_utf8_lossy(answer.bytes()).into_owned()
        };
        assert_eq!(told(&mut engine, 4999), "", "{request}");
        assert!(engine.next_deadline().is_some_and(|at_us| (5_000_000..=5_001_000).contains(&at_us)));
        assert_eq!(told(&mut engine, 5001), "$-1\r\n", "{request}");
    }
}
