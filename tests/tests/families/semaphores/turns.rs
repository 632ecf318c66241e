//! Semaphores and rate limiters on a clock that runs and is advanced.

use lockwheel::Config;
use lockwheel_engine::core::Simulation;
use std::time::Duration;

/// A deadline in this very millisecond is not over while time runs, but an advance counts it: the advance ends the
/// object, and itself ends.
#[test]
fn clock_next_ends_a_lease_of_this_millisecond() {
    for (lines, waits, served) in [
        (["SEM.INIT s 1", "SEM.ACQUIRE s me PX 5"], "SEM.ACQUIRE s you BLOCK 1000", "permits"),
        (["RATE.SET s 1 5", "RATE.ACQUIRE s"], "RATE.ACQUIRE s BLOCK 1000", "*3\r\n:1"),
    ] {
        let mut server = Simulation::new(Config::default(), 7);
        let [client, waiter] = [server.connect(), server.connect()];
        lines.iter().for_each(|line| drop(server.ask(client, line)));
        assert_eq!(server.ask(waiter, waits), "");
        server.pass(Duration::from_millis(5));
        assert_eq!(server.read(waiter), "", "{waits}");
        let turned = server.ask(client, "CLOCK.NEXT");
        assert!(turned.contains("fired\r\n:1\r\n"), "{waits}: {turned}");
        let told = server.read(waiter);
        assert!(told.contains(served), "{waits}: {told}");
    }
}
