//! Advances of a clock that servers share, in pieces.

use super::{Network, Outside, StampSource};
use crate::clients::{Outbox, Peer, Slot};
use crate::config::Config;
use crate::core::test_host::TestHost;
use crate::core::{Engine, Output};
use crate::outbound::OutboundId;
use lockwheel_store::time::Now;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const PIECE: usize = 131_072;

fn at(ms: u64) -> Now {
    Now { wall_us: ms as i64 * 1000, monotonic_us: ms * 1000 }
}

struct Nobody;

impl Outside for Nobody {
    fn post(&mut self, _: usize, _: OutboundId) {}

    fn drain(&mut self, _: &mut Network, _: usize, engine: &mut Engine) {
        while !matches!(engine.poll_output(), Output::Idle { .. }) {}
    }
}

/// Two servers that share a clock, and two clients of each. The clock stands; keys are due in 10 ms.
struct Pair {
    engines: Vec<Engine>,
    network: Network,
    clients: Vec<[Slot; 2]>,
}

impl Pair {
    fn new(keys: [usize; 2]) -> Self {
        let engine = |seed| Engine::new(Config::default(), seed, at(0));
        let (mut engines, mut network) = (vec![engine(1), engine(2)], Network::new(vec![7001, 7002]));
        let clients = engines.iter_mut().map(|engine| [0; 2].map(|_| engine.connect(Peer::default())));
        let clients = clients.collect();
        network.join(&mut engines.iter_mut().collect::<Vec<_>>(), &StampSource::new(|_| 1));
        let mut pair = Pair { engines, network, clients };
        pair.ask(0, 0, "CLOCK.FREEZE");
        for (place, keys) in keys.into_iter().enumerate() {
            let script = b"for i = 1, ARGV[1] do redis.call('SET', i, '', 'PX', 10) end";
            let client = pair.clients[place][0];
            pair.engines[place].execute(client, &[b"EVAL", script, b"0", keys.to_string().as_bytes()]);
            pair.ask(place, 0, "PING");
        }
        pair
    }

    /// Lets the servers exchange messages, except one that hangs.
    fn serve(&mut self, hanging: Option<usize>) {
        let present = self.engines.iter_mut().enumerate().filter(|(place, _)| Some(*place) != hanging);
        let mut engines: Vec<&mut Engine> = present.map(|(_, engine)| engine).collect();
        self.network.serve(&mut engines, &mut Nobody);
    }

    /// Begins a batch at this instant of the system's clocks for all servers except one that hangs.
    fn begin(&mut self, ms: u64, hanging: Option<usize>) {
        let present = self.engines.iter_mut().enumerate().filter(|(place, _)| Some(*place) != hanging);
        present.for_each(|(_, engine)| engine.begin(at(ms)));
        self.serve(hanging);
    }

    fn send(&mut self, place: usize, client: usize, request: &str) {
        let argv: Vec<&[u8]> = request.split(' ').map(str::as_bytes).collect();
        self.engines[place].execute(self.clients[place][client], &argv);
    }

    fn received(&mut self, place: usize, client: usize) -> String {
        let (engine, slot) = (&mut self.engines[place], self.clients[place][client]);
        let mut output = Outbox::default();
        engine.take_output(slot, &mut output);
        engine.sessions().buffers(slot).set_unwritten(0);
        String::from_utf8_lossy(output.bytes()).into_owned()
    }

    /// Sends a request to a server while both servers are up.
    fn ask(&mut self, place: usize, client: usize, request: &str) -> String {
        self.send(place, client, request);
        self.serve(None);
        self.received(place, client)
    }
}

#[test]
fn a_change_of_the_clock_that_servers_share_fires_in_pieces_everywhere() {
    let mut pair = Pair::new([PIECE / 2, PIECE]);
    assert_eq!(pair.ask(0, 0, "CLOCK.STEP 10"), "");
    let left =
        |pair: &mut Pair| pair.engines.iter_mut().map(|engine| engine.schedule().pending()).sum::<usize>();
    assert_eq!(left(&mut pair), PIECE / 2);
    assert_eq!(pair.ask(1, 1, "DBSIZE"), ":0\r\n", "what is due is hidden");
    pair.begin(2, None);
    assert_eq!(left(&mut pair), 0);
    assert_eq!(pair.received(0, 0), ":10\r\n");
}

#[test]
fn deadlines_passed_by_a_reset_fire_in_pieces_on_other_servers() {
    let mut pair = Pair::new([0, PIECE + 10]);
    pair.begin(11, None);
    assert_eq!(pair.ask(0, 0, "CONTROL.RESET"), "+OK\r\n");
    // The clock runs again, as at the start.
    assert_eq!(pair.engines[1].schedule().pending(), 10);
    assert_eq!(pair.ask(1, 1, "DBSIZE"), ":0\r\n");
    pair.begin(13, None);
    assert_eq!(pair.engines[1].schedule().pending(), 0);
}

/// An advance has stopped amid an instant, and its server hangs before the advance continues.
#[test]
fn an_instant_left_unfinished_by_a_hanging_server_fires_without_it() {
    let mut pair = Pair::new([PIECE, 3]);
    pair.send(1, 0, "BLPOP q 0.01");
    assert_eq!(pair.ask(0, 0, "CLOCK.ADVANCE 20"), "");
    assert_eq!(pair.ask(1, 1, "DBSIZE"), ":0\r\n", "what is due is hidden");
    // The advance does the rest, because its server is up.
    pair.engines[1].begin(at(50));
    assert_eq!(pair.engines[1].schedule().pending(), 4);
    let look_us = pair.engines[1].next_deadline().expect("it looks whether the advance goes on");
    pair.begin(look_us / 1000, Some(0));
    pair.begin(look_us / 1000 + 2, Some(0));
    assert_eq!(pair.engines[1].schedule().pending(), 0);
    assert_eq!(pair.received(1, 0), "*-1\r\n");
    // The server is back, and its advance goes on.
    let clock = pair.engines[1].clock().clocks().clone();
    pair.engines[0].catch_up(&clock, at(1000));
    (1000..1003).for_each(|ms| pair.begin(ms, None));
    assert!(pair.received(0, 0).contains("wall\r\n:20\r\n"));
    assert_eq!(pair.engines[1].clock().now().wall_ms(), 20);
}

/// The advance continues after the others have moved the clock to the end of its range.
#[test]
fn an_advance_out_of_the_range_of_the_clock_is_refused() {
    let far = (1_i64 << 62) / 1000 - 1000;
    for later in [format!("CLOCK.STEP {far}"), format!("CLOCK.ADVANCE {far}")] {
        let mut pair = Pair::new([0, 0]);
        pair.send(0, 0, &format!("CLOCK.STEP {far}"));
        pair.send(1, 0, &later);
        pair.serve(None);
        assert_eq!(pair.received(0, 0), format!(":{far}\r\n"));
        let refused = "-ERR time is out of range: another client has moved the clock meanwhile\r\n";
        assert_eq!(pair.received(1, 0), refused, "{later}");
        assert_eq!(pair.engines[1].clock().now().wall_ms(), far);
    }
}

/// The reset leaves the other server amid the instant of the advance that it ends.
#[test]
fn a_reset_ends_the_advance_of_another_server() {
    for turner in 0..2 {
        let mut pair = Pair::new([PIECE, 3 * PIECE]);
        assert_eq!(pair.ask(turner, 0, "CLOCK.ADVANCE 5000"), "");
        assert_eq!(pair.ask(1, 1, "DBSIZE"), ":0\r\n", "what is due is hidden");
        assert_eq!(pair.ask(0, 1, "CONTROL.RESET"), "+OK\r\n");
        (1..6).for_each(|ms| pair.begin(ms, None));
        assert_eq!(pair.ask(1, 1, "DBSIZE"), ":0\r\n");
        assert_eq!(pair.engines[1].schedule().pending(), 0);
        assert!(pair.engines.iter().all(|engine| engine.clock().now().monotonic_ms() < 100));
    }
}

/// A server that hangs amid an instant learns that the clock was set back meanwhile.
#[test]
fn keys_hidden_by_a_hanging_server_stay_expired() {
    let mut pair = Pair::new([PIECE, 3]);
    assert_eq!(pair.ask(0, 0, "CLOCK.STEP 10"), "");
    assert_eq!(pair.ask(1, 1, "DBSIZE"), ":0\r\n", "what is due is hidden");
    pair.begin(2, Some(1));
    pair.send(0, 1, "CLOCK.STEP -5");
    pair.serve(Some(1));
    assert_eq!(pair.received(0, 1), ":5\r\n");
    let clock = pair.engines[0].clock().clocks().clone();
    pair.engines[1].catch_up(&clock, at(3));
    pair.begin(3, None);
    assert_eq!((pair.ask(1, 1, "DBSIZE"), pair.engines[1].schedule().pending()), (":0\r\n".to_owned(), 0));
}

/// Servers notify one another of each deadline, which takes longer than the deadline itself.
#[test]
fn a_piece_ends_after_a_tenth_of_a_second_where_servers_share_the_clock() {
    let mut pair = Pair::new([1000, 0]);
    // The clock advances by a millisecond with each reading.
    let ms = AtomicU64::new(1);
    pair.engines[0].set_host(Arc::new(TestHost(move || at(ms.fetch_add(1, Ordering::Relaxed)))));
    assert_eq!(pair.ask(0, 0, "CLOCK.STEP 10"), "");
    let left = pair.engines[0].schedule().pending();
    assert!((800..=950).contains(&left), "{left}");
    assert_eq!(pair.ask(0, 1, "DBSIZE"), ":0\r\n", "what is due is hidden");
    (1..30).for_each(|ms| pair.begin(ms, None));
    assert_eq!((pair.engines[0].schedule().pending(), pair.received(0, 0)), (0, ":10\r\n".to_owned()));
}

/// A server hangs while the other one advances the clock.
#[test]
fn deadlines_missed_by_a_hanging_server_fire_in_pieces() {
    const KEYS: usize = 5000;
    let mut pair = Pair::new([0, KEYS]);
    pair.send(1, 0, "BLPOP q 0.01");
    pair.send(0, 0, "CLOCK.ADVANCE 20");
    pair.serve(Some(1));
    assert!(pair.received(0, 0).contains("wall\r\n:20\r\n"));
    let clock = pair.engines[0].clock().clocks().clone();
    pair.engines[1].catch_up(&clock, at(5));
    pair.begin(5, None);
    let left = pair.engines[1].schedule().pending();
    assert!(left > KEYS / 2 && left < KEYS, "{left}");
    assert_eq!(pair.ask(1, 1, "DBSIZE"), ":0\r\n", "what is due is hidden");
    assert_eq!(pair.ask(1, 1, "GET 4000"), "$-1\r\n");
    // The next batches follow at once, until nothing is left.
    let mut pieces = 0;
    while pair.engines[1].next_deadline().is_some_and(|next_us| next_us <= 6000) {
        pair.begin(6, None);
        pieces += 1;
    }
    assert!(pieces >= 3, "{pieces}");
    assert_eq!((pair.engines[1].schedule().pending(), pair.engines[1].next_deadline()), (0, None));
    assert_eq!(pair.received(1, 0), "*-1\r\n");
}

/// The clock is set back before all deadlines have fired.
#[test]
fn keys_hidden_by_a_formerly_hanging_server_stay_expired() {
    for hangs_again in [false, true] {
        let mut pair = Pair::new([0, 5000]);
        let mut hanging = Some(1);
        for (ms, step) in [(5, "CLOCK.STEP 10"), (7, "CLOCK.STEP -5")] {
            pair.send(0, 0, step);
            pair.serve(hanging);
            if hanging.is_some() {
                let clock = pair.engines[0].clock().clocks().clone();
                pair.engines[1].catch_up(&clock, at(ms));
            }
            pair.begin(ms, None);
            assert_eq!(pair.ask(1, 1, "DBSIZE"), ":0\r\n", "{step} {hangs_again}");
            hanging = hangs_again.then_some(1);
        }
        (8..20).for_each(|ms| pair.begin(ms, None));
        assert_eq!(
            (pair.ask(1, 1, "DBSIZE"), pair.engines[1].schedule().pending()),
            (":0\r\n".to_owned(), 0)
        );
    }
}
