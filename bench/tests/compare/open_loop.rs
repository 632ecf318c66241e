//! Requests at a rate: a pause of the server counts for all requests that should have been sent during it.

use crate::fake::Fake;
use lockwheel_bench::load::{Arg, Expect, Limit, Load, Order, Plan, Step};
use std::thread;
use std::time::Duration;

/// The length of the single pause of the server.
const PAUSE: Duration = Duration::from_millis(200);

/// Returns the 75th percentile of the latency, in milliseconds.
fn p75_ms(rate: Option<f64>) -> f64 {
    let mut count = 0;
    let fake = Fake::start(move |_| {
        count += 1;
        if count == 20 {
            // There is no manual clock here: the test measures the effect of a real pause.
            thread::sleep(PAUSE);
        }
        b"+PONG\r\n".to_vec()
    });
    let pong = Expect::exact("+PONG\r\n").expect("no placeholder");
    let steps = [Step::new(&[Arg::Text("PING")], pong).expect("no placeholder")];
    let plan = Plan {
        steps: &steps,
        pipeline: 1,
        order: Order::Random { skew: 0.0 },
        keys: 1,
        seed: 1,
        counter: 0,
        limit: Limit { ops: Some(200), time: None },
        rate,
    };
    let outcome =
        Load::connect(fake.addr(), 1, 1, &[]).and_then(|mut load| load.run(&plan)).expect("all is PONG");
    assert!(outcome.ops >= 200);
    outcome.latency.value_at_percentile(75.0) as f64 / 1e6
}

#[test]
fn a_pause_counts_for_all_that_it_kept_waiting() {
    // At 1000 requests a second nearly all of the 180 requests after the pause should have been sent during it. Half of
    // all thus waited for more than 100 ms. A slow machine only adds to that.
    let open = p75_ms(Some(1000.0));
    assert!(open > 100.0, "{open} ms");
}
