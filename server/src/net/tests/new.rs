//! Tests of clients that have just connected.

use super::*;
use lockwheel_engine::clients::Peer;

#[test]
fn changes_during_the_accept_of_a_client_reach_it() {
    for threads in [1, 2, 4] {
        let server = server(threads);
        let mut first = Client::connect(&server);
        assert_eq!(first.ask("FAULT.EXEMPT"), "+OK");
        assert_eq!(first.ask("FAULT.PARTITION ALL"), ":0");
        let loops = shared(&server).clone();
        let heals = AtomicUsize::new(1);
        shared(&server).hooks.set(move |point| {
            if point == Point::Connected && heals.swap(0, Ordering::SeqCst) == 1 {
                loops.with_engine(|engine| {
                    let slot = engine.connect_as(1_000_001, Peer::default());
                    let _done = engine.execute(slot, &[b"FAULT.HEAL"]);
                    engine.disconnect(slot);
                });
            }
        });
        let mut new = Client::connect(&server);
        assert_eq!(new.ask("PING"), "+PONG", "{threads} threads");
        clear_hooks(&server);
    }
}
