//! Advancing the clock with SETTLE: clients that react in real time do so at the instant of their notification.

use lockwheel::{Config, Server, Settle, Time};
use lockwheel_engine::core::Simulation;
use lockwheel_store::keyspace::EventClasses;
use lockwheel_tests::client::Client;
use lockwheel_tests::ours;
use std::thread;
use std::time::Duration;

/// The wall clock at the start, in milliseconds.
const START_MS: i64 = 1_000_000_000;

/// A server without sockets on a manual clock, a subscriber to `expired` events, a client that acts upon them, and a
/// client that advances the clock.
struct Trial {
    server: Simulation,
    listener: u64,
    actor: u64,
    turner: u64,
}

impl Trial {
    fn new() -> Self {
        let mut config = Config::default();
        config.time = Time::Manual;
        config.notify_keyspace_events = EventClasses::parse(b"Ex").expect("classes");
        let mut server = Simulation::new(config, 7);
        let [listener, actor, turner] = [server.connect(), server.connect(), server.connect()];
        server.ask(listener, "SUBSCRIBE __keyevent@0__:expired");
        Trial { server, listener, actor, turner }
    }

    fn pass(&mut self, ms: u64) {
        self.server.pass(Duration::from_millis(ms));
    }

    /// The advance of the wall clock since the start, in milliseconds, as `who` sees it.
    fn elapsed_ms(&mut self, who: u64) -> i64 {
        let time = self.server.ask(who, "TIME");
        let numbers: Vec<i64> = time.split("\r\n").filter_map(|line| line.parse().ok()).collect();
        numbers[0] * 1000 + numbers[1] / 1000 - START_MS
    }

    /// The keys in the listener's messages since the last call.
    fn expired_keys(&mut self) -> Vec<String> {
        let text = self.server.read(self.listener);
        text.split("*3\r\n").skip(1).filter_map(|one| one.lines().nth(5).map(str::to_owned)).collect()
    }

    /// The answer to the client that advances: the advance of the wall clock, the number of fired deadlines, and
    /// whether clients were quiet.
    fn answer(&mut self) -> Option<[i64; 3]> {
        let text = self.server.read(self.turner);
        let numbers: Vec<i64> =
            text.lines().filter_map(|line| line.strip_prefix(':')?.parse().ok()).collect();
        (!text.is_empty()).then(|| [numbers[0] - START_MS, numbers[1], numbers[2]])
    }
}

#[test]
fn an_advance_waits_at_each_instant_until_clients_are_quiet() {
    let mut trial = Trial::new();
    trial.server.ask(trial.actor, "SET lease 1 PX 1000");
    trial.server.send(trial.turner, "CLOCK.ADVANCE 3500 SETTLE 20");
    for instant in [1000, 2000, 3000] {
        assert_eq!(trial.expired_keys(), ["lease"], "at {instant}");
        trial.pass(15);
        assert_eq!(trial.elapsed_ms(trial.actor), instant);
        trial.server.ask(trial.actor, "SET lease again PX 1000");
        // The clients must be quiet for 20 ms from that request on, not from the instant on.
        trial.pass(19);
        assert_eq!((trial.expired_keys(), trial.answer()), (vec![], None), "at {instant}");
        trial.pass(3);
    }
    assert_eq!(trial.answer(), Some([3500, 3, 1]));
    assert_eq!(trial.server.ask(trial.actor, "PTTL lease"), ":500\r\n");
}

#[test]
fn an_advance_does_not_wait_at_an_instant_without_output() {
    let mut trial = Trial::new();
    trial.server.ask(trial.listener, "UNSUBSCRIBE");
    for ms in 1..=200 {
        trial.server.ask(trial.actor, &format!("SET {ms} v PX {ms}"));
    }
    trial.server.send(trial.turner, "CLOCK.ADVANCE 1000 SETTLE 20");
    assert_eq!(trial.answer(), Some([1000, 200, 1]));
    assert_eq!(trial.server.ask(trial.turner, "CLOCK.NEXT SETTLE 20"), "$-1\r\n");
}

#[test]
fn an_advance_settles_many_instants_in_order() {
    let mut trial = Trial::new();
    for ms in 1..=100 {
        trial.server.ask(trial.actor, &format!("SET {ms} v PX {ms}"));
    }
    trial.server.send(trial.turner, "CLOCK.ADVANCE 100 SETTLE 10 LIMIT 60000");
    for ms in 1..=100 {
        assert_eq!((trial.expired_keys(), trial.elapsed_ms(trial.actor)), (vec![ms.to_string()], ms));
        trial.pass(12);
    }
    assert_eq!(trial.answer(), Some([100, 100, 1]));
}

#[test]
fn the_limit_shortens_the_wait_and_not_the_advance() {
    let mut trial = Trial::new();
    for key in ["a", "b", "c"] {
        trial.server.ask(trial.actor, &format!("SET {key} v PX {}00", key.as_bytes()[0] - b'a' + 1));
    }
    trial.server.send(trial.turner, "CLOCK.ADVANCE 1000 SETTLE 20 LIMIT 50");
    for _ in 0..5 {
        assert_eq!((trial.elapsed_ms(trial.actor), trial.answer()), (100, None));
        trial.pass(10);
    }
    trial.pass(1);
    assert_eq!(trial.answer(), Some([1000, 3, 0]));
    assert_eq!(trial.expired_keys(), ["a", "b", "c"]);
    // The default limit is five seconds.
    trial.server.ask(trial.actor, "SET k v PX 10");
    trial.server.send(trial.turner, "CLOCK.NEXT SETTLE 1000");
    for _ in 0..10 {
        trial.pass(500);
        trial.server.ask(trial.actor, "PING");
    }
    assert!(trial.server.read(trial.turner).is_empty());
    trial.pass(1);
    assert!(trial.server.read(trial.turner).contains("settled\r\n:0\r\n"));
}

#[test]
fn two_simultaneous_advances_each_cover_their_own_time() {
    let mut trial = Trial::new();
    trial.server.ask(trial.actor, "SET a v PX 100");
    trial.server.send(trial.turner, "CLOCK.ADVANCE 150 SETTLE 20");
    trial.server.ask(trial.actor, "CLOCK.ADVANCE 1000");
    assert_eq!(trial.elapsed_ms(trial.actor), 1100);
    trial.pass(50);
    assert_eq!(trial.answer(), Some([1150, 1, 1]));
}

#[test]
fn a_client_that_advances_can_be_unblocked_but_is_not_blocked() {
    let mut trial = Trial::new();
    let begin = |trial: &mut Trial| {
        trial.server.ask(trial.actor, "SET a v PX 100");
        trial.server.ask(trial.actor, "SET b v PX 200");
        trial.server.send(trial.turner, "CLOCK.ADVANCE 1000 SETTLE 20");
        assert_eq!(trial.server.ask(trial.actor, "AWAIT.BLOCKED 1 LIMIT 0"), "");
        trial.pass(1);
        assert_eq!(trial.server.read(trial.actor), "$-1\r\n");
    };
    begin(&mut trial);
    let unblock = format!("CLIENT UNBLOCK {}", trial.turner);
    assert_eq!(trial.server.ask(trial.actor, &unblock), ":1\r\n");
    assert_eq!(trial.answer(), Some([1000, 2, 0]), "as if its limit were over");
    begin(&mut trial);
    assert_eq!(trial.server.ask(trial.actor, &format!("{unblock} ERROR")), ":1\r\n");
    assert!(trial.server.read(trial.turner).starts_with("-UNBLOCKED "));
    assert_eq!(trial.elapsed_ms(trial.actor), 1100, "it still lets others react");
    trial.pass(1000);
    assert_eq!(trial.elapsed_ms(trial.actor), 2000, "the turn goes on");
}

#[test]
fn an_advance_continues_after_its_client_has_gone() {
    let mut trial = Trial::new();
    trial.server.ask(trial.actor, "LOCK.ACQUIRE l a PX 100");
    let [first, second] = [trial.server.connect(), trial.server.connect()];
    trial.server.send(first, "LOCK.ACQUIRE l b PX 100 BLOCK 0");
    trial.server.send(second, "LOCK.ACQUIRE l c PX 100 BLOCK 0");
    trial.server.send(trial.turner, "CLOCK.ADVANCE 1000 SETTLE 20");
    assert!(trial.server.read(first).contains("token"));
    trial.server.close(second);
    trial.server.close(trial.turner);
    trial.server.notice();
    assert_eq!(trial.elapsed_ms(trial.actor), 100);
    trial.server.send(trial.actor, "LOCK.ACQUIRE l d PX 100 BLOCK 0");
    trial.pass(1000);
    assert!(trial.server.read(trial.actor).contains("token"), "after the lease of the first");
    assert_eq!(trial.elapsed_ms(trial.actor), 1000);
}

#[test]
fn the_rust_interface_settles_too() {
    let server = ours::manual_server();
    let mut client = Client::connect(server.addr());
    client.line("SET k v PX 100");
    client.send_line("BLPOP list 0.2");
    let mut other = Client::connect(server.addr());
    other.line("AWAIT.BLOCKED 1");
    let settle = Settle::new(Duration::from_millis(20), Duration::from_secs(60));
    let first = server.next_settled(settle).expect("a turn");
    assert_eq!((first.fired, first.settled), (1, true));
    let rest = server.advance_settled(Duration::from_secs(1), settle).expect("a turn");
    assert_eq!((rest.fired, rest.settled), (1, true));
    assert_eq!(client.read_reply().to_string(), "(nil)");
    assert!(server.advance_settled(Duration::MAX, settle).is_err());
}

/// Clients over sockets, in their own threads. Each takes the lock when notified that it is free, as Redisson's clients
/// do, and reads the clock then.
fn waiters_over_sockets(threads: usize) {
    const WAITERS: usize = 3;
    let server = Server::builder().port(0).seed(ours::SEED).time(Time::Manual).threads(threads);
    let server = server.start().expect("loopback has a free port");
    let addr = server.addr();
    let mut main = Client::connect(addr);
    main.line("CLOCK.SET 0");
    main.line("SET l holder NX PX 1000");
    let waiters: Vec<_> = (0..WAITERS)
        .map(|_| {
            thread::spawn(move || {
                let (mut listening, mut asking) = (Client::connect(addr), Client::connect(addr));
                listening.line("SUBSCRIBE free");
                loop {
                    listening.read_push();
                    if asking.line("SET l me NX PX 1000").to_string() == "+OK" {
                        return asking.line("TIME").to_string();
                    }
                }
            })
        })
        .collect();
    main.line(&format!("AWAIT.SUBSCRIBERS free {WAITERS}"));
    // Translates `expired` events into the messages that Redisson's clients get.
    let teller = thread::spawn(move || {
        let (mut listening, mut telling) = (Client::connect(addr), Client::connect(addr));
        telling.line("CONFIG SET notify-keyspace-events Ex");
        listening.line("SUBSCRIBE __keyevent@0__:expired");
        for _ in 0..=WAITERS {
            listening.read_push();
            telling.line("PUBLISH free 0");
        }
    });
    main.line("AWAIT.SUBSCRIBERS __keyevent@0__:expired 1");
    let turned = main.line("CLOCK.ADVANCE 10000 SETTLE 1000 LIMIT 600000").to_string();
    assert_eq!(turned, format!(r#"["wall", :10000, "fired", :{}, "settled", :1]"#, WAITERS + 1));
    let mut acquired: Vec<String> =
        waiters.into_iter().map(|waiter| waiter.join().expect("a thread that ends")).collect();
    teller.join().expect("a thread that ends");
    acquired.sort();
    let expected: Vec<String> = (1..=WAITERS).map(|second| format!(r#"["{second}", "0"]"#)).collect();
    assert_eq!(acquired, expected, "{threads} threads");
}

#[test]
fn clients_over_sockets_act_at_the_instant_of_their_message() {
    let runs = [1, 2, 4].map(|threads| thread::spawn(move || waiters_over_sockets(threads)));
    runs.into_iter().for_each(|run| run.join().expect("a thread that ends"));
}
