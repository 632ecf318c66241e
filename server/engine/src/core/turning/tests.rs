//! A turn that panics on its way.

use crate::clients::{Closing, Outbox, Peer, Slot};
use crate::config::{Config, HostChanges, HostRefusal};
use crate::core::engine::Host;
use crate::core::target::{NotConnected, Target, TargetAddress};
use crate::core::{Engine, Output};
use crate::keyspace::EventClasses;
use crate::time::Now;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

fn at(ms: u64) -> Now {
    Now { wall_us: ms as i64 * 1000, monotonic_us: ms * 1000 }
}

/// Its clocks can be read a few times.
struct WornOut(AtomicU32);

impl Host for WornOut {
    fn now(&self) -> Now {
        assert!(self.0.fetch_sub(1, Ordering::Relaxed) > 0, "the clocks are worn out");
        at(0)
    }

    fn stopwatch_ns(&self) -> u64 {
        0
    }

    fn serve_while_slow(&self, _: &mut Engine) {}

    fn follow(&self, _: &Config, _: HostChanges) -> Result<(), HostRefusal> {
        Err(HostRefusal::Listening)
    }

    fn is_gone(&self, _: u64) -> bool {
        false
    }

    fn connect(&self, _: TargetAddress<'_>) -> Result<Box<dyn Target>, NotConnected> {
        Err(NotConnected::Unreachable)
    }
}

fn ask(engine: &mut Engine, slot: Slot, request: &str) -> String {
    let argv: Vec<&[u8]> = request.split(' ').map(str::as_bytes).collect();
    engine.execute(slot, &argv);
    let mut output = Outbox::default();
    engine.take_output(slot, &mut output);
    engine.buffers(slot).set_unwritten(0);
    String::from_utf8_lossy(output.bytes()).into_owned()
}

/// Who turns the clock does not wait for ever, and what has fired has fired.
#[test]
fn a_panic_while_clients_settle_disconnects_who_turns_the_clock() {
    let mut config = Config::default();
    config.notify_keyspace_events = EventClasses::parse(b"Ex").expect("classes");
    let mut engine = Engine::new(config, 7, at(0));
    engine.begin(at(0));
    let [turner, listener] = [engine.connect(Peer::default()), engine.connect(Peer::default())];
    ask(&mut engine, listener, "SUBSCRIBE __keyevent@0__:expired");
    ask(&mut engine, turner, "CLOCK.FREEZE");
    ask(&mut engine, turner, "SET a 1 PX 10");
    ask(&mut engine, turner, "SET b 1 PX 20");
    engine.set_host(Arc::new(WornOut(AtomicU32::new(1))));
    assert_eq!(ask(&mut engine, turner, "CLOCK.ADVANCE 30 SETTLE 5"), "");
    assert_eq!(engine.session(turner).closing(), None);

    engine.begin(at(6));
    assert_eq!(engine.session(turner).closing(), Some(Closing::Now));
    assert_eq!(ask(&mut engine, listener, "UNSUBSCRIBE").matches("expired").count(), 3);
    while !matches!(engine.poll_output(), Output::Idle { .. }) {}
    let other = engine.connect(Peer::default());
    assert_eq!(ask(&mut engine, other, "DBSIZE"), ":0\r\n");
}
